//! What the cases share: a warden in a folder of its own, owners, and what was reported.

use leaseproof_fault::FaultSink;
use leaseproof_fault::launch::{Launch, Launched, launch};
use leaseproof_fault::warden::Warden;
use leaseproof_model::event::{FaultEvent, FaultPhase};
use leaseproof_model::moment::Moment;
use leaseproof_proc::threads;
use std::io::{BufRead, BufReader};
use std::process::ChildStdout;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// By when anything that must happen has happened, on a machine however busy.
pub const SOON: Duration = Duration::from_secs(60);
/// A hard deadline that no case reaches.
pub const LONG: Duration = Duration::from_secs(600);

/// A parent with a child in the background, each printing a line again and again.
pub const FAMILY: &str = "(while :; do echo child; sleep 0.01; done) & while :; do echo parent; sleep 0.01; done";

pub struct Rig {
    pub dir: TempDir,
    pub warden: Warden,
    reported: Arc<Mutex<Vec<(Moment, FaultEvent)>>>,
}

impl Rig {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let warden = Warden::start(dir.path()).expect("the warden starts");
        Self {
            dir,
            warden,
            reported: Arc::default(),
        }
    }

    pub fn sink(&self) -> FaultSink {
        let reported = Arc::clone(&self.reported);
        FaultSink::new(move |at, event| reported.lock().expect("not poisoned").push((at, event)))
    }

    pub fn phases(&self) -> Vec<FaultPhase> {
        self.reported().iter().map(|(_, event)| event.phase).collect()
    }

    pub fn reported(&self) -> Vec<(Moment, FaultEvent)> {
        self.reported.lock().expect("not poisoned").clone()
    }

    pub fn start(&self, argv: &[&str], cgroup: bool) -> Launched {
        self.launch(&Launch {
            argv: argv.iter().map(Into::into).collect(),
            cgroup,
            ..Launch::default()
        })
    }

    pub fn launch(&self, what: &Launch) -> Launched {
        launch(&self.warden, what).expect("the owner starts")
    }
}

/// Reads an owner's lines. Once it is dropped, an owner that prints dies of that.
pub struct Lines(BufReader<ChildStdout>);

impl Lines {
    pub fn of(owner: &Launched) -> Self {
        Self(BufReader::new(owner.take_stdout().expect("not taken before")))
    }

    pub fn next(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("readable");
        line.trim_end().to_owned()
    }

    /// Reads until this line comes.
    pub fn until(&mut self, wanted: &str) {
        loop {
            let line = self.next();
            if line == wanted {
                return;
            }
            assert!(!line.is_empty(), "the output ended before {wanted:?} came");
        }
    }
}

/// Waits for something that must come.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < deadline, "it never came to be that {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Whether every thread of a process is stopped.
pub fn stands(pid: u32) -> bool {
    let all = threads::of(pid);
    !all.is_empty() && all.iter().all(|thread| thread.state == 'T')
}
