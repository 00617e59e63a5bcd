//! SIGKILL under load: no mark that was answered for is lost, and nothing stale reaches the resource.

use crate::resource::Resource;
use crate::rig::{GateProcess, write};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Twenty, or as many as `LEASEPROOF_GATE_KILLS` says.
fn kills() -> u64 {
    let said = std::env::var("LEASEPROOF_GATE_KILLS").ok();
    said.map_or(20, |said| said.parse().expect("LEASEPROOF_GATE_KILLS is a number"))
}

/// Writes that are accepted between two kills, at least.
const BETWEEN: u64 = 20;

#[test]
fn killed_again_and_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let marks = dir.path().join("marks");
    let resource = Resource::start();
    let start = || GateProcess::start(&[], resource.address, &marks, &["--settle", "1ms"]);
    let mut gate = start();
    let address = Arc::new(Mutex::new(gate.address));
    let over = Arc::new(AtomicBool::new(false));
    let accepted = Arc::new(AtomicU64::new(0));
    let tokens = Arc::new(AtomicU64::new(1));
    // The greatest token that was answered with 200, by path.
    let answered = Arc::new(Mutex::new(BTreeMap::<String, u64>::new()));
    let clients: Vec<_> = (0..4_u64)
        .map(|client| {
            let (address, over, accepted) = (Arc::clone(&address), Arc::clone(&over), Arc::clone(&accepted));
            let (tokens, answered) = (Arc::clone(&tokens), Arc::clone(&answered));
            std::thread::spawn(move || {
                let mut state = client;
                while !over.load(Ordering::Relaxed) {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let path = format!("/{}", (state >> 40) % 3);
                    // Mostly the newest, often one that is a little old.
                    let newest = tokens.fetch_add(state >> 63, Ordering::SeqCst);
                    let token = newest.saturating_sub((state >> 50) % 4);
                    let at = *address.lock().expect("not poisoned");
                    if write(at, &path, token) == Some(200) {
                        accepted.fetch_add(1, Ordering::SeqCst);
                        let mut answered = answered.lock().expect("not poisoned");
                        let greatest = answered.entry(path).or_default();
                        *greatest = token.max(*greatest);
                    }
                }
            })
        })
        .collect();
    for kill in 0..kills() {
        let before = accepted.load(Ordering::SeqCst);
        let until = std::time::Instant::now() + crate::resource::LONG * 3;
        while accepted.load(Ordering::SeqCst) < before + BETWEEN {
            assert!(
                std::time::Instant::now() < until,
                "nothing is accepted after {kill} kills"
            );
            std::thread::yield_now();
        }
        drop(gate);
        // What the settle time stands for, without a clock: the resource is done with what it had got.
        resource.wait_for_the_last();
        let greatest = answered.lock().expect("not poisoned").clone();
        gate = start();
        *address.lock().expect("not poisoned") = gate.address;
        for (path, token) in greatest {
            assert_eq!(
                gate.write(&path, token - 1),
                409,
                "{path} forgot {token} at kill {kill}"
            );
        }
    }
    over.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().expect("no panic");
    }
    assert_eq!(resource.fault(), None);
}
