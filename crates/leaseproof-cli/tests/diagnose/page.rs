//! `diagnose --html`: where the page goes, and where it may not.

use super::{incident, out, run};
use std::fs;

#[test]
fn the_page_is_written_beside_the_answer_ok() {
    let dir = tempfile::tempdir().unwrap();
    let folder = incident("paused-retained-bad");
    let args = [
        "diagnose",
        folder.to_str().unwrap(),
        "--key",
        "lock:orders",
        "--html",
        "incident.html",
    ];
    let output = run(dir.path(), &args, "");
    assert_eq!(output.status.code(), Some(1), "{}", out(&output));
    assert!(out(&output).starts_with("violated: "), "the answer is printed as well");
    let page = fs::read_to_string(dir.path().join("incident.html")).unwrap();
    assert!(page.contains("stopped-from-outside") && page.contains("class=\"flagline\""));
}

#[test]
fn secrets_and_markup_of_a_line_stay_out_bad() {
    let dir = tempfile::tempdir().unwrap();
    let log = "2026-11-30T10:00:00.000Z lease acquired key=lock:x token=1 url=redis://me:hunter2@db/0 <script>alert(1)</script>\n\
               2026-11-30T10:00:03.000Z lease lost key=lock:x password=hunter2\n";
    fs::write(dir.path().join("worker-<b>.log"), log).unwrap();
    let output = run(dir.path(), &["diagnose", "worker-<b>.log", "--html", "p.html"], "");
    assert_eq!(output.status.code(), Some(3), "{}", out(&output));
    let page = fs::read_to_string(dir.path().join("p.html")).unwrap();
    assert!(
        page.contains("lease acquired") && page.contains("&lt;script&gt;alert"),
        "{page}"
    );
    assert!(!page.contains("hunter2") && !page.contains("<script>alert") && !page.contains("<b>.log"));
}

#[test]
fn a_page_may_not_harm_the_evidence_bad() {
    let dir = tempfile::tempdir().unwrap();
    let line = "2026-11-30T10:00:00.000Z lease lost key=lock:x\n";
    fs::write(dir.path().join("a.log"), line).unwrap();
    fs::create_dir(dir.path().join("logs")).unwrap();
    fs::write(dir.path().join("logs/b.log"), line).unwrap();
    for (args, says) in [
        (&["diagnose", "a.log", "--html", "a.log"][..], "would be lost"),
        (&["diagnose", "a.log", "--html", "./logs/../a.log"], "would be lost"),
        (&["diagnose", "logs", "--html", "logs/page.html"], "write it beside"),
        (
            &["diagnose", "a.log", "--html", "nowhere/page.html"],
            "nowhere can't be used",
        ),
        (&["diagnose", "a.log", "--html", "logs"], "is a folder"),
    ] {
        let output = run(dir.path(), args, "");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(says), "{args:?}: {error}");
    }
    assert_eq!(fs::read_to_string(dir.path().join("a.log")).unwrap(), line);
    assert!(!dir.path().join("logs/page.html").exists());
}
