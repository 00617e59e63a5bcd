//! Rounds of readings of all leases.

use super::Shared;
use crate::watch::board::Place;
use crate::watch::key::Key;
use crate::watch::notices::Notice;
use leaseproof_model::clock::BootNanos;
use leaseproof_proc::clock::{boot_now, stamp_now};
use leaseproof_store::{Observe, StoreError};
use std::time::Duration;

/// How many leases are asked about before the board is told.
const AT_ONCE: usize = 512;

/// A key that is no lease is looked at again only each so many rounds: its value may be large.
const SELDOM: u64 = 30;

/// So many leases below prefixes are asked about at the start where the plan names none.
const TRIED: usize = 16;

/// Whether this user may look, asked once before anything runs: who may not has to be told, not to wait for a store
/// that is there; nor can a key that the store can't have be waited for. What else is wrong the rounds tell.
pub(super) fn may_look(shared: &Shared, observer: &mut dyn Observe) -> Result<(), StoreError> {
    let (mut keys, found): (Vec<_>, Vec<_>) = {
        let board = shared.board();
        let all = board.iter().map(|(_, entry)| (entry.named, entry.key.clone()));
        all.partition(|(named, _)| *named)
    };
    if keys.is_empty() {
        keys = found.into_iter().take(TRIED).collect();
    }
    for keys in keys.chunks(AT_ONCE) {
        let names: Vec<&[u8]> = keys.iter().map(|(_, key)| key.bytes()).collect();
        let answers = match observer.read_keys(&names) {
            Ok(answers) => answers,
            Err(error) if error.is_refusal() => return Err(error),
            Err(_) => return Ok(()),
        };
        for ((named, _), answer) in keys.iter().zip(answers) {
            // Below a prefix one may be closed to this user, and is not its to watch.
            if let Err(error) = answer
                && *named
                && (error.is_refusal() || matches!(error, StoreError::Key { .. }))
            {
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Rounds of readings, one an interval, spread over it.
pub(super) fn rounds(shared: &Shared, mut observer: Box<dyn Observe>, interval: Duration) {
    let mut due = boot_now();
    while !shared.stopped() {
        let began = boot_now();
        round(shared, observer.as_mut(), due, interval);
        let now = boot_now();
        let mut notices = Vec::new();
        shared.board().round_over(due, now.since(began), now, &mut notices);
        shared.tell(notices);
        // Missed rounds are not made up in a burst.
        due = due.plus(interval).max(now);
        shared.wait_until(due);
    }
}

fn round(shared: &Shared, observer: &mut dyn Observe, due: BootNanos, interval: Duration) {
    let keys: Vec<(Place, Key)> = {
        let mut board = shared.board();
        board.own.rounds += 1;
        let seldom = !board.own.rounds.is_multiple_of(SELDOM);
        board
            .iter()
            .filter(|(_, entry)| !(seldom && entry.lease.unreadable.is_some()))
            .map(|(place, entry)| (place, entry.key.clone()))
            .collect()
    };
    let parts = u32::try_from(keys.len().div_ceil(AT_ONCE)).unwrap_or(u32::MAX);
    for (part, keys) in (0_u32..).zip(keys.chunks(AT_ONCE)) {
        // Not all at once: the store has others to serve. A tenth of the interval is left for what is late.
        shared.wait_until(due.plus(interval * 9 / 10 * part / parts));
        if shared.stopped() {
            return;
        }
        let names: Vec<&[u8]> = keys.iter().map(|(_, key)| key.bytes()).collect();
        let answers = observer.read_keys(&names);
        let stamp = stamp_now();
        let mut notices = Vec::new();
        let mut board = shared.board();
        match answers {
            Err(error) => {
                board.store_failed(&error, &mut notices);
                drop(board);
                shared.tell(notices);
                return;
            }
            Ok(answers) => {
                board.store_may_be_behind(observer.may_be_behind());
                notices.extend(observer.note().map(Notice::StoreWay));
                if let Some((at, reading)) = answers.iter().find_map(|it| it.as_ref().ok()) {
                    board.store_saw(*at, reading, stamp, &mut notices);
                }
                for ((place, key), answer) in keys.iter().zip(answers) {
                    match answer {
                        Ok((at, reading)) => {
                            let expiry = observer.expiry_seen(key.bytes());
                            board.lease_saw_expiry(*place, at, expiry, &reading, &mut notices);
                        }
                        Err(error) => board.unreadable(*place, &error, &mut notices),
                    }
                }
            }
        }
        drop(board);
        shared.tell(notices);
    }
    let mut board = shared.board();
    board.store.up = true;
    board.own.last_round = Some(stamp_now());
}
