//! `diagnose` as a command: what it prints, how it ends, and what it makes of a kept run.

#[path = "../../../leaseproof-report/tests/schema/mod.rs"]
mod schema;

mod expressions;
mod first_ten_minutes;
mod page;

use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const BIN: &str = env!("CARGO_BIN_EXE_leaseproof");

fn run(dir: &Path, args: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(BIN)
        .args(args)
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // One that refuses the call does not read.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn incident(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../leaseproof-diagnosis/tests/incidents")
        .join(name)
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_exit_status_is_that_of_the_verdict() {
    for (name, status) in [
        ("paused-retained-bad", 1),
        ("paused-noticed-ok", 0),
        ("slowlog-silent-bad", 3),
    ] {
        let folder = incident(name);
        let output = run(
            Path::new("."),
            &["diagnose", folder.to_str().unwrap(), "--key", "lock:orders"],
            "",
        );
        assert_eq!(output.status.code(), Some(status), "{name}: {}", out(&output));
        let output = run(
            Path::new("."),
            &["diagnose", folder.to_str().unwrap(), "--key", "lock:orders", "--json"],
            "",
        );
        assert_eq!(output.status.code(), Some(status), "{name}");
        let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
        assert_eq!(schema::diagnosis_1().errors(&document), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn wrong_calls_are_refused_with_one_message() {
    for (args, says) in [
        (&["diagnose", "nowhere.log"][..], "nowhere.log does not exist"),
        (
            &["diagnose", ".", "--tz", "Nowhere/Else"],
            "is no zone that this host knows",
        ),
        (&["diagnose", ".", "--year", "26"], "is no year"),
        (&["diagnose", ".", "--offset", "db1=12ms"], "HOST=+12ms±3ms"),
        (&["diagnose", ".", "--plan", "nowhere.toml"], "nowhere.toml"),
        (&["diagnose", "--ask", "a.log"], "cannot be used with"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let output = run(dir.path(), args, "");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(says), "{args:?}: {error}");
    }
}

#[test]
fn a_plan_without_room_is_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    let plan = "[budget]\nttl = \"1s\"\nheartbeat = \"800ms\"\nrenew_timeout = \"200ms\"\nworst_pause = \"500ms\"\n";
    std::fs::write(dir.path().join("leaseproof.toml"), plan).unwrap();
    let folder = incident("no-room-bad");
    let args = ["diagnose", folder.to_str().unwrap(), "--plan", "leaseproof.toml"];
    let output = run(dir.path(), &args, "");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_ne!(output.status.code(), Some(2), "{error}");
    assert!(out(&output).contains("LP019"), "{}", out(&output));
}

#[test]
fn nothing_in_the_files_is_no_pass() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("empty.log"), "").unwrap();
    std::fs::write(dir.path().join("binary"), [0_u8, 159, 146, 150, 0, 1, 2].repeat(100)).unwrap();
    std::fs::write(dir.path().join("long.log"), "x".repeat(3 << 20)).unwrap();
    let output = run(dir.path(), &["diagnose", "."], "");
    assert_eq!(output.status.code(), Some(3), "{}", out(&output));
    let output = run(dir.path(), &["diagnose", "-"], "what is this\n");
    assert_eq!(output.status.code(), Some(3), "{}", out(&output));
}

#[test]
fn the_first_ten_minutes_are_asked_for() {
    let output = run(Path::new("."), &["diagnose", "--ask"], "y\nn\nq\n");
    let text = out(&output);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text.contains("leaseproof inspect URL KEY --save") && text.contains("don't raise the TTL"),
        "{text}"
    );
    assert!(!text.contains("wchan"), "what was denied is not asked for: {text}");
}

#[test]
fn a_kept_run_gets_the_verdict_of_verify() {
    let dir = tempfile::tempdir().unwrap();
    for (flaw, name) in [(None, "sound"), (Some("silent-retain"), "flawed")] {
        let runs = dir.path().join(name);
        let mut args = vec![
            "verify",
            "--json",
            "--quiet",
            "--scenario",
            "pause-over-ttl",
            "--cycles",
            "1",
            "--out",
            runs.to_str().unwrap(),
        ];
        if let Some(flaw) = flaw {
            args.extend(["--", "leaseproof", "owner", "--flaw", flaw]);
        }
        let verified = run(dir.path(), &args, "");
        let verdict: Value = serde_json::from_slice(&verified.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&verified.stderr)));
        let bundle = std::fs::read_dir(&runs)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.join("events.jsonl").is_file())
            .unwrap();
        let diagnosed = run(dir.path(), &["diagnose", bundle.to_str().unwrap(), "--json"], "");
        let document: Value = serde_json::from_slice(&diagnosed.stdout).expect("one document");
        assert_eq!(document["verdict"], verdict["verdict"], "{name}");
        assert_eq!(diagnosed.status.code(), verified.status.code(), "{name}");
        assert_eq!(schema::diagnosis_1().errors(&document), Vec::<String>::new(), "{name}");
        if flaw.is_some() {
            assert_eq!(document["breach"]["seen"], "certainly");
            assert!(
                !document["causes"][0]["evidence"].as_array().unwrap().is_empty(),
                "{document}"
            );
        }
        // Cut in the middle, it proves nothing; what was broken before the cut stays so. As for `verify --judge`.
        let cut = dir.path().join(format!("{name}-cut"));
        std::fs::create_dir(&cut).unwrap();
        let record = std::fs::read_to_string(bundle.join("events.jsonl")).unwrap();
        std::fs::write(cut.join("events.jsonl"), &record[..record.len() / 2]).unwrap();
        let cut = cut.to_str().unwrap();
        let [diagnosed, judged] =
            [&["diagnose", cut][..], &["verify", "--judge", cut]].map(|args| run(dir.path(), args, "").status.code());
        assert_eq!(diagnosed, judged, "{name}");
        assert!(
            diagnosed == Some(3) || (flaw.is_some() && diagnosed == Some(1)),
            "{name}: {diagnosed:?}"
        );
        // With other files beside it, the call is refused.
        assert_eq!(
            run(dir.path(), &["diagnose", bundle.to_str().unwrap(), "."], "")
                .status
                .code(),
            Some(2),
            "{name}"
        );
    }
}

#[test]
fn a_look_is_evidence_and_a_kept_run_beside_it_is_named() {
    let look = incident("inspect-bundle-stopped-bad").join("look");
    let output = run(Path::new("."), &["diagnose", look.to_str().unwrap()], "");
    let text = out(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(
        text.contains("stopped-from-outside") && !text.contains("run of `verify`"),
        "{text}"
    );
    // Both in one folder: the look is read, and the run is said to be one.
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("run");
    std::fs::create_dir(&kept).unwrap();
    std::fs::create_dir(dir.path().join("look")).unwrap();
    for file in ["events.jsonl", "inspect.json"] {
        std::fs::copy(look.join(file), dir.path().join("look").join(file)).unwrap();
    }
    let header = r#"{"header":{"schema":"leaseproof.events/1","run":"20261201-110000","seed":1,"version":"0.1.0"}}"#;
    std::fs::write(kept.join("events.jsonl"), header).unwrap();
    let output = run(dir.path(), &["diagnose", "."], "");
    let text = out(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("stopped-from-outside"), "{text}");
    assert!(text.contains("./run is a kept run of verify"), "{text}");
}
