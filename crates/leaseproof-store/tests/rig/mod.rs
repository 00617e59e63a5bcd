//! One store under test: the real thing, with hands that do not belong to the adapter.

use crate::consul_server::{self, ConsulServer};
use crate::redis_server::RedisServer;
use crate::zookeeper_server::{self, ZooKeeperServer};
use leaseproof_model::event::Reading;
use leaseproof_model::moment::Moment;
use leaseproof_store::{Administer, Lease, Observe, StoreUrl};
use rusqlite::{Connection, OptionalExtension};
use std::cell::RefCell;
use std::io::Write;
use std::time::Duration;

/// Long enough for any answer on a busy machine.
pub const PATIENT: Duration = Duration::from_secs(20);

/// A lease as the store's own tools show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plain {
    pub holder: String,
    pub token: u64,
}

/// What differs from store to store in the list, as data.
#[derive(Clone, Copy)]
pub struct Traits {
    /// Longer than any test: such a lease does not end by itself.
    pub long: Duration,
    /// Ends soon.
    pub short: Duration,
    /// Tokens count from 1 and up by one, and the counter is shown and outlives the lease. Elsewhere
    /// they only rise.
    pub counted: bool,
    /// Whoever knows a grant can renew it; else only the client that got it.
    pub anyone_renews: bool,
    /// A renewal can give another TTL than the grant had.
    pub other_ttl: bool,
    /// A key may lie below another.
    pub nested: bool,
    /// Whether a frozen store leaves requests in the network, and answers no reader either.
    pub remote: bool,
}

const COUNTING: Traits = Traits {
    long: Duration::from_secs(600),
    short: Duration::from_millis(60),
    counted: true,
    anyone_renews: true,
    other_ttl: true,
    nested: true,
    remote: true,
};

/// The store.
pub struct Rig {
    pub name: &'static str,
    pub is: Traits,
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
    ZooKeeper(ZooKeeperServer),
    Consul(ConsulServer),
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
        Self {
            name: "sqlite",
            is: Traits {
                remote: false,
                ..COUNTING
            },
            url,
            side,
        }
    }

    pub fn redis() -> Result<Self, String> {
        let server = RedisServer::start()?;
        Ok(Self {
            name: "redis",
            is: COUNTING,
            url: server.url().parse().expect("a URL"),
            side: Side::Redis(RefCell::new(server)),
        })
    }

    pub fn zookeeper() -> Result<Self, String> {
        let server = ZooKeeperServer::start()?;
        Ok(Self {
            name: "zookeeper",
            is: Traits {
                // The least that this server grants.
                short: 2 * zookeeper_server::TICK,
                counted: false,
                anyone_renews: false,
                other_ttl: false,
                nested: false,
                ..COUNTING
            },
            url: server.url().parse().expect("a URL"),
            side: Side::ZooKeeper(server),
        })
    }

    pub fn consul() -> Result<Self, String> {
        let server = ConsulServer::start()?;
        Ok(Self {
            name: "consul",
            is: Traits {
                short: consul_server::LEAST,
                counted: false,
                other_ttl: false,
                ..COUNTING
            },
            url: server.url().parse().expect("a URL"),
            side: Side::Consul(server),
        })
    }

    /// Says that a case of the list can't be had on this store.
    pub fn not_expressible(&self, case: &str, why: &str) {
        let _ = writeln!(std::io::stderr(), "{}: {case}: not expressible: {why}", self.name);
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

    /// The lease by `redis-cli`, `zkCli`, or plain SQL; an expired row of SQLite is shown as it is.
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
            Side::ZooKeeper(server) => {
                let node = server.plain(&format!("/{key}"))?;
                let (holder, _ttl) = node.data.rsplit_once('#')?;
                Some(Plain {
                    holder: holder.to_owned(),
                    token: node.czxid,
                })
            }
            Side::Consul(server) => {
                let entry = server.plain(key)?;
                entry.session?;
                let (holder, _ttl) = entry.value.rsplit_once('#')?;
                Some(Plain {
                    holder: holder.to_owned(),
                    token: entry.modify_index,
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
            Side::ZooKeeper(_) | Side::Consul(_) => None,
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
            Side::ZooKeeper(server) => {
                let node = server.plain(&format!("/{key}")).expect("it is held");
                server.cli(&format!("delete /{key}"));
                server.cli(&format!("create /{key} {}", node.data));
            }
            Side::Consul(server) => {
                let entry = server.plain(key).expect("it is held");
                let old = entry.session.expect("it is held");
                let new = server.endless_session();
                server.http("PUT", &format!("/v1/kv/{key}?release={old}"), &entry.value);
                server.http("PUT", &format!("/v1/kv/{key}?acquire={new}"), &entry.value);
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
            Side::ZooKeeper(server) => server.freeze(),
            Side::Consul(server) => server.freeze(),
        }
    }

    pub fn thaw(&self) {
        match &self.side {
            Side::Sqlite { blocker, .. } => drop(blocker.borrow_mut().take()),
            Side::Redis(server) => server.borrow().thaw(),
            Side::ZooKeeper(server) => server.thaw(),
            Side::Consul(server) => server.thaw(),
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

/// Nobody holds it: absent, or (SQLite) a row that is over.
pub fn is_free(reading: &Reading) -> bool {
    reading.held.as_ref().is_none_or(|held| held.expired)
}
