//! Calls that can't be carried out: one clear message, exit status 2.

use crate::resource::Resource;
use crate::rig::{BIN, GateProcess};
use std::process::Command;

fn refused(arguments: &[&str]) -> String {
    let output = Command::new(BIN).args(arguments).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn calls_that_are_wrong() {
    let dir = tempfile::tempdir().expect("a folder");
    let marks = dir.path().join("marks");
    let marks = marks.to_str().expect("text");
    let foreign = dir.path().join("diary");
    std::fs::write(&foreign, "my diary\n").expect("writes");
    let diary = foreign.to_str().expect("text");
    let up = "http://127.0.0.1:1";
    let cases: &[(&[&str], &str)] = &[
        (&["--upstream", "ftp://x", "--marks", marks], "http and https"),
        (
            &["--upstream", "http://x", "--marks", marks, "--upstream-ca", marks],
            "shows no certificate",
        ),
        (
            &[
                "--upstream",
                "https://x",
                "--marks",
                marks,
                "--upstream-ca",
                "/nowhere.pem",
            ],
            "/nowhere.pem",
        ),
        (
            &["--upstream", "https://x", "--marks", marks, "--upstream-ca", diary],
            "it has no certificate",
        ),
        (&["--upstream", up, "--marks", marks, "--tls-cert", diary], "--tls-key"),
        (
            &[
                "--upstream",
                up,
                "--marks",
                marks,
                "--tls-cert",
                diary,
                "--tls-key",
                diary,
            ],
            "it has no certificate",
        ),
        (&["--upstream", "x:1", "--marks", marks], "http"),
        (&["--upstream", "http://u:p@x", "--marks", marks], "nothing else"),
        (&["--upstream", up], "--marks"),
        (&["--upstream", up, "--marks", "/nowhere/marks"], "/nowhere/marks"),
        (&["--upstream", up, "--marks", diary], "no marks file"),
        (&["--upstream", up, "--marks", marks, "--key", "query:x"], "path:N"),
        (
            &["--upstream", up, "--marks", marks, "--methods", "CONNECT"],
            "--methods",
        ),
        (&["--upstream", up, "--marks", marks, "--header", "a b"], "--header"),
        (
            &["--upstream", up, "--marks", marks, "--patience", "soon"],
            "--patience",
        ),
        (
            &["--upstream", up, "--marks", marks, "--listen", "203.0.113.1:1"],
            "--listen",
        ),
    ];
    for (arguments, word) in cases {
        let says = refused(&[&["gate", "http"], *arguments].concat());
        assert!(says.contains(word), "{arguments:?}: {says}");
    }
}

#[test]
fn two_gates_on_one_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let marks = dir.path().join("marks");
    let resource = Resource::start();
    let _gate = GateProcess::start(&[], resource.address, &marks, &[]);
    let says = refused(&[
        "gate",
        "http",
        "--upstream",
        "http://127.0.0.1:1",
        "--marks",
        marks.to_str().expect("text"),
    ]);
    assert!(says.contains("in use by another gate"), "{says}");
}

/// SIGTERM ends it in order: the next one need not wait.
#[test]
fn an_end_in_order() {
    use rustix::process::{Pid, Signal, kill_process};
    let dir = tempfile::tempdir().expect("a folder");
    let marks = dir.path().join("marks");
    let resource = Resource::start();
    let mut gate = GateProcess::start(&[], resource.address, &marks, &[]);
    assert_eq!(gate.write("/a", 5), 200);
    let pid = Pid::from_raw(i32::try_from(gate.child.id()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::TERM).expect("our child");
    assert_eq!(gate.child.wait().expect("it ends").code(), Some(0));
    assert!(std::fs::read_to_string(&marks).expect("reads").ends_with(" clean\n"));
    // With an hour to settle, only an end in order lets this pass.
    let gate = GateProcess::start(&[], resource.address, &marks, &["--settle", "1h"]);
    assert_eq!(gate.write("/a", 6), 200);
    drop(gate);
    let gate = GateProcess::start(
        &[],
        resource.address,
        &marks,
        &["--settle", "1h", "--patience", "100ms"],
    );
    assert_eq!(gate.write("/a", 7), 504);
}
