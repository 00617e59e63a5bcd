//! Tokens rise, whatever happens in between, and whoever races.

use crate::LONG;
use crate::answers::{applied, granted, plainly_counted};
use crate::rig::{PATIENT, Rig, is_free};
use leaseproof_model::event::Outcome;
use leaseproof_store::Refusal;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};

pub fn tokens(rig: &Rig, key: &str) {
    let (mut owner, mut observer, mut lab) = (rig.owner(), rig.observer(), rig.lab());
    let mut seen = Vec::new();
    let first = granted(owner.acquire(key, "a", LONG, PATIENT));
    seen.push(first.token);
    applied(&owner.release(&first, PATIENT));
    seen.push(granted(owner.acquire(key, "a", rig.can.short, PATIENT)).token);
    rig.wait_for(&mut *observer, key, is_free);
    seen.push(granted(owner.acquire(key, "b", LONG, PATIENT)).token);
    applied(&lab.delete(key));
    seen.push(granted(owner.acquire(key, "c", LONG, PATIENT)).token);
    seen.push(granted(lab.steal(key, "lab", LONG)).token);
    applied(&lab.delete(key));
    owner.reconnect();
    seen.push(granted(owner.acquire(key, "d", LONG, PATIENT)).token);
    let numbers: Vec<u64> = seen.iter().map(|token| token.0).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    if rig.can.counts_tokens {
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    }
    plainly_counted(rig, key, 6);
}

pub fn race(rig: &Rig, key: &str) {
    const ROUNDS: u32 = 1000;
    let (inside, wins) = (AtomicU32::new(0), AtomicU32::new(0));
    let start = Barrier::new(2);
    let mut tokens: Vec<u64> = std::thread::scope(|scope| {
        let racers: Vec<_> = ["a", "b"]
            .into_iter()
            .map(|name| {
                let mut owner = rig.owner();
                let (inside, wins, start) = (&inside, &wins, &start);
                scope.spawn(move || {
                    let mut tokens = Vec::new();
                    // No assertion in the loop: a racer that ended would leave the other waiting.
                    let mut wrong = Vec::new();
                    for _ in 0..ROUNDS {
                        start.wait();
                        let done = owner.acquire(key, name, LONG, PATIENT);
                        let Some(grant) = done.value else {
                            if done.refusal != Some(Refusal::Held) {
                                wrong.push(format!("{done:?}"));
                            }
                            continue;
                        };
                        if inside.fetch_add(1, Ordering::SeqCst) != 0 {
                            wrong.push(format!("two holders: {grant:?}"));
                        }
                        wins.fetch_add(1, Ordering::SeqCst);
                        tokens.push(grant.token.0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        let done = owner.release(&grant, PATIENT);
                        if done.outcome != Outcome::Applied {
                            wrong.push(format!("{done:?}"));
                        }
                    }
                    assert!(wrong.is_empty(), "{wrong:#?}");
                    assert!(tokens.is_sorted());
                    tokens
                })
            })
            .collect();
        racers
            .into_iter()
            .flat_map(|racer| racer.join().expect("a racer failed"))
            .collect()
    });
    // Somebody wins each round; both may, one after the other.
    let wins = wins.into_inner();
    assert!(wins >= ROUNDS, "{wins} of {ROUNDS}");
    tokens.sort_unstable();
    assert!(tokens.is_sorted_by(|a, b| a < b), "each token once");
    if rig.can.counts_tokens {
        assert_eq!(tokens, (1..=u64::from(wins)).collect::<Vec<_>>());
    }
}
