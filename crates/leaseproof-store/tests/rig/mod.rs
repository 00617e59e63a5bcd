//! One store under test: the real thing, with hands that do not belong to the adapter.

use crate::postgres_server::PostgresServer;
use crate::redis_server::RedisServer;
use leaseproof_model::event::Reading;
use leaseproof_model::moment::Moment;
use leaseproof_store::{Administer, Lease, Observe, StoreUrl};
use rusqlite::{Connection, OptionalExtension};
use std::cell::RefCell;
use std::time::Duration;

/// Long enough for any answer on a busy machine.
pub const PATIENT: Duration = Duration::from_secs(20);

/// A lease as the store's own tools show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plain {
    pub holder: String,
    pub token: u64,
}

/// The store.
pub struct Rig {
    pub url: StoreUrl,
    side: Side,
}

enum Side {
    Sqlite {
        file: Connection,
        blocker: RefCell<Option<Connection>>,
        _folder: tempfile::TempDir,
    },
    Redis(RefCell<RedisServer>),
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "this build has no adapter"))]
    Postgres(PostgresServer),
}

impl Rig {
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deeper/locks.db");
        let url: StoreUrl = format!("sqlite:{}", path.display()).parse().expect("a URL");
        leaseproof_store::open_administrator(&url, PATIENT)
            .and_then(|mut lab| lab.prepare())
            .expect("the file can be made");
        let side = Side::Sqlite {
            file: Connection::open(&path).expect("plain SQL opens it"),
            blocker: RefCell::new(None),
            _folder: folder,
        };
        Self { url, side }
    }

    pub fn redis() -> Result<Self, String> {
        let server = RedisServer::start()?;
        Ok(Self {
            url: server.url().parse().expect("a URL"),
            side: Side::Redis(RefCell::new(server)),
        })
    }

    #[cfg(feature = "postgres")]
    pub fn postgres() -> Result<Self, String> {
        let server = PostgresServer::start()?;
        let url: StoreUrl = server.url().parse().expect("a URL");
        leaseproof_store::open_administrator(&url, PATIENT)
            .and_then(|mut lab| lab.prepare())
            .expect("the table can be made");
        Ok(Self {
            url,
            side: Side::Postgres(server),
        })
    }

    pub fn owner(&self) -> Box<dyn Lease> {
        leaseproof_store::open_lease(&self.url, PATIENT).expect("an owner")
    }

    pub fn observer(&self) -> Box<dyn Observe> {
        leaseproof_store::open_observer(&self.url, PATIENT).expect("an observer")
    }

    pub fn lab(&self) -> Box<dyn Administer> {
        leaseproof_store::open_administrator(&self.url, PATIENT).expect("an administrator")
    }

    /// Whether a process of its own serves the store, so that a frozen one answers nobody.
    pub fn is_server(&self) -> bool {
        !matches!(self.side, Side::Sqlite { .. })
    }

    /// The lease by `redis-cli`, `psql` or plain SQL; an expired row is shown as it is.
    pub fn plain(&self, key: &str) -> Option<Plain> {
        match &self.side {
            Side::Sqlite { file, .. } => file
                .query_row(
                    "SELECT holder || '#' || incarnation, token FROM lease \
                     WHERE key = ?1 AND holder IS NOT NULL",
                    [key],
                    |row| {
                        Ok(Plain {
                            holder: row.get(0)?,
                            token: row.get::<_, i64>(1)?.try_into().expect("a positive token"),
                        })
                    },
                )
                .optional()
                .expect("plain SQL"),
            Side::Redis(server) => {
                let value = server.borrow().cli(&["GET", key]);
                let (holder, token) = value.rsplit_once('#')?;
                Some(Plain {
                    holder: holder.to_owned(),
                    token: token.parse().expect("a token"),
                })
            }
            Side::Postgres(server) => {
                let row = server.psql_with(
                    &[("key", key)],
                    "SELECT token || '|' || holder || '#' || incarnation FROM leaseproof_lease \
                     WHERE key = :'key' AND holder IS NOT NULL",
                );
                let (token, holder) = row.split_once('|')?;
                Some(Plain {
                    holder: holder.to_owned(),
                    token: token.parse().expect("a token"),
                })
            }
        }
    }

    /// The counter by the store's own tools.
    pub fn plain_counter(&self, key: &str) -> Option<u64> {
        match &self.side {
            Side::Sqlite { file, .. } => file
                .query_row("SELECT token FROM lease WHERE key = ?1", [key], |row| {
                    row.get::<_, i64>(0)
                })
                .optional()
                .expect("plain SQL")
                .map(|token| token.try_into().expect("a positive token")),
            Side::Redis(server) => server.borrow().cli(&["GET", &format!("{key}:token")]).parse().ok(),
            Side::Postgres(server) => server
                .psql_with(&[("key", key)], "SELECT token FROM leaseproof_lease WHERE key = :'key'")
                .parse()
                .ok(),
        }
    }

    /// Takes the TTL off, as a broken client would.
    pub fn plain_persist(&self, key: &str) {
        match &self.side {
            Side::Sqlite { file, .. } => {
                file.execute("UPDATE lease SET expires_boot_ns = NULL WHERE key = ?1", [key])
                    .expect("plain SQL");
            }
            Side::Redis(server) => {
                server.borrow().cli(&["PERSIST", key]);
            }
            Side::Postgres(server) => {
                server.psql_with(
                    &[("key", key)],
                    "UPDATE leaseproof_lease SET expires_at = NULL WHERE key = :'key'",
                );
            }
        }
    }

    /// Makes the store answer no owner: SIGSTOP of the server, or a writer in its transaction.
    pub fn freeze(&self) {
        match &self.side {
            Side::Sqlite { file, blocker, .. } => {
                let path = file.path().expect("it is a file");
                let writer = Connection::open(path).expect("plain SQL opens it");
                writer.busy_timeout(PATIENT).expect("a time-out");
                writer.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
                *blocker.borrow_mut() = Some(writer);
            }
            Side::Redis(server) => server.borrow().freeze(),
            Side::Postgres(server) => server.freeze(),
        }
    }

    pub fn thaw(&self) {
        match &self.side {
            Side::Sqlite { blocker, .. } => drop(blocker.borrow_mut().take()),
            Side::Redis(server) => server.borrow().thaw(),
            Side::Postgres(server) => server.thaw(),
        }
    }

    /// Looks until the reading is as asked; a store that never gets there fails the test.
    pub fn wait_for(&self, observer: &mut dyn Observe, key: &str, is: impl Fn(&Reading) -> bool) -> (Moment, Reading) {
        for _ in 0..4000 {
            let (moment, reading) = observer.read_proving_expiry(key).expect("a reading");
            if is(&reading) {
                return (moment, reading);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the store never got there: {:?}", observer.read(key));
    }
}

/// Nobody holds it: absent, or (SQLite, PostgreSQL) a row that is over.
pub fn is_free(reading: &Reading) -> bool {
    reading.held.as_ref().is_none_or(|held| held.expired)
}
