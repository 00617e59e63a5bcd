//! Measures how exactly pauses end: `cargo run --release -p leaseproof-fault --example precision [N]`.
//!
//! The moment at which a pause was due against the kernel's word that it is over, and how long a
//! pause took to come into force, for a tree of two processes, by each method.

use leaseproof_fault::FaultSink;
use leaseproof_fault::launch::{self, Launch, launch};
use leaseproof_fault::pause::pause_tree::pause_tree;
use leaseproof_fault::pause::{Method, availability};
use leaseproof_fault::warden::{self, Warden};
use leaseproof_model::clock::BootNanos;
use leaseproof_proc::clock::boot_now;
use leaseproof_proc::priority;
use std::error::Error;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use std::{env, fs};

const OWNER: &str = "(while :; do sleep 0.01; done) & while :; do sleep 0.01; done";

fn main() -> ExitCode {
    let mut args = env::args_os();
    args.next();
    let first = args.next();
    match first.as_deref().and_then(|word| word.to_str()) {
        Some(warden::WORD) => warden::main(args),
        Some(launch::STUB_WORD) => launch::stub_main(args),
        count => match measure(count.and_then(|count| count.parse().ok()).unwrap_or(200)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("failed to measure: {error}");
                ExitCode::FAILURE
            }
        },
    }
}

fn measure(count: usize) -> Result<(), Box<dyn Error>> {
    let dir = env::temp_dir().join(format!("leaseproof-precision-{}", std::process::id()));
    let warden = Warden::start(&dir)?;
    match priority::raise_this_thread() {
        Ok(()) => println!("before ordinary threads"),
        Err(error) => println!("as an ordinary thread: {error}"),
    }
    for method in [Method::Sigstop, Method::CgroupV2] {
        if let Err(why) = availability(method) {
            println!("{method}: not offered here: {why}");
            continue;
        }
        let owner = launch(
            &warden,
            &Launch {
                argv: ["sh", "-c", OWNER].iter().map(Into::into).collect(),
                cgroup: method == Method::CgroupV2,
                ..Launch::default()
            },
        )?;
        let (mut applied, mut late, mut flat) = (Vec::new(), Vec::new(), 0);
        for _ in 0..count {
            thread::sleep(Duration::from_millis(5));
            let asked = boot_now();
            let paused = pause_tree(
                &warden,
                owner.target(),
                method,
                Duration::from_secs(60),
                &FaultSink::none(),
            )?;
            applied.push(paused.confirmed().latest.since(asked));
            let due = boot_now().plus(Duration::from_millis(20));
            sleep_to(due);
            let thawed = paused.thaw()?;
            late.push(thawed.undone.latest.since(due));
            flat += usize::from(thawed.cpu_flat == Some(true));
        }
        println!("{method}: {count} pauses, CPU time flat in {flat}");
        print("  in force after", applied);
        print("  thaw late by  ", late);
        owner.end()?;
    }
    drop(warden);
    fs::remove_dir(dir)?;
    Ok(())
}

fn sleep_to(due: BootNanos) {
    thread::sleep(due.since(boot_now()));
}

fn print(what: &str, mut spans: Vec<Duration>) {
    spans.sort_unstable();
    let at = |share: usize| {
        spans
            .get((spans.len() * share / 100).min(spans.len() - 1))
            .copied()
            .unwrap_or_default()
    };
    println!("{what} p50 {:?}, p99 {:?}, most {:?}", at(50), at(99), at(100));
}
