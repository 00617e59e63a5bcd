//! Nothing is left behind, whoever is killed and when.

use crate::Case;
use crate::cases::if_offered;
use crate::rig::{LONG, Rig, eventually, stands};
use crate::victim;
use leaseproof_fault::FaultError;
use leaseproof_fault::journal::{self, Healed};
use leaseproof_fault::launch::{Launch, launch};
use leaseproof_fault::pause::pause_tree::pause_tree;
use leaseproof_fault::pause::{Method, availability};
use leaseproof_fault::torture_points::{self as points};
use leaseproof_fault::warden::Traces;
use leaseproof_model::name::ProcessId;
use leaseproof_proc::family::marked;
use leaseproof_proc::{cgroup, identity};
use rustix::process::{Pid, Signal, kill_process};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

pub const ALL: &[Case] = &[
    ("killed-at-each-point-sigstop-ok", || killed_at_each_point("sigstop")),
    ("killed-at-each-point-cgroup-ok", || {
        if_offered(|| killed_at_each_point("cgroup-v2"));
    }),
    ("killed-at-any-moment-ok", killed_at_any_moment),
    ("hung-run-ok", hung_run_ok),
    ("warden-killed-too-sigstop-ok", || warden_killed_too("sigstop")),
    ("warden-killed-too-cgroup-ok", || {
        if_offered(|| warden_killed_too("cgroup-v2"));
    }),
    ("warden-killed-alone-bad", warden_killed_alone),
    ("live-run-is-left-alone-ok", live_run_is_left_alone),
    ("journal-of-another-boot-ok", journal_of_another_boot),
    ("journal-names-a-stranger-ok", journal_names_a_stranger),
    ("warden-ends-with-its-run-ok", warden_ends_with_its_run),
    ("store-traces-of-an-ended-run-ok", store_traces_of_an_ended_run),
    ("store-traces-in-a-journal-ok", store_traces_in_a_journal),
    ("shared-memory-of-a-server-ok", shared_memory_of_a_server),
];

struct Victim {
    child: Child,
    lines: BufReader<ChildStdout>,
    warden: Option<(ProcessId, String)>,
}

impl Victim {
    fn start(dir: &Path, method: &str, hold_ms: u64, die_at: Option<&str>) -> Self {
        let mut command = Command::new("/proc/self/exe");
        command
            .args([victim::WORD, "run"])
            .arg(dir)
            .args([method, &hold_ms.to_string()])
            .stdout(Stdio::piped());
        if let Some(point) = die_at {
            command.env(points::VARIABLE, point);
        }
        let mut child = command.spawn().expect("starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        let first = line(&mut lines);
        let words: Vec<&str> = first.split(' ').collect();
        let warden = (words.len() == 3).then(|| {
            let id = identity::identify(words[1].parse().expect("a pid"));
            (id, words[2].to_owned())
        });
        let warden = warden.map(|(id, mark)| {
            // One that is gone already was done before we looked.
            let gone = ProcessId { pid: 0, start_ticks: 0 };
            (id.unwrap_or(gone), mark)
        });
        Self { child, lines, warden }
    }

    fn until(&mut self, wanted: &str) {
        loop {
            let next = line(&mut self.lines);
            if next == wanted {
                return;
            }
            assert!(!next.is_empty(), "it ended before {wanted:?}");
        }
    }

    fn processes(&self) -> Vec<ProcessId> {
        let (_, mark) = self.warden.as_ref().expect("the warden answered");
        let since = ProcessId { pid: 0, start_ticks: 0 };
        marked(mark, since).expect("readable")
    }
}

fn line(lines: &mut BufReader<ChildStdout>) -> String {
    let mut text = String::new();
    lines.read_line(&mut text).expect("readable");
    text.trim_end().to_owned()
}

fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, signal).expect("ours");
}

fn no_cgroup_is_left(mark: &str) {
    let Ok(home) = cgroup::home() else { return };
    for entry in fs::read_dir(home).expect("readable") {
        let name = entry.expect("readable").file_name().to_string_lossy().into_owned();
        assert!(!name.contains(mark), "control group {name} is left");
    }
}

