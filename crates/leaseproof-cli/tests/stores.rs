//! One run on several stores, and the same record judged again.

use serde_json::Value;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

fn leaseproof(dir: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leaseproof"))
        .current_dir(dir)
        .args(words)
        .output()
        .expect("the binary runs")
}

fn verdicts(output: &Output) -> Vec<(String, String, String)> {
    let document: Value = serde_json::from_slice(&output.stdout).expect("a verdict document");
    let scenarios = document["scenarios"].as_array().expect("scenarios").iter();
    let text = |it: &Value, name: &str| it[name].as_str().expect(name).to_owned();
    scenarios
        .map(|it| (text(it, "store"), text(it, "id"), text(it, "verdict")))
        .collect()
}

#[test]
fn each_scenario_is_run_on_each_store_and_judged_again_on_each() {
    let dir = tempfile::tempdir().expect("a folder");
    let stores = ["--store", "sqlite:one.db", "--store", "sqlite:two.db"];
    let plan = [
        "--ttl",
        "1s",
        "--heartbeat",
        "250ms",
        "--worst-pause",
        "400ms",
        "--cycles",
        "1",
    ];
    let scenarios = [
        "--scenario",
        "clean-release",
        "--scenario",
        "reset",
        "--quiet",
        "--json",
        "--keep",
    ];
    let words = [&["verify"][..], &stores, &plan, &scenarios].concat();
    let ran = leaseproof(dir.path(), &words);
    let seen = verdicts(&ran);
    let places: Vec<&str> = seen.iter().map(|(store, ..)| store.as_str()).collect();
    assert_eq!(places, ["sqlite", "sqlite-2"], "{ran:?}");
    let runs = std::fs::read_dir(dir.path().join(".leaseproof/runs")).expect("runs");
    let run = runs
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.join("events.jsonl").is_file())
        .expect("a bundle");
    let run = run.to_str().expect("a plain path");
    let again = leaseproof(dir.path(), &["verify", "--json", "--judge", run]);
    assert_eq!(verdicts(&again), seen);
    assert_eq!(again.status.code(), ran.status.code());
    let missing = |output: &Output| {
        let document: Value = serde_json::from_slice(&output.stdout).expect("a verdict document");
        document["incomplete"].as_str().map(str::to_owned)
    };
    assert_eq!(missing(&again), None);
}

#[test]
fn a_store_that_is_named_twice_is_refused_before_anything_starts() {
    let dir = tempfile::tempdir().expect("a folder");
    let words = ["verify", "--store", "sqlite:one.db", "--store", "sqlite:one.db"];
    let refused = leaseproof(dir.path(), &words);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("named twice"));
    assert_eq!(std::fs::read_dir(dir.path()).expect("the folder").count(), 0);
}

/// What leaseproof started is gone with the run: no key of it is left anywhere.
#[test]
fn nothing_is_left_in_a_store_that_the_run_started() {
    let test = "nothing_is_left_in_a_store_that_the_run_started";
    let program = std::env::var_os("LEASEPROOF_REDIS_SERVER").unwrap_or_else(|| "redis-server".into());
    if let Err(why) = Command::new(&program).arg("--version").output() {
        // Past the capture of output: a skip must be seen.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {test}: {}: {why}: set LEASEPROOF_REDIS_SERVER",
            program.display()
        );
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let words = [
        "verify",
        "--start-store",
        "redis",
        "--scenario",
        "store-paused",
        "--ttl",
        "1s",
        "--heartbeat",
        "250ms",
        "--worst-pause",
        "400ms",
        "--cycles",
        "1",
        "--quiet",
        "--json",
    ];
    let ran = leaseproof(dir.path(), &words);
    assert_eq!(verdicts(&ran).len(), 1, "{ran:?}");
    let notes: Vec<_> = std::fs::read_dir(dir.path().join(".leaseproof/runs/.warden"))
        .expect("the folder of journals")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(notes, Vec::<String>::new());
    let undone = leaseproof(dir.path(), &["undo"]);
    let said = String::from_utf8_lossy(&undone.stdout);
    assert!(undone.status.success() && !said.contains("redis://"), "{undone:?}");
}
