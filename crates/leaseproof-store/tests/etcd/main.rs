//! What only etcd does: logins, TLS, restarts, whole seconds, leases that no key has, a gateway in between.

#![cfg(feature = "etcd")]

#[path = "../etcd_server/mod.rs"]
mod etcd_server;
#[path = "../redis_server/mod.rs"]
mod redis_server;

use etcd_server::EtcdServer;
use leaseproof_model::event::Outcome;
use leaseproof_store::{Refusal, StoreError, StoreUrl, facts, open_administrator, open_lease, open_observer};
use redis_server::skip;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(600);
const KEY: &str = "canary/etcd";

/// The server, or the end of the test.
macro_rules! server {
    ($test:expr) => {
        server!($test, &[])
    };
    ($test:expr, $settings:expr) => {
        match EtcdServer::start_with($settings) {
            Ok(server) => server,
            Err(why) => return skip($test, &why),
        }
    };
}

mod leases;
mod life;
mod relay;
mod rights;

fn url(text: &str) -> StoreUrl {
    text.parse().expect(text)
}
