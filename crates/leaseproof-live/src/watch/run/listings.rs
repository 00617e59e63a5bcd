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
        let left = board.found(&prefix.prefix, prefix.max, &listing) + listing.not_text;
        if left > 0 && board.own.left_out == 0 {
            let _ = shared.notices.send(Notice::LeftOut {
                prefix: prefix.prefix.clone(),
                max: prefix.max,
            });
        }
        left_out += left;
    }
    shared.board().own.left_out = left_out;
    Ok(Ok(()))
}
