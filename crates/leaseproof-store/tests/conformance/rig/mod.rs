//! One store under test: the real thing, with hands that do not belong to the adapter.

mod can;
mod hands;

#[cfg(feature = "consul")]
use crate::consul_server::{self, ConsulServer};
#[cfg(feature = "etcd")]
use crate::etcd_server::EtcdServer;
#[cfg(feature = "postgres")]
use crate::postgres_server::PostgresServer;
use crate::redis_many::Ensemble;
use crate::redis_server::RedisServer;
#[cfg(feature = "zookeeper")]
use crate::zookeeper_server::{self, ZooKeeperServer};
pub use can::Can;
pub use hands::Plain;
use leaseproof_model::event::Reading;
use leaseproof_model::moment::Moment;
use leaseproof_store::{Administer, Lease, Observe, StoreUrl};
use rusqlite::Connection;
use std::cell::RefCell;
use std::time::Duration;

/// Long enough for any answer on a busy machine.
pub const PATIENT: Duration = Duration::from_secs(20);

/// The store.
pub struct Rig {
    pub url: StoreUrl,
    pub can: Can,
    side: Side,
}

enum Side {
    Sqlite {
        file: Connection,
        blocker: RefCell<Option<Connection>>,
        _folder: tempfile::TempDir,
    },
    Redis(RefCell<RedisServer>),
    RedisMany(Ensemble),
    #[cfg(feature = "zookeeper")]
    ZooKeeper(ZooKeeperServer),
    #[cfg(feature = "consul")]
    Consul(ConsulServer),
    #[cfg(feature = "etcd")]
    Etcd(EtcdServer),
    #[cfg(feature = "postgres")]
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
        Self {
            url,
            can: Can::SQLITE,
            side,
        }
    }

    pub fn redis(server: RedisServer) -> Self {
        Self {
            url: server.url().parse().expect("a URL"),
            can: Can::REDIS,
            side: Side::Redis(RefCell::new(server)),
        }
    }

    pub fn redis_many(ensemble: Ensemble) -> Self {
        let quorum = matches!(ensemble, Ensemble::Quorum(_));
        Self {
            url: ensemble.url().parse().expect("a URL"),
            can: Can {
                // Each server counts for itself, and has a clock of its own.
                counts_tokens: !quorum,
                shows_clock: !quorum,
                ..Can::REDIS_MANY
            },
            side: Side::RedisMany(ensemble),
        }
    }

    #[cfg(feature = "zookeeper")]
    pub fn zookeeper(server: ZooKeeperServer) -> Self {
        Self {
            url: server.url().parse().expect("a URL"),
            can: Can {
                // The least that this server grants.
                short: 2 * zookeeper_server::TICK,
                ..Can::SESSIONS
            },
            side: Side::ZooKeeper(server),
        }
    }

    #[cfg(feature = "consul")]
    pub fn consul(server: ConsulServer) -> Self {
        Self {
            url: server.url().parse().expect("a URL"),
            can: Can {
                short: consul_server::LEAST,
                ..Can::SESSIONS
            },
            side: Side::Consul(server),
        }
    }

    /// Whoever knows a grant can renew it; else only the client that got it.
    pub fn anyone_renews(&self) -> bool {
        self.url.kind() != "zookeeper"
    }

    /// A key may lie below another.
    pub fn nests_keys(&self) -> bool {
        self.url.kind() != "zookeeper"
    }

    #[cfg(feature = "etcd")]
    pub fn etcd(server: EtcdServer) -> Self {
        Self {
            url: server.url().parse().expect("a URL"),
            can: Can::ETCD,
            side: Side::Etcd(server),
        }
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
            can: Can::REDIS,
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

    /// Looks on, until a renewal will be seen by what it moves; nothing changes meanwhile. Gives the last
    /// look's moment.
    pub fn look_on(&self, observer: &mut dyn Observe, key: &str, since: Moment) -> Moment {
        loop {
            std::thread::sleep(Duration::from_millis(5));
            let (at, reading) = observer.read(key).expect("a reading");
            assert_eq!(reading.previous, None, "looking is no change: {reading:?}");
            if at.earliest >= since.latest.plus(self.can.sees_renewals_after) {
                return at;
            }
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
