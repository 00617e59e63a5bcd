//! Ctrl-C at any moment: all is undone, the partial bundle is kept and says so, exit 3.

use crate::redis_server::{RedisServer, skip};
use crate::rig::{PROGRAM, Ran, Room, quick, until};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

const SCENARIOS: [&str; 8] = [
    "--scenario",
    "pause-over-ttl",
    "--scenario",
    "pause-and-gone",
    "--scenario",
    "pause-inside-write",
    "--scenario",
    "clock-back",
];

/// Whether this process, and so its children until they listen, ignores the signal.
fn ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
}

fn stopped(after: Duration, signal: Signal, whole_group: bool) {
    let room = Room::new();
    let mut command = room.command(quick(&SCENARIOS));
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .expect("a child has a pid");
    // The instant is the thing under test.
    std::thread::sleep(after);
    let early = room.bundles().is_empty();
    assert!(
        child.try_wait().expect("a child").is_none(),
        "it ended before it was stopped"
    );
    match whole_group {
        true => kill_process_group(pid, signal),
        false => kill_process(pid, signal),
    }
    .expect("our child can be signalled");
    let ran: Ran = child.wait_with_output().expect("its output").into();
    ran.no_panic();
    room.nothing_left(&[]);
    // So early that nobody listened yet, and nothing was begun; or, where who started the tests ignores the
    // signal (a background job), it was lost as it must be.
    if early && (ran.code.is_none() || (ignored(signal) && ran.code == Some(0))) {
        return;
    }
    ran.cannot_tell(&["it was interrupted: the bundle holds what was seen until then"]);
    let bundle = room.bundles().remove(0);
    let text = std::fs::read_to_string(bundle.join("verdict.json")).expect("the verdict is kept");
    let verdict: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(verdict["verdict"], "cannot-tell");
    assert!(
        verdict["incomplete"]
            .as_str()
            .expect("it says why")
            .contains("interrupted")
    );
    // Nor is it a pass for who judges the partial bundle again.
    let again = room.run(&["verify", "--judge", bundle.to_str().expect("UTF-8")]);
    assert_eq!(again.code, Some(3), "{again:#?}");
}

#[test]
fn ctrl_c_ok() {
    for (ms, signal, whole_group) in [
        (0, Signal::INT, false),
        (60, Signal::INT, true),
        (250, Signal::INT, false),
        (600, Signal::INT, true),
        (1000, Signal::TERM, false),
        (1400, Signal::HUP, false),
        (1800, Signal::INT, true),
    ] {
        stopped(Duration::from_millis(ms), signal, whole_group);
    }
}

/// What the first run has recorded so far.
fn recorded(room: &Room) -> String {
    let record = room.bundles().first().map(|bundle| bundle.join("events.jsonl"));
    record
        .and_then(|path| std::fs::read_to_string(path).ok())
        .unwrap_or_default()
}

/// What had ended before the stop is no pass of the whole, neither now nor when it is judged again.
#[test]
fn stopped_between_bad() {
    let room = Room::new();
    let arguments = quick(&[
        "--scenario",
        "pause-over-ttl",
        "--scenario",
        "stale-token",
        "--jobs",
        "1",
    ]);
    let child = room.spawn(&arguments);
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .expect("a child has a pid");
    let ended = || recorded(&room).contains("{\"end\":");
    until("the first scenario has ended", ended);
    kill_process(pid, Signal::INT).expect("our child can be signalled");
    let ran: Ran = child.wait_with_output().expect("its output").into();
    ran.cannot_tell(&["interrupted"]);
    let bundle = room.bundles().remove(0);
    let again = room.run(&["verify", "--judge", bundle.to_str().expect("UTF-8")]);
    again.cannot_tell(&["incomplete"]);
    room.nothing_left(&[]);
}

