//! Looking at a lease in PostgreSQL: holder, token, expiry and the server's clock in one SELECT.
//!
//! The session is read-only by the server's word, and SELECT on the table is all that its user needs.

use crate::clock::boot_now;
use crate::error::StoreError;
use crate::inspect::names_a_holder;
use crate::patience::Patience;
use crate::postgres::client::{Client, Failed, OPENING, Value};
use crate::postgres::login::Access;
use crate::postgres::proof::{Proofs, Writers};
use crate::postgres::row::row_key;
use crate::postgres::row::{Entry, Row};
use crate::postgres::server::Server;
use crate::postgres::statement::Statements;
use crate::seen::Seen;
use crate::url::PostgresUrl;
use crate::{Listing, Observe, OneOfMany, texts};
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

/// An observer.
pub(crate) struct Observer {
    pub(super) client: Client,
    pub(super) timeout: Duration,
    facts: StoreFacts,
    seen: Seen<State>,
    proofs: Proofs,
    /// Whether this user may list the table's locks, as every user may unless that was taken away.
    may_list: bool,
    /// Whether the last row came from a standby.
    standby: bool,
}

/// The state of a key: what stands there, whether it is over, and the store's epoch.
type State = (Entry, bool, Option<String>);

/// What a row that may be past its expiry comes to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Over {
    No,
    /// It is, and nobody is in the middle.
    Proven,
    /// It is by the clock, and somebody may yet commit a renewal that was decided in time.
    Open,
    /// It is by the clock, and more can't be known: a standby, or a user who may not list locks.
    Unprovable,
}

impl Observer {
    pub(crate) fn open(url: &PostgresUrl, timeout: Duration) -> Result<Self, StoreError> {
        // A run's short time-outs are its owners', and a server starts a process for each connection.
        Self::open_within(url, timeout.max(OPENING), timeout)
    }

    /// The same, with no more than `opening` for the first connection.
    pub(super) fn open_within(url: &PostgresUrl, opening: Duration, timeout: Duration) -> Result<Self, StoreError> {
        let mut client = Client::new(url, Access::Read, opening)?;
        let facts = client.server(&mut Patience::new(opening))?.facts();
        Ok(Self {
            client,
            timeout,
            facts,
            seen: Seen::new(),
            proofs: Proofs::default(),
            may_list: true,
            standby: false,
        })
    }

