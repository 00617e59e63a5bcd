//! What only Redis does: logins, databases, replicas, TLS, foreign values, a server that dies.

#[path = "../redis_server/mod.rs"]
mod redis_server;
#[path = "../tls_rig/mod.rs"]
mod tls_rig;

use leaseproof_model::event::Outcome;
use leaseproof_store::{Refusal, StoreError, StoreUrl, open_administrator, open_lease, open_observer};
use redis_server::{RedisServer, skip};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;
use tls_rig::{certificate, relay};

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(600);
const KEY: &str = "canary/redis";

/// The server, or the end of the test.
macro_rules! server {
    ($test:expr) => {
        server!($test, &[])
    };
    ($test:expr, $settings:expr) => {
        match RedisServer::start_with($settings) {
            Ok(server) => server,
            Err(why) => return skip($test, &why),
        }
    };
}

mod keys;
mod life;
mod rights;
mod tls;
mod tokens;

fn url(text: &str) -> StoreUrl {
    text.parse().expect(text)
}
