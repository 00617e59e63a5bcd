//! What stops, or dies: hold, its guardian, the command, and any of them together.

use crate::rig::{Held, Room, TICKS, lives, signal, until};
use rustix::process::Signal;

const DEAF: &str = "trap '' TERM; ";

fn ticking(room: &Room) -> Held<'_> {
    let script = format!("{DEAF}{TICKS}");
    let hook = "date >>hooked; for pid in $(cat pids); do kill -0 $pid 2>/dev/null && echo alive >>hooked; done; true";
    let hold = room.start(&["--on-lost", hook], &["sh", "-c", &format!("echo $$ >pids; {script}")]);
    hold.ticking();
    hold
}

/// It ended before the validity did, and nothing ran on: neither after, nor when it all goes on.
fn ended_in_time(hold: &Held<'_>) {
    let (tick, end) = hold.last_tick();
    // A tick is read to 10 ms, rounded down.
    assert!(tick <= end, "the last tick at {tick}, the end of validity at {end}");
}

#[test]
fn hold_alone_stopped() {
    let room = Room::new();
    let mut hold = ticking(&room);
    let command = hold.command();
    signal(hold.pid(), Signal::STOP);
    until("the guardian kills it", || (!lives(command)).then_some(()));
    signal(hold.pid(), Signal::CONT);
    assert_eq!(hold.status(), 76);
    ended_in_time(&hold);
    assert_eq!(
        room.read("hooked").lines().count(),
        1,
        "once, and after the command's end"
    );
}

#[test]
fn hold_and_guardian_stopped() {
    let room = Room::new();
    let mut hold = ticking(&room);
    let (command, guardian) = (hold.command(), hold.guardian());
    signal(hold.pid(), Signal::STOP);
    signal(guardian, Signal::STOP);
    until("the kernel kills it", || (!lives(command)).then_some(()));
    signal(hold.pid(), Signal::CONT);
    assert_eq!(hold.status(), 76);
    ended_in_time(&hold);
}

/// As in a container that is paused: it is dead before anything goes on.
#[test]
fn all_stopped() {
    let room = Room::new();
    let mut hold = ticking(&room);
    let (command, guardian) = (hold.command(), hold.guardian());
    for pid in [hold.pid(), guardian, command] {
        signal(pid, Signal::STOP);
    }
    until("the kernel kills it where it stands", || {
        (!lives(command)).then_some(())
    });
    let before = room.read("ticks").lines().count();
    signal(hold.pid(), Signal::CONT);
    assert_eq!(hold.status(), 76);
    assert_eq!(room.read("ticks").lines().count(), before, "it ran after the pause");
    ended_in_time(&hold);
}

#[test]
fn the_command_alone_stopped() {
    let room = Room::new();
    let mut hold = ticking(&room);
    let command = hold.command();
    signal(command, Signal::STOP);
    let renewed = |hold: &Held<'_>| hold.events().iter().filter(|event| event["lease"] == "renewed").count();
    let before = renewed(&hold);
    until("a TTL of renewals", || (renewed(&hold) > before + 6).then_some(()));
    assert!(lives(command), "it is stopped, and its lease held");
    // It never wakes but into its end.
    let ticks = room.read("ticks").lines().count();
    signal(hold.pid(), Signal::KILL);
    hold.reap();
    until("the guardian kills it where it stands", || {
        (!lives(command)).then_some(())
    });
    assert_eq!(room.read("ticks").lines().count(), ticks);
}

#[test]
fn hold_killed() {
    let room = Room::new();
    let mut hold = ticking(&room);
    let (command, guardian) = (hold.command(), hold.guardian());
    signal(hold.pid(), Signal::KILL);
    hold.reap();
    until("the guardian kills it", || (!lives(command)).then_some(()));
    until("and ends", || (!lives(guardian)).then_some(()));
    ended_in_time(&hold);
    // Nobody could release it: its TTL ends it.
    assert_eq!(room.run(&["--timeout", "30s"], &["true"]).0, 0);
}

#[test]
fn hold_killed_leaves_the_command_its_grace() {
    let room = Room::new();
    let script = "trap 'echo tidy >tidied; exit' TERM; touch up; while :; do sleep 0.02; done";
    let mut hold = room.start(&[], &["sh", "-c", script]);
    until("up", || room.path("up").exists().then_some(()));
    signal(hold.pid(), Signal::KILL);
    hold.reap();
    until("tidied", || (room.read("tidied") == "tidy\n").then_some(()));
}

#[test]
fn guardian_killed() {
    let room = Room::new();
    let mut hold = ticking(&room);
    let (command, guardian) = (hold.command(), hold.guardian());
    signal(guardian, Signal::KILL);
    assert_eq!(hold.status(), 76);
    assert!(!lives(command));
    hold.event("hold", "guardian_gone");
    assert_eq!(hold.event("lease", "lost")["reason"], "guardian");
    assert_eq!(hold.event("lease", "released")["token"], 1);
    ended_in_time(&hold);
}

#[test]
fn both_killed() {
    let room = Room::new();
    let mut hold = ticking(&room);
    let (command, guardian) = (hold.command(), hold.guardian());
    signal(hold.pid(), Signal::STOP);
    signal(guardian, Signal::KILL);
    signal(hold.pid(), Signal::KILL);
    hold.reap();
    until("the kernel kills it", || (!lives(command)).then_some(()));
    ended_in_time(&hold);
}

/// The lease is renewed, so the command goes on: `hold` alone sees to it from then on.
fn guardian_alone_stopped(room: &Room) -> Held<'_> {
    let hold = ticking(room);
    let (command, guardian) = (hold.command(), hold.guardian());
    signal(guardian, Signal::STOP);
    assert_eq!(hold.event("hold", "guardian_gone")["goes_on"], true);
    let ticks = |room: &Room| room.read("ticks").lines().count();
    let before = ticks(room);
    until("it goes on", || (ticks(room) > before + 10).then_some(()));
    assert!(lives(command) && !lives(guardian));
    hold
}

#[test]
fn guardian_alone_stopped_and_the_command_ends() {
    let room = Room::new();
    let mut hold = guardian_alone_stopped(&room);
    signal(hold.command(), Signal::KILL);
    assert_eq!(hold.status(), 137);
    assert_eq!(hold.event("lease", "released")["token"], 1);
}

#[test]
fn guardian_alone_stopped_and_hold_asked_to_end() {
    let room = Room::new();
    let mut hold = guardian_alone_stopped(&room);
    signal(hold.pid(), Signal::TERM);
    assert_eq!(hold.status(), 137, "it is deaf, and the grace has an end");
    assert_eq!(hold.event("lease", "released")["token"], 1);
}

#[test]
fn guardian_alone_stopped_and_hold_killed() {
    let room = Room::new();
    let mut hold = guardian_alone_stopped(&room);
    let command = hold.command();
    signal(hold.pid(), Signal::KILL);
    hold.reap();
    until("the kernel kills it", || (!lives(command)).then_some(()));
    ended_in_time(&hold);
}

/// The control: what these tests look for is there when nobody stops the command.
#[cfg(feature = "hold-flaws")]
#[test]
fn without_its_stops_the_command_runs_on() {
    let room = Room::new();
    let mut command = room.command(&["--events", "events"], &["sh", "-c", TICKS]);
    command.env("LEASEPROOF_HOLD_FLAW", "no-stop");
    let hold = room.start_as(command);
    hold.ticking();
    signal(hold.pid(), Signal::STOP);
    until("a tick after the validity", || {
        let (tick, end) = hold.last_tick();
        (tick > end).then_some(())
    });
}