fn killed_at_each_point(method: &str) {
    for point in points::ALL {
        let dir = tempfile::tempdir().expect("a folder");
        let mut victim = Victim::start(dir.path(), method, 600_000, Some(point));
        let status = victim.child.wait().expect("waits");
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(9),
            "it did not pass {point}"
        );
        nothing_is_left(dir.path(), &victim, point);
    }
}

fn nothing_is_left(dir: &Path, victim: &Victim, after: &str) {
    eventually("the warden has removed its journal and gone", || {
        fs::read_dir(dir).expect("readable").next().is_none()
            && victim.warden.as_ref().is_none_or(|(id, _)| !identity::is_alive(*id))
    });
    if let Some((_, mark)) = &victim.warden {
        assert_eq!(victim.processes(), [], "left after {after}");
        no_cgroup_is_left(mark);
    }
}

/// The instants are spread over the run and don't have to be met.
fn killed_at_any_moment() {
    let method = if availability(Method::CgroupV2).is_ok() {
        "cgroup-v2"
    } else {
        "sigstop"
    };
    for round in 0..12 {
        for method in ["sigstop", method] {
            let dir = tempfile::tempdir().expect("a folder");
            let mut victim = Victim::start(dir.path(), method, 600_000, None);
            // The instant is the thing under test.
            thread::sleep(Duration::from_millis(4) * round);
            signal(victim.child.id(), Signal::KILL);
            victim.child.wait().expect("waits");
            nothing_is_left(dir.path(), &victim, "a kill");
        }
    }
}

fn hung_run_ok() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut victim = Victim::start(dir.path(), "sigstop", 1_000, None);
    victim.until("paused");
    signal(victim.child.id(), Signal::STOP);
    let owners = victim.processes();
    assert!(owners.len() >= 2);
    eventually("the deadline fires though the run hangs", || {
        owners.iter().all(|id| !stands(id.pid))
    });
    assert!(owners.iter().any(|&id| identity::is_alive(id)), "it ends nobody");
    signal(victim.child.id(), Signal::KILL);
    victim.child.wait().expect("waits");
    eventually("the owners are ended", || victim.processes().is_empty());
}

fn warden_killed_too(method: &str) {
    let dir = tempfile::tempdir().expect("a folder");
    let mut victim = Victim::start(dir.path(), method, 500_000, None);
    victim.until("paused");
    let (warden, mark) = victim.warden.clone().expect("answered");
    signal(victim.child.id(), Signal::STOP);
    signal(warden.pid, Signal::KILL);
    signal(victim.child.id(), Signal::KILL);
    victim.child.wait().expect("waits");
    let owners = victim.processes();
    assert!(owners.len() >= 2, "nobody is there to end them");
    let healed = journal::undo_all(dir.path()).expect("heals");
    assert!(healed.iter().any(|one| matches!(one, Healed::Killed(_))), "{healed:?}");
    assert!(owners.iter().all(|&id| !identity::is_alive(id)));
    assert_eq!(victim.processes(), []);
    no_cgroup_is_left(&mark);
    assert_eq!(journal::undo_all(dir.path()).expect("heals"), [], "once is enough");
    assert!(fs::read_dir(dir.path()).expect("readable").next().is_none());
}

fn warden_killed_alone() {
    let rig = Rig::new();
    let owner = rig.start(&["sleep", "1000"], false);
    let paused = pause_tree(&rig.warden, owner.target(), Method::Sigstop, LONG, &rig.sink()).expect("pauses");
    signal(rig.warden.process().pid, Signal::KILL);
    assert!(!rig.warden.is_alive());
    paused.thaw().expect("the guard needs no warden");
    assert!(!stands(owner.process().pid));
    let error = pause_tree(&rig.warden, owner.target(), Method::Sigstop, LONG, &rig.sink())
        .expect_err("nothing is applied that the warden doesn't know");
    assert!(matches!(error, FaultError::Warden(_)), "{error}");
    assert!(!stands(owner.process().pid));
    let one_more = Launch {
        argv: vec!["sleep".into(), "1000".into()],
        ..Launch::default()
    };
    launch(&rig.warden, &one_more).expect_err("nobody starts whom the warden doesn't know");
    owner.end().expect("ends");
    let since = ProcessId { pid: 0, start_ticks: 0 };
    assert_eq!(marked(rig.warden.mark(), since).expect("readable"), []);
}

