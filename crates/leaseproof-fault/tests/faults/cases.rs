//! Owners and what happens to them.

use crate::Case;
use crate::rig::{FAMILY, LONG, Lines, Rig, SOON, eventually, stands};
use leaseproof_fault::FaultError;
use leaseproof_fault::kill_tree::kill_tree;
use leaseproof_fault::launch::{Ended, Launch, LaunchError, launch};
use leaseproof_fault::pause::pause_child::pause_child;
use leaseproof_fault::pause::pause_parent::pause_parent;
use leaseproof_fault::pause::pause_tree::pause_tree;
use leaseproof_fault::pause::{Method, availability};
use leaseproof_fault::terminate::terminate;
use leaseproof_model::event::FaultPhase::{Asked, Confirmed, Due, Failed, Undone};
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::boot_now;
use leaseproof_proc::{cgroup, identity};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub const ALL: &[Case] = &[
    ("launch-ok", launch_ok),
    ("launch-status-ok", launch_status_ok),
    ("launch-missing-command-bad", launch_missing_command_bad),
    ("launch-missing-directory-bad", launch_missing_directory_bad),
    ("launch-own-binary-ok", launch_own_binary_ok),
    ("owner-has-no-line-to-us-ok", owner_has_no_line_to_us_ok),
    ("pause-tree-sigstop-ok", || pause_tree_ok(Method::Sigstop)),
    ("pause-tree-cgroup-ok", || {
        if_offered(|| pause_tree_ok(Method::CgroupV2));
    }),
    ("pause-tree-many-ok", pause_tree_many_ok),
    ("pause-tree-forking-ok", pause_tree_forking_ok),
    ("pause-tree-gone-bad", pause_tree_gone_bad),
    ("pause-cgroup-without-group-bad", pause_cgroup_without_group_bad),
    ("pause-continued-from-outside-bad", pause_continued_from_outside_bad),
    ("pause-parent-ok", pause_parent_ok),
    ("pause-child-ok", pause_child_ok),
    ("pause-child-without-child-bad", pause_child_without_child_bad),
    ("drop-thaws-ok", drop_thaws_ok),
    ("kill-tree-ok", kill_tree_ok),
    ("kill-tree-of-orphans-ok", kill_tree_of_orphans_ok),
    ("terminate-ok", terminate_ok),
    ("deadline-ends-a-pause-ok", deadline_ends_a_pause_ok),
    ("deadline-ends-a-freeze-ok", || if_offered(deadline_ends_a_freeze_ok)),
    ("undo-all-ok", undo_all_ok),
    ("cgroup-is-removed-ok", || if_offered(cgroup_is_removed_ok)),
];

/// Runs a case that needs the freezer, or says why not.
pub fn if_offered(case: fn()) {
    match availability(Method::CgroupV2) {
        Ok(()) => case(),
        Err(why) => println!("  not offered here: {why}"),
    }
}

fn launch_ok() {
    let rig = Rig::new();
    let owner = rig.launch(&Launch {
        argv: ["sh", "-c", "pwd; echo $COLOUR; read line; echo \"[$line]\""]
            .iter()
            .map(Into::into)
            .collect(),
        env: vec![("COLOUR".into(), "green".into())],
        cwd: Some("/proc".into()),
        ..Launch::default()
    });
    let mut lines = Lines::of(&owner);
    assert_eq!(lines.next(), "/proc");
    assert_eq!(lines.next(), "green");
    assert_eq!(lines.next(), "[]", "its input is empty");
    let ended = owner.wait_timeout(SOON).expect("waits").expect("has ended");
    assert_eq!(
        ended,
        Ended {
            status: Some(0),
            signal: None
        }
    );
}

fn launch_status_ok() {
    let rig = Rig::new();
    let owner = rig.start(&["sh", "-c", "exit 7"], false);
    let ended = owner.wait_timeout(SOON).expect("waits").expect("has ended");
    assert_eq!((ended.status, ended.signal), (Some(7), None));
    let owner = rig.start(&["sh", "-c", "kill -9 $$"], false);
    let ended = owner.wait_timeout(SOON).expect("waits").expect("has ended");
    assert_eq!((ended.status, ended.signal), (None, Some(9)));
}

