//! What the embedded store shows beside the lease itself.

use crate::Observe;
use crate::error::StoreError;
use crate::inspect::{Allowed, Hints, Inspect, shell_word, text_key};
use crate::patience::Patience;
use crate::sqlite::file::{named, until_free};
use crate::sqlite::observer::Observer;
use crate::sqlite::row::SELECT;
use leaseproof_model::event::Reading;
use leaseproof_model::inspect::store_view::{Attribute, Form, KeyForm, StoreView};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use std::path::Path;
use std::time::Duration;

const SYNCHRONOUS: &str = "PRAGMA synchronous = NORMAL";
const JOURNAL: &str = "PRAGMA journal_mode";
const COUNT: &str = "SELECT count(*), count(holder) FROM lease";
const IS_THERE: &str = "SELECT holder IS NOT NULL FROM lease WHERE key = ?1";

/// Every statement that looking at the embedded store runs, on a connection that is opened read-only.
pub(crate) const ALLOWED: &[Allowed] = &[
    Allowed::always(SYNCHRONOUS, "of this connection alone; it changes nothing in the file"),
    Allowed::always(JOURNAL, "whether a frozen writer shuts readers out"),
    Allowed::always(COUNT, "how many keys the table has"),
    Allowed::always(IS_THERE, "whether the key has a row"),
    Allowed::always(SELECT, "a reading"),
];

/// A look at a file.
pub(crate) struct Inspector {
    observer: Observer,
    timeout: Duration,
}

impl Inspector {
    pub(crate) fn open(path: &Path, timeout: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            observer: Observer::open(path, timeout)?,
            timeout,
        })
    }

    fn ask<T>(
        &self,
        statement: &str,
        parameters: impl rusqlite::Params + Clone,
        read: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        use rusqlite::OptionalExtension as _;
        let mut patience = Patience::new(self.timeout);
        until_free(&mut patience, || {
            self.observer
                .reader()
                .query_row(statement, parameters.clone(), &read)
                .optional()
        })
        .map_err(|error| named(self.observer.path(), error))
    }
}

impl Observe for Inspector {
    fn facts(&self) -> &StoreFacts {
        self.observer.facts()
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        self.observer.read(key)
    }
}

impl Inspect for Inspector {
    fn allowed(&self) -> &'static [Allowed] {
        ALLOWED
    }

    fn form(&mut self, key: &[u8]) -> Result<KeyForm, StoreError> {
        let key = text_key(key)?;
        let counts = self.ask(COUNT, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
        let (keys, held) = counts.unwrap_or_default();
        let row = self.ask(IS_THERE, [key], |row| row.get::<_, bool>(0))?;
        Ok(KeyForm {
            elsewhere: None,
            namespace: format!("table lease: {keys} keys, {held} of them held, or over and not yet granted anew"),
            form: match row {
                Some(_) => Form::Lease,
                None => Form::Absent,
            },
        })
    }

    fn read_key(&mut self, key: &[u8]) -> Result<(Moment, Reading), StoreError> {
        self.observer.read(text_key(key)?)
    }

    fn look(&mut self, _key: &[u8], form: &KeyForm, _hints: &Hints) -> Result<StoreView, StoreError> {
        let journal: Option<String> = self.ask(JOURNAL, [], |row| row.get(0))?;
        let journal = journal.unwrap_or_else(|| "unknown".to_owned());
        let persistence = Attribute::plain("persistence", format!("a file, journal mode {journal}"));
        let facts = self.facts();
        let attributes = vec![
            Attribute::plain("version", format!("{} (this program's)", facts.version)),
            Attribute::plain("role", "the only one: a file of this host"),
            match journal.as_str() {
                "wal" => persistence,
                _ => persistence
                    .worrying("without WAL a writer frozen in its commit shuts readers out: what is read may be old"),
            },
            Attribute::plain("eviction", "none"),
        ];
        Ok(StoreView::plain(&facts.kind, attributes, form))
    }

    fn by_hand(&self, key: &[u8]) -> Vec<String> {
        let file = shell_word(self.observer.path().as_os_str().as_encoded_bytes());
        let key = String::from_utf8_lossy(key).replace('\'', "''");
        let statement = format!("SELECT * FROM lease WHERE key = '{key}'");
        vec![
            format!("sqlite3 -readonly -line {file} {}", shell_word(statement.as_bytes())),
            format!("sqlite3 -readonly {file} 'PRAGMA journal_mode'"),
            "cat /proc/sys/kernel/random/boot_id   # a row of another boot is over".to_owned(),
            "python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME))'   # beside expires_boot_ns"
                .to_owned(),
        ]
    }
}