fn live_run_is_left_alone() {
    let rig = Rig::new();
    let owner = rig.start(&["sleep", "1000"], false);
    assert_eq!(journal::undo_all(rig.dir.path()).expect("heals"), []);
    assert!(identity::is_alive(owner.process()));
    assert!(rig.warden.is_alive());
}

fn journal_of_another_boot() {
    let dir = tempfile::tempdir().expect("a folder");
    write_journal(dir.path(), "another", identity::me().expect("known"));
    assert_eq!(journal::undo_all(dir.path()).expect("heals"), []);
    assert!(fs::read_dir(dir.path()).expect("readable").next().is_none());
}

fn journal_names_a_stranger() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut stranger = Command::new("sleep").arg("1000").spawn().expect("starts");
    let mut id = identity::identify(stranger.id()).expect("alive");
    // The pid was used again since.
    id.start_ticks -= 1;
    write_journal(dir.path(), &identity::boot_id().expect("known"), id);
    assert_eq!(journal::undo_all(dir.path()).expect("heals"), []);
    assert_eq!(stranger.try_wait().expect("waits"), None, "it was a stranger's pid");
    stranger.kill().expect("ours");
    stranger.wait().expect("waits");
}

fn write_journal(dir: &Path, boot: &str, owner: ProcessId) {
    let gone = r#"{"pid":4194304,"start_ticks":1}"#;
    let text = format!(
        "{{\"schema\":\"leaseproof.journal/1\",\"boot_id\":\"{boot}\",\"run\":{gone},\"warden\":{gone},\"mark\":\"m\"}}\n\
         {{\"owner\":{{\"root\":{{\"pid\":{},\"start_ticks\":{}}},\"cgroup\":null}}}}\n",
        owner.pid, owner.start_ticks
    );
    fs::write(dir.join("warden-m.jsonl"), text).expect("writable");
}

fn warden_ends_with_its_run() {
    let rig = Rig::new();
    let (warden, journal) = (rig.warden.process(), rig.warden.journal().to_owned());
    assert!(journal.exists());
    assert!(env::current_exe().is_ok());
    drop(rig);
    assert!(!identity::is_alive(warden));
    assert!(!journal.exists());
}

/// What a scenario makes: in a file of its own below `dir`, or in a server.
fn traces(dir: Option<&Path>, key: &str) -> Traces {
    let file = dir.map(|dir| dir.join(format!("locks.{key}.db")));
    if let Some(file) = &file {
        fs::write(file, "rows").expect("writable");
        fs::write(file.with_extension("db-wal"), "pages").expect("writable");
    }
    Traces {
        store: "redis://:***@127.0.0.1:6379".to_owned(),
        file,
        keys: vec![format!("canary/{key}"), format!("lock-signal:canary/{key}")],
    }
}

fn keys_left(dir: &Path) -> Vec<String> {
    let left = journal::left_in_stores(dir).expect("readable");
    left.iter()
        .flat_map(|it| &it.traces)
        .flat_map(|it| it.keys.clone())
        .collect()
}

/// The run is gone without a word: the warden removes its files and folders, and notes the keys that nobody swept.
fn store_traces_of_an_ended_run() {
    let stores = tempfile::tempdir().expect("a folder");
    let Rig { dir, warden, .. } = Rig::new();
    let stage = stage_in(stores.path());
    warden.folder(&stage).expect("answers");
    warden.folder(&stores.path().join("never made")).expect("answers");
    warden.made(traces(Some(stores.path()), "a")).expect("answers");
    warden.made(traces(None, "b")).expect("answers");
    warden.made(traces(None, "c")).expect("answers");
    warden.swept("canary/b").expect("answers");
    fs::write(stores.path().join("locks.db"), "a neighbour's").expect("writable");
    assert_eq!(keys_left(dir.path()), Vec::<String>::new(), "the run still lives");
    drop(warden);
    let names: Vec<_> = fs::read_dir(stores.path())
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name())
        .collect();
    assert_eq!(names, ["locks.db"]);
    assert_eq!(keys_left(dir.path()), ["canary/c", "lock-signal:canary/c"]);
    assert_eq!(journal::undo_all(dir.path()).expect("heals"), []);
    for left in journal::left_in_stores(dir.path()).expect("readable") {
        left.forget().expect("removable");
    }
    assert!(fs::read_dir(dir.path()).expect("readable").next().is_none());
}

