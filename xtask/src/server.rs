//! The stores' servers that the harnesses run on, each of our own on loopback.

use crate::consul_server::ConsulServer;
use crate::etcd_server::EtcdServer;
use crate::postgres_server::PostgresServer;
use crate::redis_server::RedisServer;
use crate::zookeeper_server::ZooKeeperServer;
use std::any::Any;

/// A running server; it ends when dropped.
pub struct Server {
    /// How it is reached.
    pub url: String,
    _held: Box<dyn Any>,
}

impl Server {
    /// Starts the server of a store; `None` where the store has none.
    ///
    /// # Errors
    /// Why it can't be started, and what to set.
    pub fn start(store: &str) -> Option<Result<Self, String>> {
        let held = |url: String, it: Box<dyn Any>| Self { url, _held: it };
        Some(match store {
            "redis" => RedisServer::start().map(|it| held(it.url(), Box::new(it))),
            // With the usual ticks: with short ones a busy machine changes leaders.
            "etcd" => EtcdServer::start_with(&["--heartbeat-interval", "100", "--election-timeout", "1000"])
                .map(|it| held(it.url(), Box::new(it))),
            // Scenarios side by side have many connections, and each costs it a process.
            "postgres" => PostgresServer::start_with(&["max_connections=400"]).map(|it| held(it.url(), Box::new(it))),
            "zookeeper" => ZooKeeperServer::start().map(|it| held(it.url(), Box::new(it))),
            "consul" => ConsulServer::start().map(|it| held(it.url(), Box::new(it))),
            _ => return None,
        })
    }
}
