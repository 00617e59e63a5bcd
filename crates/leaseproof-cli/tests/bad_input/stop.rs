//! Ctrl-C at any moment: all is undone, the partial bundle is kept and says so, exit 3.

use crate::rig::{QUICK, Ran, Room, quick};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use std::os::unix::process::CommandExt as _;
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

fn stopped(after: Duration, signal: Signal, whole_group: bool) {
    let room = Room::new();
    let mut command = room.command(quick(&SCENARIOS));
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .expect("a child has a pid");
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
    // So early that nobody listened yet, and nothing was begun.
    if early && ran.code.is_none() {
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

/// What had ended before the stop is no pass of the whole, neither now nor when it is judged again.
#[test]
fn stopped_between_bad() {
    let room = Room::new();
    let mut arguments = QUICK.to_vec();
    arguments.extend([
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
    let ended = || {
        let record = room.bundles().first().map(|bundle| bundle.join("events.jsonl"));
        let text = record
            .and_then(|path| std::fs::read_to_string(path).ok())
            .unwrap_or_default();
        text.contains("{\"end\":")
    };
    while !ended() {
        std::thread::sleep(Duration::from_millis(10));
    }
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
    std::thread::sleep(Duration::from_millis(1200));
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