/// A folder with data of a server in it.
fn stage_in(dir: &Path) -> PathBuf {
    let stage = dir.join("stage");
    fs::create_dir_all(stage.join("store/data")).expect("writable");
    fs::write(stage.join("store/data/0.wal"), "much").expect("writable");
    stage
}

/// The warden was killed, too, and perhaps the machine was started anew since.
fn store_traces_in_a_journal() {
    for boot in [identity::boot_id().expect("known"), "another".to_owned()] {
        let (dir, stores) = (
            tempfile::tempdir().expect("a folder"),
            tempfile::tempdir().expect("a folder"),
        );
        let mut id = identity::me().expect("known");
        id.start_ticks -= 1;
        write_journal(dir.path(), &boot, id);
        let journal = dir.path().join("warden-m.jsonl");
        let mut text = fs::read_to_string(&journal).expect("readable");
        let in_file = traces(Some(stores.path()), "a");
        for it in [&in_file, &traces(None, "b"), &traces(None, "c")] {
            text.push_str(&format!("{{\"made\":{}}}\n", serde_json::to_string(it).expect("JSON")));
        }
        let stage = stage_in(stores.path());
        let path = serde_json::to_string(&stage).expect("JSON");
        text.push_str(&format!("{{\"folder\":{{\"path\":{path}}}}}\n"));
        text.push_str("{\"swept\":{\"key\":\"canary/b\"}}\n{\"swept\":{\"key\":\"canary");
        fs::write(&journal, text).expect("writable");
        let healed = journal::undo_all(dir.path()).expect("heals");
        let file = in_file.file.expect("a file");
        assert_eq!(healed, [Healed::FolderRemoved(stage), Healed::FileRemoved(file)]);
        assert!(fs::read_dir(stores.path()).expect("readable").next().is_none());
        assert_eq!(journal::undo_all(dir.path()).expect("heals"), [], "once is enough");
        assert_eq!(keys_left(dir.path()), ["canary/c", "lock-signal:canary/c"]);
    }
}

/// A segment that nobody uses: its number, and the process that made it.
fn segment() -> Option<(i32, u32)> {
    let made = match Command::new("ipcmk").args(["-M", "56"]).output() {
        Ok(made) => made,
        Err(error) => {
            eprintln!("skipped: shared-memory-of-a-server-ok: ipcmk can't be run: {error}");
            return None;
        }
    };
    let text = String::from_utf8(made.stdout).expect("text");
    let id = text
        .trim()
        .rsplit(' ')
        .next()
        .and_then(|id| id.parse().ok())
        .expect("a number");
    Some((id, listed(id).expect("it is there")))
}

/// Who made it, if it is there.
fn listed(id: i32) -> Option<u32> {
    let listing = fs::read_to_string("/proc/sysvipc/shm").expect("readable");
    let mut lines = listing.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|line| line[1] == id.to_string())?;
    Some(line[4].parse().expect("a pid"))
}

/// A server's note is believed only where the kernel says the same.
fn shared_memory_of_a_server() {
    let Some((id, maker)) = segment() else { return };
    for (pid, fits) in [(maker + 1, false), (maker, true)] {
        let (dir, stores) = (
            tempfile::tempdir().expect("a folder"),
            tempfile::tempdir().expect("a folder"),
        );
        let mut run = identity::me().expect("known");
        run.start_ticks -= 1;
        write_journal(dir.path(), &identity::boot_id().expect("known"), run);
        let stage = stage_in(stores.path());
        let note = format!("{pid}\n/data\n1\n5432\n\n127.0.0.1\n  7  {id}\nready\n");
        fs::write(stage.join("store/data/postmaster.pid"), note).expect("writable");
        let journal = dir.path().join("warden-m.jsonl");
        let mut text = fs::read_to_string(&journal).expect("readable");
        let path = serde_json::to_string(&stage).expect("JSON");
        text.push_str(&format!("{{\"folder\":{{\"path\":{path}}}}}\n"));
        fs::write(&journal, text).expect("writable");
        let healed = journal::undo_all(dir.path()).expect("heals");
        let mut expected = vec![Healed::FolderRemoved(stage)];
        if fits {
            expected.insert(0, Healed::SegmentRemoved(id));
        }
        assert_eq!(healed, expected);
        assert_eq!(listed(id).is_none(), fits);
    }
}
