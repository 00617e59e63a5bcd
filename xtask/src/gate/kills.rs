//! `cargo xtask gate kills`: SIGKILL under load.

use super::process::{Gate, write};
use super::resource::{LONG, Resource};
use crate::build;
use clap::Args;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The arguments.
#[derive(Args)]
pub struct KillsArgs {
    /// How many kills.
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// The program; the release build of this tree if none is named.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Takes the marks away at the last kill, and wants to see it found.
    #[arg(long)]
    forget: bool,
}

/// Writes that are accepted between two kills, at least.
const BETWEEN: u64 = 20;

/// Clients at once.
const CLIENTS: u64 = 4;

/// What the clients share.
struct Load {
    address: Mutex<SocketAddr>,
    over: AtomicBool,
    accepted: AtomicU64,
    refused: AtomicU64,
    newest: AtomicU64,
    /// The greatest token that was answered with 200, by path.
    answered: Mutex<BTreeMap<String, u64>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Load {
    /// Writes until it is over: mostly with the newest token, often with one that is a little old.
    fn write(&self, mut state: u64) {
        while !self.over.load(Ordering::Relaxed) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let path = format!("/{}", (state >> 40) % 3);
            let newest = self.newest.fetch_add(state >> 63, Ordering::SeqCst);
            let token = newest.saturating_sub((state >> 50) % 4);
            let at = *locked(&self.address);
            match write(at, &path, token) {
                Some(200) => {
                    self.accepted.fetch_add(1, Ordering::SeqCst);
                    let mut answered = locked(&self.answered);
                    let greatest = answered.entry(path).or_default();
                    *greatest = token.max(*greatest);
                }
                Some(409) => drop(self.refused.fetch_add(1, Ordering::SeqCst)),
                _ => {}
            }
        }
    }
}

/// Kills it; whether nothing was forgotten.
pub fn run(args: &KillsArgs) -> Result<bool, String> {
    let program = match &args.program {
        Some(program) => program
            .canonicalize()
            .map_err(|error| format!("{}: {error}", program.display()))?,
        None => build::leaseproof()?,
    };
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let marks = dir.path().join("marks");
    let resource = Resource::start();
    let gate = Gate::start(&program, resource.address, &marks)?;
    let load = Load {
        address: Mutex::new(gate.address),
        over: AtomicBool::new(false),
        accepted: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        newest: AtomicU64::new(1),
        answered: Mutex::default(),
    };
    let wrong = std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let load = &load;
            scope.spawn(move || load.write(client));
        }
        let wrong = kill(args, &load, &resource, gate, |last| {
            if last && args.forget {
                std::fs::remove_file(&marks).map_err(|error| error.to_string())?;
            }
            Gate::start(&program, resource.address, &marks)
        });
        load.over.store(true, Ordering::Relaxed);
        wrong
    })?;
    let wrong: Vec<String> = wrong.into_iter().chain(resource.fault()).collect();
    println!(
        "{} kills; {} writes accepted, {} refused as stale",
        args.count,
        load.accepted.load(Ordering::SeqCst),
        load.refused.load(Ordering::SeqCst)
    );
    for it in &wrong {
        println!("wrong: {it}");
    }
    if wrong.is_empty() {
        println!("no mark that was answered for is lost, and no stale write reached the resource");
    }
    Ok(wrong.is_empty() != args.forget)
}

/// Kills it so many times under load; what it had forgotten then.
fn kill(
    args: &KillsArgs,
    load: &Load,
    resource: &Resource,
    mut gate: Gate,
    start: impl Fn(bool) -> Result<Gate, String>,
) -> Result<Vec<String>, String> {
    let mut told = Instant::now();
    let mut wrong = Vec::new();
    for kill in 1..=args.count {
        let before = load.accepted.load(Ordering::SeqCst);
        let until = Instant::now() + LONG * 3;
        while load.accepted.load(Ordering::SeqCst) < before + BETWEEN {
            if Instant::now() > until {
                return Err(format!("nothing is accepted before kill {kill}"));
            }
            std::thread::yield_now();
        }
        drop(gate);
        // What the settle time stands for, without a clock: the resource is done with what it had got.
        resource.wait_for_the_last();
        let greatest = locked(&load.answered).clone();
        gate = start(kill == args.count)?;
        *locked(&load.address) = gate.address;
        for (path, token) in greatest {
            let got = write(gate.address, &path, token - 1);
            if got != Some(409) {
                wrong.push(format!(
                    "{path} forgot {token} at kill {kill}: {} passed with {got:?}",
                    token - 1
                ));
            }
        }
        if told.elapsed() > LONG / 2 {
            told = Instant::now();
            eprintln!("{kill} of {} kills", args.count);
        }
    }
    Ok(wrong)
}
