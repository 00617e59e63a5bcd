//! What only etcd does: logins, TLS, restarts, whole seconds, leases that no key has, a gateway in between. Each test
//! meets both versions.

#![cfg(feature = "etcd")]

#[path = "../etcd_server/mod.rs"]
mod etcd_server;
#[path = "../redis_server/mod.rs"]
mod redis_server;
#[path = "../tls_rig/mod.rs"]
mod tls_rig;

use etcd_server::{EtcdServer, Version};
use leaseproof_model::event::Outcome;
use leaseproof_store::{Refusal, StoreError, StoreUrl, facts, open_administrator, open_lease, open_observer};
use redis_server::skip;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tls_rig::certificate;

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(600);
const KEY: &str = "canary/etcd";

/// The server of that version, or the end of the test.
macro_rules! server {
    ($version:expr, $test:expr) => {
        server!($version, $test, &[])
    };
    ($version:expr, $test:expr, $settings:expr) => {
        match EtcdServer::start_version($version, $settings) {
            Ok(server) => server,
            Err(why) => return skip(&format!("{} ({:?})", $test, $version), &why),
        }
    };
}

/// Makes a test a version of each function.
macro_rules! on_each_version {
    ($($test:ident),+ $(,)?) => {
        mod debian {
            $(#[test]
            fn $test() {
                super::$test(super::Version::Debian);
            })+
        }

        mod current {
            $(#[test]
            fn $test() {
                super::$test(super::Version::Current);
            })+
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