fn launch_missing_command_bad() {
    let rig = Rig::new();
    let nothing = Launch {
        argv: vec!["/nowhere/at-all".into()],
        ..Launch::default()
    };
    let error = launch(&rig.warden, &nothing).expect_err("there is no such command");
    assert!(matches!(&error, LaunchError::Command { command, .. } if command == "/nowhere/at-all"));
    assert!(error.to_string().contains("No such file"), "{error}");
}

fn launch_missing_directory_bad() {
    let rig = Rig::new();
    let nowhere = Launch {
        argv: vec!["true".into()],
        cwd: Some("/nowhere/at-all".into()),
        ..Launch::default()
    };
    let error = launch(&rig.warden, &nowhere).expect_err("there is no such directory");
    assert!(matches!(error, LaunchError::Directory(_)));
}

fn launch_own_binary_ok() {
    let rig = Rig::new();
    let owner = rig.start(&["leaseproof", "__victim", "hello"], false);
    assert_eq!(Lines::of(&owner).next(), "hello");
}

fn owner_has_no_line_to_us_ok() {
    let rig = Rig::new();
    let other = rig.start(&["sleep", "1000"], false);
    let owner = rig.start(&["sleep", "1000"], false);
    // What any program gets that is started from here.
    let mut plain = Command::new("sleep").arg("1000").spawn().expect("starts");
    // The kernel closes the rest while the program begins, and not before.
    for owner in [&other, &owner] {
        eventually("the owner has what any program has", || {
            open_files(owner.process().pid) == open_files(plain.id())
        });
    }
    plain.kill().expect("ours");
    plain.wait().expect("waits");
}

fn open_files(pid: u32) -> BTreeSet<String> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).expect("readable");
    open.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .collect()
}

fn pause_tree_ok(method: Method) {
    let rig = Rig::new();
    let owner = rig.start(&["sh", "-c", FAMILY], method == Method::CgroupV2);
    let mut lines = Lines::of(&owner);
    lines.until("child");
    lines.until("parent");
    let mut paused = pause_tree(&rig.warden, owner.target(), method, LONG, &rig.sink()).expect("pauses");
    let processes = paused.processes();
    assert!(processes.len() >= 2 && processes.contains(&owner.process()));
    if method == Method::Sigstop {
        assert!(processes.iter().all(|id| stands(id.pid)));
    }
    // Long enough that a tree which runs would use some nanoseconds of its CPU.
    std::thread::sleep(Duration::from_millis(100));
    paused.due(Moment::exact(boot_now()));
    let thawed = paused.thaw().expect("thaws");
    assert_eq!(thawed.cpu_flat, Some(true));
    assert!(!thawed.by_warden);
    assert!(thawed.confirmed.latest < thawed.undone.earliest);
    assert_eq!(rig.phases(), [Asked, Confirmed, Due, Undone]);
    if method == Method::CgroupV2
        && let Some(witness) = thawed.kernel_witness
    {
        let longest = thawed.undone.latest.since(thawed.confirmed.earliest);
        let shortest = thawed.undone.earliest.since(thawed.confirmed.latest);
        let tick = Duration::from_micros(2);
        assert!(
            witness + tick >= shortest && witness <= longest + tick,
            "{shortest:?} {witness:?} {longest:?}"
        );
    }
    let (_, last) = rig.reported().pop().expect("reported");
    assert_eq!(last.processes, processes);
    assert!(last.threads.is_some_and(|(stopped, all)| stopped == all && all >= 2));
    lines.until("child");
    lines.until("parent");
}

fn pause_tree_many_ok() {
    let rig = Rig::new();
    let owner = rig.start(
        &["sh", "-c", "for i in $(seq 20); do sleep 1000 & done; echo up; wait"],
        false,
    );
    Lines::of(&owner).until("up");
    let paused = pause_tree(&rig.warden, owner.target(), Method::Sigstop, LONG, &rig.sink()).expect("pauses");
    assert_eq!(paused.processes().len(), 21);
    assert_eq!(paused.processes()[0], owner.process(), "the parent stops first");
    assert_eq!(paused.thaw().expect("thaws").cpu_flat, Some(true));
}

