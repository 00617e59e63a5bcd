//! A run that is killed: this binary as a parent which starts an owner, pauses it, and meets its end
//! at a named point.

use crate::rig::{FAMILY, LONG};
use leaseproof_fault::FaultSink;
use leaseproof_fault::launch::{Launch, launch};
use leaseproof_fault::pause::Method;
use leaseproof_fault::pause::pause_tree::pause_tree;
use leaseproof_fault::warden::Warden;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub const WORD: &str = "__victim";

/// `hello` prints a word; `clock` prints its clocks; `run DIR METHOD HOLD_MS` is a run with one pause in it.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<String> = args.map(|arg| arg.into_string().expect("text")).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["hello"] => println!("hello"),
        ["clock"] => clock(),
        ["run", dir, method, hold] => run(Path::new(dir), method, Duration::from_millis(hold.parse().expect("ms"))),
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

fn clock() {
    let start = Instant::now();
    loop {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        println!("{wall} {}", start.elapsed().as_secs());
        // Its pace, for which nobody waits.
        thread::sleep(Duration::from_millis(10));
    }
}

fn run(dir: &Path, method: &str, hold: Duration) {
    let method = if method == "sigstop" {
        Method::Sigstop
    } else {
        Method::CgroupV2
    };
    let warden = Warden::start(dir).expect("starts");
    println!("warden {} {}", warden.process().pid, warden.mark());
    let owner = launch(
        &warden,
        &Launch {
            argv: ["sh", "-c", FAMILY].iter().map(Into::into).collect(),
            cgroup: method == Method::CgroupV2,
            ..Launch::default()
        },
    )
    .expect("starts");
    let mut lines = BufReader::new(owner.take_stdout().expect("piped"));
    let mut line = String::new();
    while line != "child\n" {
        line.clear();
        lines.read_line(&mut line).expect("readable");
    }
    thread::spawn(move || {
        let mut line = String::new();
        while lines.read_line(&mut line).is_ok_and(|length| length > 0) {
            line.clear();
        }
    });
    let hold_on = hold < LONG;
    let paused = pause_tree(&warden, owner.target(), method, hold, &FaultSink::none()).expect("pauses");
    println!("paused");
    if hold_on {
        // It hangs until somebody kills it.
        thread::sleep(LONG);
    }
    paused.thaw().expect("thaws");
    println!("thawed");
}
