//! `hold` as an owner, judged by `verify`: sound, and not without its stops.

use crate::redis_server::skip;
use crate::rig::Room;
use std::path::Path;
use std::process::{Command, Output};

/// One cycle in which only `hold` is stopped, while its worker writes; none where there is no Python.
fn parent_only(test: &str, flaw: &str) -> Option<Output> {
    let python = std::env::var("LEASEPROOF_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if let Err(error) = Command::new(&python).arg("--version").output() {
        skip(test, &format!("{python}: {error}"));
        return None;
    }
    let worker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/owners/hold/worker.py");
    let room = Room::new();
    let verify = Command::new(env!("CARGO_BIN_EXE_leaseproof"))
        .args([
            "verify",
            "--scenario",
            "parent-only",
            "--cycles",
            "1",
            "--out",
            "runs",
            "--",
        ])
        .args(["leaseproof", "hold", "{store}", "{key}", "--events", "-", "--"])
        .arg(python)
        .arg(worker)
        .env("LEASEPROOF_HOLD_FLAW", flaw)
        .current_dir(room.path(""))
        .output();
    Some(verify.expect("verify runs"))
}

#[test]
fn sound_ok() {
    if let Some(output) = parent_only("sound_ok", "") {
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
}

#[cfg(feature = "hold-flaws")]
#[test]
fn without_stops_bad() {
    if let Some(output) = parent_only("without_stops_bad", "no-stop") {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
}