    /// One SELECT. It is repeated where the connection was lost: a read may be, and a restarted server
    /// is seen at once.
    fn ask(
        &mut self,
        choose: impl Fn(&Statements) -> &str,
        values: &[Value<'_>],
        patience: &mut Patience,
    ) -> Result<(Moment, Vec<tokio_postgres::Row>), StoreError> {
        let mut repeated = false;
        loop {
            let asked = boot_now();
            let answer = self.client.ask(&choose, values, patience);
            let during = Moment::between(asked, boot_now());
            match answer {
                Ok(rows) => return Ok((during, rows)),
                Err(failed @ Failed::Refused(_)) => return Err(self.client.in_words(failed)),
                Err(Failed::NotSent(error) | Failed::Unknown(error)) => {
                    if repeated || matches!(error, StoreError::TimedOut(_)) {
                        return Err(error);
                    }
                    repeated = true;
                }
            }
        }
    }

    fn row(&mut self, key: &str, patience: &mut Patience) -> Result<(Moment, Row), StoreError> {
        let (during, rows) = self.ask(|it| &it.read, &[(&key, Type::TEXT)], patience)?;
        let row = rows.first().ok_or_else(|| strange(&"no row"))?;
        Ok((during, Row::parse(row).map_err(|error| strange(&error))?))
    }

    /// A row for each key, from one statement.
    fn rows(&mut self, keys: &[&str], patience: &mut Patience) -> Result<(Moment, Vec<Row>), StoreError> {
        let (during, rows) = self.ask(|it| &it.read_many, &[(&keys, Type::TEXT_ARRAY)], patience)?;
        if rows.len() != keys.len() {
            return Err(strange(&format!("{} rows for {} keys", rows.len(), keys.len())));
        }
        let parsed: Result<Vec<Row>, _> = rows.iter().map(Row::parse).collect();
        Ok((during, parsed.map_err(|error| strange(&error))?))
    }

    /// The table's writers; `None` where this user may not ask.
    fn writers(&mut self, patience: &mut Patience) -> Result<Option<Writers>, StoreError> {
        let rows = match self.client.ask(|it| &it.writers, &[], patience) {
            Ok(rows) => rows,
            Err(Failed::Refused(error)) if *error.code() == SqlState::INSUFFICIENT_PRIVILEGE => {
                self.may_list = false;
                return Ok(None);
            }
            Err(failed) => return Err(self.client.in_words(failed)),
        };
        let mut writers = Writers {
            began: i64::MIN,
            open: BTreeSet::new(),
        };
        for row in &rows {
            writers.began = row.try_get("began").map_err(|error| strange(&error))?;
            let writer: Option<String> = row.try_get("writer").map_err(|error| strange(&error))?;
            writers.open.extend(writer);
        }
        Ok(Some(writers))
    }

    /// A reading, and where it shows a lease past its expiry, what is proven of that.
    fn look(&mut self, key: &str, patience: &mut Patience) -> Result<(Moment, Row, Over), StoreError> {
        let (during, row) = self.row(key, patience)?;
        if !row.is_over() {
            return Ok((during, row, Over::No));
        }
        if self.proofs.proven(key, &row.entry) {
            return Ok((during, row, Over::Proven));
        }
        // A standby knows nothing of its primary's writers.
        if row.replica || !self.may_list {
            return Ok((during, row, Over::Unprovable));
        }
        let Some(writers) = self.writers(patience)? else {
            return Ok((during, row, Over::Unprovable));
        };
        // Anew, since whoever was in the middle before the list may have committed before it, too.
        let (during, row) = self.row(key, patience)?;
        let over = if !row.is_over() {
            Over::No
        } else if self.proofs.note(key, &row.entry, &writers) {
            Over::Proven
        } else {
            Over::Open
        };
        Ok((during, row, over))
    }

    fn reading(&mut self, key: &str, during: Moment, row: &Row, over: Over) -> OneOfMany {
        names_a_holder(key, row.entry.lease.as_ref().map_or(0, |lease| lease.length))?;
        // Never by the clock alone: that the expiry has passed is seen from `expires`, too.
        let expired = over == Over::Proven;
        self.standby = row.replica;
        let server = self.client.connected_server();
        let epoch = server.map(|server: &Server| server.epoch(row.started, row.replica));
        let previous = self
            .seen
            .note(key, during.earliest, (row.entry.clone(), expired, epoch.clone()));
        let reading = Reading {
            previous,
            held: row.entry.lease.as_ref().map(|lease| Held {
                holder: lease.holder.clone(),
                token: row.entry.counter,
                bound: None,
                ttl: row.ttl(),
                expires: row.expiry(during),
                expired,
                granted: None,
                renewed: None,
                write_lock: expired,
            }),
            counter: row.entry.counter,
            server_ns: Some(row.now.saturating_mul(1000)),
            epoch,
        };
        Ok((during, reading))
    }
}

fn strange(what: &impl ToString) -> StoreError {
    StoreError::Unexpected(format!("{} for a reading", what.to_string()))
}

impl Observer {
    /// All of these in one question, and those that are over once more.
    fn all(&mut self, keys: &[&str]) -> Result<Vec<OneOfMany>, StoreError> {
        let patience = &mut Patience::new(self.timeout);
        let (during, rows) = self.rows(keys, patience)?;
        let mut found: Vec<(Moment, Row, Over)> = rows.into_iter().map(|row| (during, row, Over::No)).collect();
        // A row stays after its lease's end, so that there may be many of these: each is proven once.
        let mut open = Vec::new();
        for (at, (key, (_, row, over))) in keys.iter().zip(&mut found).enumerate() {
            if row.is_over() {
                *over = match self.proofs.proven(key, &row.entry) {
                    true => Over::Proven,
                    false => Over::Unprovable,
                };
                if *over != Over::Proven && !row.replica && self.may_list {
                    open.push(at);
                }
            }
        }
        if !open.is_empty()
            && let Some(writers) = self.writers(patience)?
        {
            let names: Vec<&str> = open.iter().map(|&at| keys[at]).collect();
            let (during, rows) = self.rows(&names, patience)?;
            for (at, row) in open.into_iter().zip(rows) {
                let over = if !row.is_over() {
                    Over::No
                } else if self.proofs.note(keys[at], &row.entry, &writers) {
                    Over::Proven
                } else {
                    Over::Open
                };
                found[at] = (during, row, over);
            }
        }
        let readings = keys.iter().zip(&found);
        Ok(readings
            .map(|(key, (during, row, over))| self.reading(key, *during, row, *over))
            .collect())
    }
}

impl Observe for Observer {
    fn facts(&self) -> &StoreFacts {
        &self.facts
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        row_key(key.as_bytes())?;
        let (during, row, over) = self.look(key, &mut Patience::new(self.timeout))?;
        self.reading(key, during, &row, over)
    }

    fn read_keys(&mut self, keys: &[&[u8]]) -> Result<Vec<OneOfMany>, StoreError> {
        texts(keys, row_key, |keys| self.all(keys))
    }

    fn may_be_behind(&self) -> bool {
        self.standby
    }

    fn leases_below(&mut self, prefix: &str, most: usize) -> Result<Option<Listing>, StoreError> {
        let bound = i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1);
        let values: [Value<'_>; 2] = [(&prefix, Type::TEXT), (&bound, Type::INT8)];
        let (_, rows) = self.ask(|it| &it.below, &values, &mut Patience::new(self.timeout))?;
        let keys: Result<Vec<String>, _> = rows.iter().map(|row| row.try_get("key")).collect();
        let mut keys = keys.map_err(|error| strange(&error))?;
        let more = keys.len() > most;
        keys.truncate(most);
        // The server sorts by its own language.
        keys.sort_unstable();
        Ok(Some(Listing {
            keys,
            more,
            not_text: 0,
        }))
    }

    fn read_proving_expiry(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        let (during, row, over) = self.look(key, &mut Patience::new(self.timeout))?;
        if over == Over::Open {
            return Err(StoreError::Blocked);
        }
        self.reading(key, during, &row, over)
    }
}
