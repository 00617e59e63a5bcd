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

/// The plan of the tests below: short, and for stores whose TTLs are whole seconds.
const SHORT: &[&str] = &[
    "--ttl",
    "3s",
    "--heartbeat",
    "1s",
    "--worst-pause",
    "1s",
    "--cycles",
    "1",
    "--quiet",
    "--json",
];

/// Where a program is that a variable names, or PATH has.
fn found(test: &str, variable: &str, name: &str) -> bool {
    let program = std::env::var_os(variable).unwrap_or_else(|| name.into());
    let Err(why) = Command::new(&program).arg("--version").output() else {
        return true;
    };
    // Past the capture of output: a skip must be seen.
    let _ = writeln!(
        std::io::stderr(),
        "skipped: {test}: {}: {why}: set {variable}",
        program.display()
    );
    false
}

fn stage_of_the_run(dir: &Path) -> Option<std::path::PathBuf> {
    let runs = std::fs::read_dir(dir.join(".leaseproof/runs")).ok()?;
    let stages = runs.flatten().map(|entry| entry.path().join("stage"));
    stages.into_iter().find(|stage| stage.is_dir())
}

/// What a server keeps takes more room than all the rest of a run.
#[test]
fn the_data_of_a_started_server_goes_with_a_run_that_is_killed() {
    let test = "the_data_of_a_started_server_goes_with_a_run_that_is_killed";
    if !found(test, "LEASEPROOF_REDIS_SERVER", "redis-server") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let mut run = Command::new(env!("CARGO_BIN_EXE_leaseproof"))
        .current_dir(dir.path())
        .args(["verify", "--start-store", "redis", "--scenario", "store-paused"])
        .args(SHORT)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the binary runs");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let wait = || {
        assert!(std::time::Instant::now() < deadline, "it never came to be");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    let data = |stage: std::path::PathBuf| stage.join("store-paused/store/data").is_dir();
    while !stage_of_the_run(dir.path()).is_some_and(data) {
        wait();
    }
    run.kill().expect("it can be killed");
    run.wait().expect("it ends");
    while stage_of_the_run(dir.path()).is_some() {
        wait();
    }
    let undone = leaseproof(dir.path(), &["undo"]);
    assert!(undone.status.success(), "{undone:?}");
}

/// Of three members the one that leads is stopped: the owner is not to blame, and keeps the lease or lets it go.
#[test]
fn a_leader_that_stops_is_no_fault_of_the_owner() {
    let test = "a_leader_that_stops_is_no_fault_of_the_owner";
    if !found(test, "LEASEPROOF_ETCD", "etcd") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let words = ["verify", "--start-store", "etcd:3", "--scenario", "store-failover"];
    let ran = leaseproof(dir.path(), &[&words, SHORT].concat());
    let seen = verdicts(&ran);
    let [(store, id, verdict)] = &seen[..] else {
        panic!("{ran:?}")
    };
    assert_eq!((store.as_str(), id.as_str()), ("etcd:3", "store-failover"));
    // A machine that does much else may be too late to prove it.
    assert_ne!(verdict, "violated", "{ran:?}");
    let document: Value = serde_json::from_slice(&ran.stdout).expect("a verdict document");
    let premises = document["scenarios"][0]["premises"].as_array().expect("premises");
    for name in ["leader-stopped", "another-leads"] {
        let holds = |it: &&Value| it["name"] == name && it["holds"] == "yes";
        assert!(premises.iter().any(|it| holds(&it)), "{name}: {premises:#?}");
    }
    the_store_is_named(&document, &["LP017"]);
}

/// Each of these codes is surely the store's, and nobody who owns a lease is accused of anything.
#[track_caller]
fn the_store_is_named(document: &Value, codes: &[&str]) {
    let findings = document["scenarios"][0]["findings"].as_array().expect("findings");
    for code in codes {
        let says = |it: &&Value| it["rule"] == *code && it["subject"] == "store" && it["certainty"] == "yes";
        assert!(findings.iter().any(|it| says(&it)), "{code}: {findings:#?}");
    }
    let accuses = |it: &&Value| it["subject"] == "owner" && it["class"] != "notice";
    let accused: Vec<&Value> = findings.iter().filter(accuses).collect();
    assert!(accused.is_empty(), "{accused:#?}");
}

/// The clock of a Redis server steps forward by an hour while the lease is held, and every lease of it is gone at once.
#[test]
fn a_server_whose_clock_steps_is_no_fault_of_the_owner() {
    let test = "a_server_whose_clock_steps_is_no_fault_of_the_owner";
    if !found(test, "LEASEPROOF_REDIS_SERVER", "redis-server") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let words = ["verify", "--start-store", "redis", "--scenario", "store-clock"];
    let ran = leaseproof(dir.path(), &[&words, SHORT].concat());
    let seen = verdicts(&ran);
    let [(store, id, verdict)] = &seen[..] else {
        panic!("{ran:?}")
    };
    assert_eq!((store.as_str(), id.as_str()), ("redis", "store-clock"));
    // A machine that does much else may be too late to prove it.
    assert_ne!(verdict, "violated", "{ran:?}");
    let document: Value = serde_json::from_slice(&ran.stdout).expect("a verdict document");
    the_store_is_named(&document, &["LP017", "LP018"]);
}

#[test]
fn a_store_that_is_one_server_has_nobody_to_take_its_place() {
    let test = "a_store_that_is_one_server_has_nobody_to_take_its_place";
    if !found(test, "LEASEPROOF_REDIS_SERVER", "redis-server") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let words = ["verify", "--start-store", "redis", "--scenario", "store-failover"];
    let ran = leaseproof(dir.path(), &[&words, SHORT].concat());
    let document: Value = serde_json::from_slice(&ran.stdout).expect("a verdict document");
    let why = document["not_offered"][0]["why"].as_str().expect("why");
    assert!(why.contains("nobody takes its place"), "{why}");
}
