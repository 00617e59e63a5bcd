//! Commands that leave their tree, their session, their parent.

use crate::redis_server::skip;
use crate::rig::{Held, Room, lives, signal, until};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Each way to leave, deaf to SIGTERM, with its pid in a file.
const FORKS: &str = r#"
deaf='trap "" TERM; echo $$ >>pids; while :; do sleep 0.05; done'
setsid sh -c "$deaf" &
(sh -c "$deaf" &)
setsid sh -c "(setsid sh -c '$deaf' &)"
sh -c "$deaf" &
while [ $(wc -l <pids) -lt 4 ]; do sleep 0.01; done
touch forked
"#;

fn forked(room: &Room) -> Vec<u32> {
    until("they are up", || room.path("forked").exists().then_some(()));
    room.read("pids")
        .lines()
        .map(|line| line.parse().expect("a pid"))
        .collect()
}

fn all_end(pids: &[u32]) {
    until("all end", || pids.iter().all(|pid| !lives(*pid)).then_some(()));
}

/// Not as root: no control group can be made, and the tree is all there is.
fn as_nobody(room: &Room, options: &[&str], command: &[&str]) -> Result<Command, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("only root can start a process that may make no control group".to_owned());
    }
    let hold = room.command(&[&["--events", "events"], options].concat(), command);
    std::fs::set_permissions(room.path(""), PermissionsExt::from_mode(0o777)).expect("ours");
    let mut nobody = Command::new("setpriv");
    nobody.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]);
    nobody.arg(hold.get_program()).args(hold.get_args());
    nobody.current_dir(room.path("")).stdin(std::process::Stdio::null());
    let ok = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"])
        .arg(hold.get_program())
        .arg("--version")
        .output();
    match ok {
        Ok(output) if output.status.success() => Ok(nobody),
        _ => Err("setpriv can't run the program as another user".to_owned()),
    }
}

#[test]
fn the_first_ends_first() {
    let room = Room::new();
    let mut hold = room.start(&[], &["sh", "-c", &format!("{FORKS} exit 3")]);
    let pids = forked(&room);
    assert_eq!(hold.status(), 3);
    assert!(pids.iter().all(|pid| !lives(*pid)), "released before all had ended");
    let names: Vec<String> = hold
        .events()
        .iter()
        .map(|it| format!("{}{}", it["lease"], it["hold"]))
        .collect();
    let place = |name: &str| names.iter().position(|it| it.contains(name)).expect(name);
    assert!(place("gone") < place("released"), "{names:?}");
}

fn hold_and_guardian_stop_then_go_on(hold: &mut Held<'_>, pids: &[u32]) {
    let guardian = hold.guardian();
    signal(hold.pid(), Signal::STOP);
    // Everything in another group is the guardian's, which runs.
    all_end(pids);
    signal(hold.pid(), Signal::CONT);
    assert_eq!(hold.status(), 76);
    assert!(!lives(guardian));
}

#[test]
fn hold_stopped() {
    let room = Room::new();
    let mut hold = room.start(&[], &["sh", "-c", &format!("{FORKS} sleep 600")]);
    let pids = forked(&room);
    hold_and_guardian_stop_then_go_on(&mut hold, &pids);
}

#[test]
fn hold_stopped_without_a_control_group() {
    let room = Room::new();
    let command = match as_nobody(&room, &[], &["sh", "-c", &format!("{FORKS} sleep 600")]) {
        Ok(command) => command,
        Err(why) => return skip("hold_stopped_without_a_control_group", &why),
    };
    let mut hold = room.start_as(command);
    let pids = forked(&room);
    hold_and_guardian_stop_then_go_on(&mut hold, &pids);
}

#[test]
fn hold_killed_without_a_control_group() {
    let room = Room::new();
    let command = match as_nobody(&room, &[], &["sh", "-c", &format!("{FORKS} sleep 600")]) {
        Ok(command) => command,
        Err(why) => return skip("hold_killed_without_a_control_group", &why),
    };
    let mut hold = room.start_as(command);
    let pids = forked(&room);
    signal(hold.pid(), Signal::KILL);
    hold.reap();
    all_end(&pids);
}

#[test]
fn guardian_killed() {
    let room = Room::new();
    let mut hold = room.start(&[], &["sh", "-c", &format!("{FORKS} sleep 600")]);
    let pids = forked(&room);
    signal(hold.guardian(), Signal::KILL);
    assert_eq!(hold.status(), 76);
    assert!(pids.iter().all(|pid| !lives(*pid)), "hold ended before all had");
}

#[test]
fn guardian_killed_without_a_control_group() {
    let room = Room::new();
    let command = match as_nobody(&room, &[], &["sh", "-c", &format!("{FORKS} sleep 600")]) {
        Ok(command) => command,
        Err(why) => return skip("guardian_killed_without_a_control_group", &why),
    };
    let mut hold = room.start_as(command);
    let pids = forked(&room);
    signal(hold.guardian(), Signal::KILL);
    assert_eq!(hold.status(), 76);
    assert!(pids.iter().all(|pid| !lives(*pid)), "hold ended before all had");
}

/// After a heartbeat the fuse covers every process group: all die, though nobody of ours runs.
#[test]
fn all_stopped() {
    let room = Room::new();
    let mut hold = room.start(&[], &["sh", "-c", &format!("{FORKS} sleep 600")]);
    let pids = forked(&room);
    let renewed = |hold: &Held<'_>| hold.events().iter().filter(|event| event["lease"] == "renewed").count();
    let before = renewed(&hold);
    until("two heartbeats", || (renewed(&hold) > before + 2).then_some(()));
    let guardian = hold.guardian();
    signal(hold.pid(), Signal::STOP);
    signal(guardian, Signal::STOP);
    for pid in &pids {
        signal(*pid, Signal::STOP);
    }
    all_end(&pids);
    signal(hold.pid(), Signal::CONT);
    assert_eq!(hold.status(), 76);
}
