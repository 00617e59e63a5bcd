//! Looking at a lease in the embedded store.

use crate::clock::boot_now;
use crate::error::StoreError;
use crate::inspect::names_a_holder;
use crate::patience::Patience;
use crate::seen::Seen;
use crate::sqlite::file::{self, Access, named, until_free};
use crate::sqlite::row::Entry;
use crate::sqlite::row::keys_below;
use crate::{Listing, Observe, sqlite};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::Reading;
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use rusqlite::Connection;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An observer: reads on a read-only connection. The one that can write is opened only to prove an
/// expiry, and writes nothing.
#[derive(Debug)]
pub(crate) struct Observer {
    path: PathBuf,
    timeout: Duration,
    boot_id: String,
    /// The file that is open: another one may be put in its place.
    inode: (u64, u64),
    /// How often that was seen.
    moved: u32,
    reader: Connection,
    prover: Option<Connection>,
    seen: Seen<(Option<Entry>, bool)>,
    facts: StoreFacts,
}

impl Observer {
    pub(crate) fn open(path: &Path, timeout: Duration) -> Result<Self, StoreError> {
        let mut patience = Patience::new(timeout);
        let inode = inode(path)?;
        let reader = file::open(path, Access::Read, &mut patience)?;
        // The table must be there, or this is not a store.
        until_free(&mut patience, || Entry::read(&reader, "")).map_err(|error| named(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            timeout,
            boot_id: boot_id()?,
            inode,
            moved: 0,
            reader,
            prover: None,
            seen: Seen::new(),
            facts: sqlite::facts(),
        })
    }

    /// The read-only connection.
    pub(crate) fn reader(&self) -> &Connection {
        &self.reader
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whoever opens the path now gets the file that lies there now: one that was deleted, or put aside, is nobody's store.
    fn follow(&mut self, patience: &mut Patience) -> Result<(), StoreError> {
        let now = inode(&self.path)?;
        if now == self.inode {
            return Ok(());
        }
        self.reader = file::open(&self.path, Access::Read, patience)?;
        self.prover = None;
        self.inode = now;
        self.moved += 1;
        Ok(())
    }

    fn reading(
        &mut self,
        key: &str,
        asked: BootNanos,
        now: BootNanos,
        entry: Option<Entry>,
        write_lock: bool,
    ) -> Result<(Moment, Reading), StoreError> {
        let lease = entry.as_ref().and_then(|entry| entry.lease.as_ref());
        names_a_holder(key, lease.map_or(0, |lease| lease.holder.len()))?;
        let over = lease.is_some_and(|lease| lease.is_over(now, &self.boot_id));
        let counter = entry.as_ref().map(|entry| entry.counter);
        let held = lease
            .zip(counter)
            .map(|(lease, counter)| lease.held(counter, now, &self.boot_id, write_lock));
        let reading = Reading {
            previous: self.seen.note(key, asked, (entry, over)),
            held,
            counter,
            server_ns: Some(i64::try_from(now.0).unwrap_or(i64::MAX)),
            epoch: Some(match self.moved {
                0 => self.boot_id.clone(),
                moved => format!("{}, file {}", self.boot_id, moved + 1),
            }),
        };
        Ok((Moment::between(asked, boot_now()), reading))
    }
}

fn inode(path: &Path) -> Result<(u64, u64), StoreError> {
    let about = std::fs::metadata(path).map_err(|error| file::unreachable(path, error))?;
    Ok((about.dev(), about.ino()))
}

impl Observe for Observer {
    fn facts(&self) -> &StoreFacts {
        &self.facts
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        let mut patience = Patience::new(self.timeout);
        self.follow(&mut patience)?;
        let asked = boot_now();
        // The clock is read before the row: a row that is over by then was over in its snapshot too.
        let (now, entry) = until_free(&mut patience, || {
            let now = boot_now();
            Ok((now, Entry::read(&self.reader, key)?))
        })
        .map_err(|error| named(&self.path, error))?;
        self.reading(key, asked, now, entry, false)
    }

    fn read_proving_expiry(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        let mut patience = Patience::new(self.timeout);
        self.follow(&mut patience)?;
        let asked = boot_now();
        let prover = match self.prover.take() {
            Some(prover) => prover,
            None => file::open(&self.path, Access::Write, &mut patience)?,
        };
        let result = until_free(&mut patience, || prover.execute_batch("BEGIN IMMEDIATE")).and_then(|()| {
            // No writer is between its condition and its commit now, so this reading is the last
            // word until the lock is given back.
            let now = boot_now();
            let entry = Entry::read(&prover, key);
            prover.execute_batch("ROLLBACK")?;
            Ok((now, entry?))
        });
        let (now, entry) = result.map_err(|error| named(&self.path, error))?;
        self.prover = Some(prover);
        self.reading(key, asked, now, entry, true)
    }

    fn leases_below(&mut self, prefix: &str, most: usize) -> Result<Option<Listing>, StoreError> {
        let mut patience = Patience::new(self.timeout);
        let bound = most.saturating_add(1);
        let mut keys = until_free(&mut patience, || keys_below(&self.reader, prefix, bound))
            .map_err(|error| named(&self.path, error))?;
        let more = keys.len() > most;
        keys.truncate(most);
        Ok(Some(Listing {
            keys,
            more,
            not_text: 0,
        }))
    }
}

/// The id of this boot, without which a boot clock's reading means nothing.
pub(crate) fn boot_id() -> Result<String, StoreError> {
    let file = "/proc/sys/kernel/random/boot_id";
    std::fs::read_to_string(file)
        .map(|id| id.trim().to_owned())
        .map_err(|error| StoreError::Unexpected(format!("{file} can't be read: {error}")))
}
