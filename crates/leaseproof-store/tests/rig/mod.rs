//! One store under test: the real thing, with hands that do not belong to the adapter.

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

/// What the list may ask of a store, as data; nothing else in the list asks which store it is.
#[derive(Clone, Debug)]
pub struct Can {
    /// Ends soon: the store's smallest TTL, where it has one.
    pub short: Duration,
    /// A time-out that a store which does not answer uses up.
    pub brief: Duration,
    /// Tokens are counted one by one for each key, by a counter that outlives the lease.
    pub counts_tokens: bool,
    /// A reading shows the server's clock.
    pub shows_clock: bool,
    /// A renewal may ask for another TTL than the grant did.
    pub renews_to_another_ttl: bool,
    /// A renewal this long after the one before is seen by the expiry that it moved.
    pub sees_renewals_after: Duration,
    /// There is a network in between: a frozen store answers no reader, and a request that was sent to
    /// it may still be applied.
    pub networked: bool,
}

impl Can {
    const SQLITE: Self = Self {
        short: Duration::from_millis(60),
        brief: Duration::from_millis(50),
        counts_tokens: true,
        shows_clock: true,
        renews_to_another_ttl: true,
        sees_renewals_after: Duration::from_millis(5),
        networked: false,
    };

    const REDIS: Self = Self {
        networked: true,
        ..Self::SQLITE
    };

    /// Redis in more than one server: an answer takes the way through several of them.
    const REDIS_MANY: Self = Self {
        brief: Duration::from_millis(300),
        ..Self::REDIS
    };

    /// A lease that is a session.
    #[cfg(any(feature = "consul", feature = "zookeeper"))]
    const SESSIONS: Self = Self {
        counts_tokens: false,
        shows_clock: false,
        renews_to_another_ttl: false,
        ..Self::REDIS
    };

    #[cfg(feature = "etcd")]
    const ETCD: Self = Self {
        short: Duration::from_secs(1),
        brief: Duration::from_millis(300),
        counts_tokens: false,
        shows_clock: false,
        renews_to_another_ttl: false,
        // More than the second in which two renewals show the same number.
        sees_renewals_after: Duration::from_millis(1500),
        networked: true,
    };
}

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

    /// The lease by `redis-cli`, `etcdctl`, `psql` or plain SQL; an expired row is shown as it is.
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
            Side::RedisMany(ensemble) => {
                let value = ensemble.value(key)?;
                let (holder, token) = value.rsplit_once('#')?;
                Some(Plain {
                    holder: holder.to_owned(),
                    token: token.parse().expect("a token"),
                })
            }
            #[cfg(feature = "zookeeper")]
            Side::ZooKeeper(server) => {
                let node = server.plain(&format!("/{key}"))?;
                let (holder, _ttl) = node.data.rsplit_once('#')?;
                Some(Plain {
                    holder: holder.to_owned(),
                    token: node.czxid,
                })
            }
            #[cfg(feature = "consul")]
            Side::Consul(server) => {
                let entry = server.plain(key)?;
                entry.session?;
                let (holder, _ttl) = entry.value.rsplit_once('#')?;
                Some(Plain {
                    holder: holder.to_owned(),
                    token: entry.modify_index,
                })
            }
            #[cfg(feature = "etcd")]
            Side::Etcd(server) => Some(Plain {
                token: server.field(key, "ModRevision")?.parse().expect("a revision"),
                holder: server.value(key)?,
            }),
            #[cfg(feature = "postgres")]
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
            Side::RedisMany(ensemble) => ensemble.counter(key),
            #[cfg(feature = "zookeeper")]
            Side::ZooKeeper(_) => None,
            #[cfg(feature = "consul")]
            Side::Consul(_) => None,
            #[cfg(feature = "etcd")]
            Side::Etcd(_) => None,
            #[cfg(feature = "postgres")]
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
            Side::RedisMany(ensemble) => ensemble.persist(key),
            #[cfg(feature = "zookeeper")]
            Side::ZooKeeper(server) => {
                let node = server.plain(&format!("/{key}")).expect("it is held");
                server.cli(&format!("delete /{key}"));
                server.cli(&format!("create /{key} {}", node.data));
            }
            #[cfg(feature = "consul")]
            Side::Consul(server) => {
                let entry = server.plain(key).expect("it is held");
                let old = entry.session.expect("it is held");
                let new = server.endless_session();
                server.http("PUT", &format!("/v1/kv/{key}?release={old}"), &entry.value);
                server.http("PUT", &format!("/v1/kv/{key}?acquire={new}"), &entry.value);
            }
            #[cfg(feature = "etcd")]
            Side::Etcd(server) => {
                let value = server.value(key).expect("the key is there");
                server.cli(&["put", "--", key, &value]);
            }
            #[cfg(feature = "postgres")]
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
            Side::RedisMany(ensemble) => ensemble.freeze(),
            #[cfg(feature = "zookeeper")]
            Side::ZooKeeper(server) => server.freeze(),
            #[cfg(feature = "consul")]
            Side::Consul(server) => server.freeze(),
            #[cfg(feature = "etcd")]
            Side::Etcd(server) => server.freeze(),
            #[cfg(feature = "postgres")]
            Side::Postgres(server) => server.freeze(),
        }
    }

    pub fn thaw(&self) {
        match &self.side {
            Side::Sqlite { blocker, .. } => drop(blocker.borrow_mut().take()),
            Side::Redis(server) => server.borrow().thaw(),
            Side::RedisMany(ensemble) => ensemble.thaw(),
            #[cfg(feature = "zookeeper")]
            Side::ZooKeeper(server) => server.thaw(),
            #[cfg(feature = "consul")]
            Side::Consul(server) => server.thaw(),
            #[cfg(feature = "etcd")]
            Side::Etcd(server) => server.thaw(),
            #[cfg(feature = "postgres")]
            Side::Postgres(server) => server.thaw(),
        }
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