fn pause_tree_forking_ok() {
    let rig = Rig::new();
    let owner = rig.start(&["sh", "-c", "echo up; while :; do (true); done"], false);
    Lines::of(&owner).until("up");
    for _ in 0..20 {
        let paused = pause_tree(&rig.warden, owner.target(), Method::Sigstop, LONG, &rig.sink()).expect("pauses");
        let stopped = paused.processes();
        let seen = owner.target().family().look().expect("readable");
        let missed: Vec<_> = seen.iter().filter(|id| !stopped.contains(id)).collect();
        assert!(missed.is_empty(), "{missed:?} run on");
        assert_eq!(paused.thaw().expect("thaws").cpu_flat, Some(true));
    }
}

fn pause_tree_gone_bad() {
    let rig = Rig::new();
    let owner = rig.start(&["true"], false);
    owner.wait_timeout(SOON).expect("waits").expect("has ended");
    let error =
        pause_tree(&rig.warden, owner.target(), Method::Sigstop, LONG, &rig.sink()).expect_err("nothing to pause");
    assert!(matches!(error, FaultError::Gone), "{error}");
    assert_eq!(rig.phases(), [Asked, Failed]);
}

fn pause_cgroup_without_group_bad() {
    let rig = Rig::new();
    let owner = rig.start(&["sleep", "1000"], false);
    let error = pause_tree(&rig.warden, owner.target(), Method::CgroupV2, LONG, &rig.sink()).expect_err("no group");
    assert!(matches!(error, FaultError::NotOffered(_)), "{error}");
}

fn pause_continued_from_outside_bad() {
    let rig = Rig::new();
    let owner = rig.start(&["sh", "-c", FAMILY], false);
    let mut lines = Lines::of(&owner);
    lines.until("child");
    let paused = pause_tree(&rig.warden, owner.target(), Method::Sigstop, LONG, &rig.sink()).expect("pauses");
    owner.target().family().resume().expect("resumes");
    for _ in 0..200 {
        lines.until("parent");
    }
    let thawed = paused.thaw().expect("thaws");
    assert_eq!(thawed.cpu_flat, Some(false), "somebody else ended the pause");
}

fn pause_parent_ok() {
    let rig = Rig::new();
    let owner = rig.start(&["sh", "-c", FAMILY], false);
    let mut lines = Lines::of(&owner);
    lines.until("child");
    let paused = pause_parent(&rig.warden, owner.target(), LONG, &rig.sink()).expect("pauses");
    assert_eq!(paused.processes(), [owner.process()]);
    assert!(stands(owner.process().pid));
    for _ in 0..200 {
        lines.until("child");
    }
    assert_eq!(paused.thaw().expect("thaws").cpu_flat, Some(true));
    lines.until("parent");
}

fn pause_child_ok() {
    let rig = Rig::new();
    let owner = rig.start(
        &[
            "sh",
            "-c",
            "sh -c 'while read line; do :; done' < /dev/zero & while :; do echo parent; done",
        ],
        false,
    );
    let mut lines = Lines::of(&owner);
    lines.until("parent");
    let paused = pause_child(&rig.warden, owner.target(), LONG, &rig.sink()).expect("pauses");
    assert!(!paused.processes().contains(&owner.process()));
    assert!(paused.processes().iter().all(|id| stands(id.pid)));
    for _ in 0..200 {
        lines.until("parent");
    }
    assert_eq!(paused.thaw().expect("thaws").cpu_flat, Some(true));
}

fn pause_child_without_child_bad() {
    let rig = Rig::new();
    let owner = rig.start(&["sleep", "1000"], false);
    let error = pause_child(&rig.warden, owner.target(), LONG, &rig.sink()).expect_err("no child");
    assert!(matches!(error, FaultError::NotOffered(_)), "{error}");
    assert!(!stands(owner.process().pid));
}

fn drop_thaws_ok() {
    let rig = Rig::new();
    let owner = rig.start(&["sleep", "1000"], false);
    let paused = pause_tree(&rig.warden, owner.target(), Method::Sigstop, LONG, &rig.sink()).expect("pauses");
    drop(paused);
    assert!(!stands(owner.process().pid));
    assert_eq!(rig.phases(), [Asked, Confirmed, Undone]);
}

