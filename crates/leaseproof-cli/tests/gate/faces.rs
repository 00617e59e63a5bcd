//! What `gate sql`, `gate redis` and `gate test` print, and how they end.

use crate::rig::BIN;
use std::process::{Command, Output};

fn gate(arguments: &[&str]) -> Output {
    Command::new(BIN).arg("gate").args(arguments).output().expect("it runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn what_is_printed() {
    let sql = [
        "sql",
        "--table",
        "accounts",
        "--key",
        "id",
        "--token",
        "token",
        "--dialect",
    ];
    let cases: &[(&[&str], &str)] = &[
        (
            &[&sql[..], &["postgres"]].concat(),
            "CREATE TRIGGER \"accounts_fence_2_check\"",
        ),
        (
            &[&sql[..], &["sqlite"]].concat(),
            "CREATE TRIGGER \"accounts_fence_update\"",
        ),
        (&[&sql[..], &["mysql"]].concat(), "FOR UPDATE;"),
        (&[&sql[..], &["postgres", "--undo"]].concat(), "DROP FUNCTION IF EXISTS"),
        (&["redis"], "redis.register_function('fenced_hset'"),
        (&["redis", "--eval", "del"], "return fenced_del(KEYS, ARGV)"),
        (&["redis", "--undo"], "FUNCTION DELETE leaseproof"),
        (&["redis", "--key", "a"], "FCALL fenced_set 2 a {a}:fence TOKEN VALUE"),
    ];
    for (arguments, word) in cases {
        let output = gate(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        assert!(text(&output).contains(word), "{arguments:?}: {}", text(&output));
    }
}

/// A file with a number, written under a lock: sound, unless the comparison is left out.
fn file_of(dir: &std::path::Path, check: &str) -> String {
    format!(
        "cd '{}' && exec 9>lock && flock 9 && read mark 2>/dev/null <mark; {check} || exit 1; echo {{token}} >mark",
        dir.display()
    )
}

#[test]
fn how_a_test_ends() {
    let dir = tempfile::tempdir().expect("a folder");
    let sound = file_of(dir.path(), "[ {token} -ge ${mark:-0} ]");
    let output = gate(&["test", "command", &sound, "--rounds", "2", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["schema"], "leaseproof.fence-test/1");
    assert_eq!(document["verdict"], "proven");
    assert_eq!(document["checks"][2]["demand"], "lower-refused");
    // Its marks are above the first token now.
    let output = gate(&["test", "command", &sound, "--rounds", "2"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert!(text(&output).contains("give --from a token above"), "{}", text(&output));
    let output = gate(&["test", "command", &file_of(dir.path(), "true"), "--rounds", "2"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(
        text(&output).contains("LP002 stale-write-accepted"),
        "{}",
        text(&output)
    );
}

#[test]
fn tests_that_can_not_be_carried_out() {
    let cases: &[(&[&str], &str)] = &[
        (&["command", "x"], "no {token} in it"),
        (&["command", "{token}", "--rounds", "0"], "--rounds"),
        (&["command", "{token}", "--from", "9223372036854775807"], "--from"),
        (&["command", "{token}", "--patience", "x"], "--patience"),
        (&["sql", "oracle://x", "{token}"], "gate test command"),
        (&["sql", "mysql://x:y:z/", "{token}"], "URL"),
        (&["http", "https://x/"], "http://HOST"),
        (&["http", "http://x/", "--refused", "99"], "--refused"),
        (&["http"], "URL"),
    ];
    for (arguments, word) in cases {
        let output = gate(&[&["test"], *arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output));
        assert!(text(&output).contains(word), "{arguments:?}: {}", text(&output));
    }
    for arguments in [
        &[
            "sql",
            "--table",
            "a.b.c",
            "--key",
            "k",
            "--token",
            "t",
            "--dialect",
            "sqlite",
        ][..],
        &[
            "sql",
            "--table",
            "a",
            "--key",
            "k",
            "--token",
            "k",
            "--dialect",
            "sqlite",
        ],
        &["redis", "--key", "a}b"],
    ] {
        assert_eq!(gate(arguments).status.code(), Some(2), "{arguments:?}");
    }
}
