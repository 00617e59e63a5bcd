//! One run on several stores, and the same record judged again.

use serde_json::Value;
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