fn kill_tree_ok() {
    let rig = Rig::new();
    let owner = rig.start(&["sh", "-c", FAMILY], false);
    let mut lines = Lines::of(&owner);
    lines.until("child");
    let before = owner.target().family().look().expect("readable");
    let (_, killed) = kill_tree(&rig.warden, owner.target(), &rig.sink()).expect("kills");
    assert!(killed.contains(&owner.process()));
    assert!(before.into_iter().all(|id| !identity::is_alive(id)));
    assert_eq!(rig.phases(), [Asked, Confirmed]);
    let ended = owner.wait_timeout(SOON).expect("waits").expect("has ended");
    assert_eq!(ended.signal, Some(9));
}

fn kill_tree_of_orphans_ok() {
    let rig = Rig::new();
    let owner = rig.start(&["sh", "-c", "sleep 1000 & echo $!"], false);
    let orphan: u32 = Lines::of(&owner).next().parse().expect("a pid");
    let orphan = identity::identify(orphan).expect("alive");
    owner.wait_timeout(SOON).expect("waits").expect("has ended");
    assert!(identity::is_alive(orphan));
    owner.end().expect("ends");
    assert!(!identity::is_alive(orphan), "it outlived its owner");
}

fn terminate_ok() {
    let rig = Rig::new();
    let owner = rig.start(
        &["sh", "-c", "trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done"],
        false,
    );
    Lines::of(&owner).until("up");
    terminate(&rig.warden, owner.target(), &rig.sink()).expect("terminates");
    let ended = owner.wait_timeout(SOON).expect("waits").expect("has ended");
    assert_eq!(ended.status, Some(3));
    let error = terminate(&rig.warden, owner.target(), &rig.sink()).expect_err("it is gone");
    assert!(matches!(error, FaultError::Gone), "{error}");
}

fn deadline_ends_a_pause_ok() {
    let rig = Rig::new();
    let owner = rig.start(&["sh", "-c", FAMILY], false);
    let mut lines = Lines::of(&owner);
    lines.until("child");
    let hold = Duration::from_secs(1);
    let paused = pause_tree(&rig.warden, owner.target(), Method::Sigstop, hold, &rig.sink()).expect("pauses");
    let pids: Vec<u32> = paused.processes().iter().map(|id| id.pid).collect();
    eventually("the warden lets go on", || pids.iter().all(|&pid| !stands(pid)));
    let thawed = paused.thaw().expect("thaws");
    assert!(thawed.by_warden);
    assert!(thawed.undone.latest < boot_now());
}

fn deadline_ends_a_freeze_ok() {
    let rig = Rig::new();
    let owner = rig.start(&["sleep", "1000"], true);
    let group = owner.target().cgroup().expect("has one").clone();
    let hold = Duration::from_secs(1);
    let paused = pause_tree(&rig.warden, owner.target(), Method::CgroupV2, hold, &rig.sink()).expect("pauses");
    eventually("the warden thaws", || group.is_frozen().is_ok_and(|frozen| !frozen));
    assert!(paused.thaw().expect("thaws").by_warden);
}

fn undo_all_ok() {
    let rig = Rig::new();
    let owner = rig.start(&["sleep", "1000"], false);
    let paused = pause_tree(&rig.warden, owner.target(), Method::Sigstop, LONG, &rig.sink()).expect("pauses");
    assert_eq!(rig.warden.undo_all().expect("answers").len(), 1);
    assert!(!stands(owner.process().pid));
    assert!(identity::is_alive(owner.process()));
    assert!(paused.thaw().expect("thaws").by_warden);
    rig.warden.end_all().expect("answers");
    assert!(!identity::is_alive(owner.process()));
}

fn cgroup_is_removed_ok() {
    let rig = Rig::new();
    let owner = rig.start(&["sh", "-c", FAMILY], true);
    let mut lines = Lines::of(&owner);
    lines.until("child");
    let group = owner.target().cgroup().expect("has one").path().to_owned();
    assert!(group.starts_with(cgroup::home().expect("offered")));
    owner.end().expect("ends");
    assert!(!Path::new(&group).exists());
}
