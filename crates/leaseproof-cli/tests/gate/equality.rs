//! A resource that takes the token of its first writer and no other: a common mistake. The next legitimate owner is
//! refused, and whoever sends the first one's number again is taken.

use crate::rig::BIN;
use std::path::Path;
use std::process::{Command, Output};

/// A file that remembers the first token, written under a lock.
fn resource(dir: &Path) -> String {
    format!(
        "cd '{}' && exec 9>lock && flock 9 && [ -e first ] || echo {{token}} >first; read first <first; \
         [ {{token}} = $first ] || {{ echo \"the token is not $first\" >&2; exit 1; }}; echo {{value}} >value",
        dir.display()
    )
}

fn gate(arguments: &[&str]) -> Output {
    Command::new(BIN)
        .args(["gate", "test", "command"])
        .args(arguments)
        .output()
        .expect("it runs")
}

#[test]
fn the_next_owner_is_refused_and_the_test_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let write = resource(dir.path());
    let read = format!("cat '{}/value'", dir.path().display());
    let output = gate(&[&write, "--read", &read, "--rounds", "2"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    for line in [
        "✓ first-accepted       10 of a accepted",
        "✓ lower-refused        9 of a refused, 10 of a accepted",
        "✗ greater-accepted     11 of b refused",
        "LP026 fence-refuses-successor: token 11 was refused, and the greatest before it was 10: exit status 1: the token \
         is not 10",
        "LP002 stale-write-accepted: token 10 was accepted after 99, which was refused",
        "next    leaseproof explain LP026",
    ] {
        assert!(text.contains(line), "{line}\nin:\n{text}");
    }
    // And the page that it names says what to do.
    let page = Command::new(BIN).args(["explain", "LP026"]).output().expect("it runs");
    assert!(String::from_utf8_lossy(&page.stdout).contains("equal"), "{page:?}");
}