/// Somebody who can't wait leaves the rest to the warden, and is told so.
#[test]
fn impatient_bad() {
    let room = Room::new();
    let child = room.spawn(&quick(&SCENARIOS));
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .expect("a child has a pid");
    // In its middle: owners run, and so do faults soon.
    until("a cycle has begun", || recorded(&room).contains("cycle-began"));
    for _ in 0..3 {
        kill_process(pid, Signal::INT).expect("our child can be signalled");
        // Signals of one kind that come at once are one.
        std::thread::sleep(Duration::from_millis(5));
    }
    let ran: Ran = child.wait_with_output().expect("its output").into();
    ran.no_panic();
    assert_eq!(ran.code, Some(3), "{ran:#?}");
    room.nothing_running();
    let undone = room.run(&["undo"]);
    undone.proven();
}

/// Starts a run, and kills it when the store shows that it holds a lease.
fn killed_while_it_holds(room: &Room, more: &[&str], holds: impl Fn() -> bool) {
    let mut child = room.spawn(&quick(more));
    until("it holds", || {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before it held");
        holds()
    });
    child.kill().expect("our child can be killed");
    child.wait().expect("a child");
    room.nothing_running();
}

/// The warden outlives the run, and what was made in the embedded store goes with it.
#[test]
fn killed_sqlite_ok() {
    let room = Room::new();
    let said = || {
        room.files()
            .iter()
            .any(|path| path.extension().is_some_and(|end| end == "db"))
    };
    killed_while_it_holds(&room, &[], said);
    let journal = |path: &PathBuf| path.to_string_lossy().contains("warden-");
    until("the warden has gone", || !room.files().iter().any(journal));
    let undone = room.run(&["undo"]);
    assert_eq!(
        (undone.code, undone.stdout.as_str()),
        (Some(0), "nothing to undo\n"),
        "{undone:#?}"
    );
    let left: Vec<_> = room
        .files()
        .into_iter()
        .filter(|path| path.to_string_lossy().contains(".db"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// No journal has the password, so that keys in a server wait for who gives it; only the run's own go.
#[test]
fn killed_redis_ok() {
    let server = match RedisServer::start_with(&["--requirepass", "geheim"]) {
        Ok(server) => server,
        Err(why) => return skip("killed_redis_ok", &why),
    };
    let room = Room::new();
    let url = format!("redis://:geheim@127.0.0.1:{}", server.port());
    let ask = |words: &[&str]| server.cli(&[&["-a", "geheim"], words].concat());
    ask(&["SET", "canary/neighbour", "is not ours"]);
    killed_while_it_holds(&room, &["--store", &url], || ask(&["DBSIZE"]) != "1");
    let mut undone = room.run(&["undo"]);
    until("the warden has noted the keys", || {
        undone = room.run(&["undo"]);
        undone.stdout.contains("may be left")
    });
    let key = format!("may be left in redis://:***@127.0.0.1:{}: canary/demo/", server.port());
    let how = format!(
        "--store redis://:***@127.0.0.1:{}` removes exactly these",
        server.port()
    );
    for needle in [key.as_str(), &how, "password in place of ***"] {
        assert!(undone.stdout.contains(needle), "{needle}: {undone:#?}");
    }
    // So says the next start.
    let next = room.quick(&["--store", &url, "--", PROGRAM, "owner", "--flaw", "no-such-flaw"]);
    assert!(next.stderr.contains(&how), "{next:#?}");
    // Another store is not touched.
    let other = room.run(&["undo", "--store", &format!("{url}/1")]);
    other.refused(&["no killed run left keys in", &how]);
    let undone = room.run(&["undo", "--store", &url]);
    assert_eq!(undone.code, Some(0), "{undone:#?}");
    assert!(undone.stdout.contains("are removed"), "{undone:#?}");
    assert_eq!(ask(&["KEYS", "*"]), "canary/neighbour");
    let again = room.run(&["undo", "--store", &url]);
    assert_eq!(again.stdout, "nothing to undo\n", "{again:#?}");
    room.nothing_running();
}
