//! The answer to one reading, and what it means on our clock.

use crate::error::StoreError;
use crate::inspect::{shown_key, text_key};
use crate::value::{hashed, holder_id};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use std::time::Duration;
use tokio_postgres::Error;

const US: i128 = 1000;

/// One reading of a key.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The server's clock, in µs.
    pub(crate) now: i64,
    /// When the server's first process began, in µs of its clock.
    pub(crate) started: i64,
    /// Whether it is a standby.
    pub(crate) replica: bool,
    /// What stands there, free of what differs from reading to reading by itself.
    pub(crate) entry: Entry,
}

/// A key as a row may have it.
///
/// # Errors
/// Where it is no text of PostgreSQL.
pub(crate) fn row_key(key: &[u8]) -> Result<&str, StoreError> {
    let text = text_key(key)?;
    match text.contains('\0') {
        true => Err(StoreError::Key {
            key: shown_key(key),
            why: "a text of PostgreSQL has no NUL byte, so that no row has this key; give the key as the table has it"
                .to_owned(),
        }),
        false => Ok(text),
    }
}

/// What the table has for a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) counter: Option<Token>,
    pub(crate) lease: Option<LeaseRow>,
}

/// A lease that somebody holds, or held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LeaseRow {
    pub(crate) holder: HolderId,
    /// How many bytes of its name were read.
    pub(crate) length: usize,
    /// When it was renewed last, in µs of the server's clock: that of the statement, which may be seen long after it.
    renewed: Option<i64>,
    /// When it ends, in µs of the server's clock.
    pub(crate) expires: Option<i64>,
}

impl Row {
    /// From the answer to [`read`](crate::postgres::statement::Statements::read).
    pub(crate) fn parse(row: &tokio_postgres::Row) -> Result<Self, Error> {
        let token: Option<i64> = row.try_get("token")?;
        let holder: Option<String> = row.try_get("holder")?;
        let incarnation: Option<String> = row.try_get("incarnation")?;
        let (renewed, expires) = (row.try_get("renewed")?, row.try_get("expires")?);
        Ok(Self {
            now: row.try_get("now")?,
            started: row.try_get("started")?,
            replica: row.try_get("replica")?,
            entry: Entry {
                counter: token.and_then(|token| u64::try_from(token).ok()).map(Token),
                lease: holder.map(|holder| LeaseRow {
                    length: holder.len(),
                    holder: named(&holder, incarnation.as_deref()),
                    renewed,
                    expires,
                }),
            },
        })
    }

    /// Whether the lease's expiry has passed by the clock of this reading.
    pub(crate) fn is_over(&self) -> bool {
        let expires = self.entry.lease.as_ref().and_then(|lease| lease.expires);
        expires.is_some_and(|expires| expires <= self.now)
    }

    /// The TTL that its last renewal set: both columns are of one statement, and of one reading of the server's clock.
    pub(crate) fn ttl(&self) -> Option<Duration> {
        let lease = self.entry.lease.as_ref()?;
        // A column at infinity, of a foreign client, was read as 0.
        let renewed = lease.renewed.filter(|at| *at > 0)?;
        let set = lease.expires?.checked_sub(renewed)?;
        u64::try_from(set)
            .ok()
            .filter(|set| *set > 0)
            .map(Duration::from_micros)
    }

    /// The expiry on our clock: the server read its own somewhere between asked and answered.
    pub(crate) fn expiry(&self, during: Moment) -> Option<Moment> {
        let expires = self.entry.lease.as_ref()?.expires?;
        let left = (i128::from(expires) - i128::from(self.now)) * US;
        Some(Moment {
            // The server's clock is cut to the microsecond.
            earliest: shift(during.earliest, left - US),
            latest: shift(during.latest, left),
        })
    }
}

/// A row without an incarnation is not by this contract: its holder may be a foreign client's secret.
fn named(holder: &str, incarnation: Option<&str>) -> HolderId {
    match incarnation {
        Some(incarnation) if !incarnation.is_empty() => holder_id(holder, incarnation),
        _ => hashed(holder.as_bytes()),
    }
}

fn shift(at: BootNanos, by: i128) -> BootNanos {
    BootNanos(u64::try_from((i128::from(at.0) + by).max(0)).unwrap_or(u64::MAX))
}

/// A row of one lease.
#[cfg(test)]
pub(crate) fn row_for_tests(now: i64, expires: Option<i64>) -> Row {
    Row {
        now,
        started: 0,
        replica: false,
        entry: Entry {
            counter: Some(Token(1)),
            lease: Some(LeaseRow {
                holder: named("a", Some("1")),
                length: 1,
                renewed: None,
                expires,
            }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::row_for_tests as row;
    use super::*;

    #[test]
    fn the_expiry_lies_around_the_round_trip() {
        let during = Moment::between(BootNanos(1_000_000), BootNanos(1_500_000));
        let expiry = row(100, Some(700)).expiry(during).expect("a TTL");
        assert_eq!((expiry.earliest.0, expiry.latest.0), (1_599_000, 2_100_000));
        let past = row(100, Some(50)).expiry(during).expect("a TTL");
        assert_eq!((past.earliest.0, past.latest.0), (949_000, 1_450_000));
        assert_eq!(row(100, None).expiry(during), None);
    }

    #[test]
    fn the_ttl_is_what_the_row_says_whenever_it_is_read() {
        let mut row = row(900, Some(1_000_700));
        assert_eq!(row.ttl(), None);
        for (renewed, ttl) in [
            (Some(700), Some(Duration::from_secs(1))),
            (Some(0), None),
            (Some(2_000_000), None),
        ] {
            let lease = row.entry.lease.as_mut().expect("a lease");
            lease.renewed = renewed;
            assert_eq!(row.ttl(), ttl, "{renewed:?}");
        }
    }

    #[test]
    fn a_lease_is_over_at_its_expiry() {
        assert!(!row(99, Some(100)).is_over());
        assert!(row(100, Some(100)).is_over());
        assert!(!row(100, None).is_over());
    }

    #[test]
    fn a_row_by_another_contract_is_hashed() {
        assert_eq!(named("a", Some("1")).as_str(), "a#1");
        for incarnation in [None, Some("")] {
            let shown = named("0f8fad5b", incarnation);
            assert!(shown.as_str().starts_with("value#"), "{shown}");
            assert!(!shown.as_str().contains("0f8fad5b"));
        }
    }
}
