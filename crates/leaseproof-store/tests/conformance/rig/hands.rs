//! The store's own tools and signals: hands that do not belong to the adapter.

use super::{PATIENT, Rig, Side};
use rusqlite::{Connection, OptionalExtension};

/// A lease as the store's own tools show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plain {
    pub holder: String,
    pub token: u64,
}

impl Rig {
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
}
