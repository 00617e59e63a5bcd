//! The row of a key, and what it says at a moment.

use crate::value::holder_id;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::Held;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use rusqlite::{Connection, OptionalExtension, Row};

/// The row of a key that somebody holds, or held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LeaseRow {
    pub(crate) holder: String,
    pub(crate) incarnation: String,
    pub(crate) granted: Option<BootNanos>,
    pub(crate) renewed: Option<BootNanos>,
    pub(crate) expires: Option<BootNanos>,
    pub(crate) boot_id: String,
}

/// What the table has for a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) counter: Token,
    pub(crate) lease: Option<LeaseRow>,
}

/// The one statement of a reading.
pub(crate) const SELECT: &str = "SELECT token, holder, incarnation, granted_boot_ns, renewed_boot_ns, \
                      expires_boot_ns, boot_id FROM lease WHERE key = ?1";

impl Entry {
    /// Reads the entry of `key`.
    pub(crate) fn read(connection: &Connection, key: &str) -> rusqlite::Result<Option<Self>> {
        connection
            .prepare_cached(SELECT)?
            .query_row([key], Self::from_row)
            .optional()
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let holder: Option<String> = row.get(1)?;
        let lease = match holder {
            Some(holder) => Some(LeaseRow {
                holder,
                incarnation: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
                granted: boot(row, 3)?,
                renewed: boot(row, 4)?,
                expires: boot(row, 5)?,
                boot_id: row.get::<_, Option<String>>(6)?.unwrap_or_default(),
            }),
            None => None,
        };
        Ok(Self {
            counter: Token(row.get::<_, i64>(0)?.try_into().unwrap_or(0)),
            lease,
        })
    }
}

/// The keys below a prefix, sorted, at most so many.
pub(crate) fn keys_below(connection: &Connection, prefix: &str, most: usize) -> rusqlite::Result<Vec<String>> {
    // Compared as bytes, so that no character of the prefix is a wildcard.
    connection
        .prepare_cached("SELECT key FROM lease WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key LIMIT ?2")?
        .query_map((prefix, i64::try_from(most).unwrap_or(i64::MAX)), |row| row.get(0))?
        .collect()
}

fn boot(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<BootNanos>> {
    let nanos: Option<i64> = row.get(column)?;
    Ok(nanos.map(|nanos| BootNanos(u64::try_from(nanos).unwrap_or(0))))
}

/// A boot clock reading as SQLite stores it.
pub(crate) fn nanos(at: BootNanos) -> i64 {
    // Reached after 292 years without a reboot.
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

impl LeaseRow {
    /// The holder and this grant's incarnation.
    pub(crate) fn id(&self) -> HolderId {
        if self.incarnation.is_empty() {
            HolderId::from(self.holder.as_str())
        } else {
            holder_id(&self.holder, &self.incarnation)
        }
    }

    /// Whether the lease is over at `now` of the boot `boot_id`.
    pub(crate) fn is_over(&self, now: BootNanos, boot_id: &str) -> bool {
        // A lease without an expiry outlives a reboot: nothing says when it ends.
        self.expires
            .is_some_and(|expires| self.boot_id != boot_id || expires <= now)
    }

    /// The row as a reading taken at `now` shows it.
    pub(crate) fn held(&self, counter: Token, now: BootNanos, boot_id: &str, write_lock: bool) -> Held {
        // Readings of another boot's clock mean nothing on this one's.
        let this_boot = self.boot_id == boot_id;
        let expires = match self.expires {
            Some(at) if this_boot => Some(Moment::exact(at)),
            Some(_) => Some(Moment::between(BootNanos(0), now)),
            None => None,
        };
        Held {
            holder: self.id(),
            token: Some(counter),
            expires,
            bound: None,
            ttl: match (self.expires, self.renewed) {
                (Some(expires), Some(renewed)) if this_boot => Some(expires.since(renewed)),
                _ => None,
            },
            expired: self.is_over(now, boot_id),
            granted: self.granted.filter(|_| this_boot),
            renewed: self.renewed.filter(|_| this_boot),
            write_lock,
        }
    }
}
