//! The embedded store: one table in one SQLite file. `docs/sqlite.md` is its contract for others.
//!
//! The file is in WAL mode, since there readers look at the last commit while a writer works: an
//! observer goes on reading while an owner is frozen inside its transaction. With a rollback journal
//! a writer frozen in its commit shuts all readers out, and the one moment that matters would be the
//! one that nobody sees.
//!
//! `synchronous` is NORMAL: a commit survives the death of any process, and a power cut may lose the
//! last ones. A lease of an earlier boot is void by its boot id; its counter may then be behind.

mod administrator;
mod file;
mod inspector;
mod observer;
mod owner;
mod row;

use leaseproof_model::store::{ExpiryProof, StoreClock, StoreFacts};
use std::time::Duration;

pub(crate) use administrator::Administrator;
pub(crate) use inspector::{ALLOWED, Inspector};
pub(crate) use observer::Observer;
pub(crate) use owner::Owner;

/// The semantics of the embedded store.
pub(crate) fn facts() -> StoreFacts {
    StoreFacts {
        kind: "sqlite".to_owned(),
        version: rusqlite::version().to_owned(),
        early_slack: Duration::ZERO,
        // Another owner's transaction may be in between.
        late_bound: Duration::from_millis(10),
        late_ttls: 0,
        ttl_floor: None,
        ttl_ceiling: None,
        lock_delay: Duration::ZERO,
        clock: StoreClock::Boot,
        expired_means: "CLOCK_BOOTTIME, read while the write lock was held, had reached the row's \
                        expires_boot_ns (or the row is of another boot); the row itself stays until \
                        the next grant"
            .to_owned(),
        expiry_proof: ExpiryProof::WriteLockAfterExpiry,
        consistent_reading: true,
        exact_moments: true,
        writer_can_block: true,
        shows_expiry: true,
        shows_renewals: true,
        renewals_apart: Duration::ZERO,
        ttl_step: Duration::ZERO,
        grants_in_steps: false,
        // A power cut may take the last commits with it.
        may_lose_grants: Some(true),
    }
}
