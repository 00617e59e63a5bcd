//! Leases below prefixes, listed now and then.

use super::{Shared, WatchError};
use crate::watch::notices::Notice;
use crate::watch::settings::Settings;
use leaseproof_proc::clock::boot_now;
use leaseproof_store::{Observe, StoreError};

/// How many more leases than a prefix's bound are listed, so that those left out have a number.
const BEYOND: usize = 10_000;

/// Lists until it is to end.
pub(super) fn listings(shared: &Shared, lister: &mut dyn Observe, settings: &Settings) {
    let mut due = boot_now();
    while !shared.stopped() {
        due = due.plus(settings.rescan).max(boot_now());
        shared.wait_until(due);
        if !shared.stopped() {
            // What the store does not answer the readings tell.
            let _ = list(shared, lister, settings);
        }
    }
}

type Listed = Result<Result<(), WatchError>, StoreError>;

/// Lists all prefixes once.
pub(super) fn list(shared: &Shared, lister: &mut dyn Observe, settings: &Settings) -> Listed {
    let mut left_out = 0;
    for prefix in &settings.prefixes {
        let most = prefix.max.saturating_add(BEYOND);
        let Some(listing) = lister.leases_below(&prefix.prefix, most)? else {
            return Ok(Err(WatchError::NoListing(prefix.prefix.clone())));
        };
        let mut board = shared.board();
        let beyond = board.found(&prefix.prefix, prefix.max, &listing);
        // Told once, until all are taken in again.
        if board.own.left_out == 0 {
            if beyond > 0 {
                let (prefix, max) = (prefix.prefix.clone(), prefix.max);
                let _ = shared.notices.send(Notice::LeftOut { prefix, max });
            }
            if listing.not_text > 0 {
                let (prefix, count) = (prefix.prefix.clone(), listing.not_text);
                let _ = shared.notices.send(Notice::NotText { prefix, count });
            }
        }
        left_out += beyond + listing.not_text;
    }
    shared.board().own.left_out = left_out;
    Ok(Ok(()))
}
