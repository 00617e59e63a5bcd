//! What only PostgreSQL does: row locks that are waited for, roles, logins, standbys, a table that is
//! not there or another's, a server that dies.

#![cfg(feature = "postgres")]

#[path = "../postgres_server/mod.rs"]
mod postgres_server;
#[path = "../tls_rig/mod.rs"]
mod tls_rig;

use leaseproof_model::event::{Outcome, Reading};
use leaseproof_store::{
    Grant, Lease, Refusal, StoreError, StoreUrl, open_administrator, open_inspector, open_lease, open_observer,
};
use postgres_server::{PostgresServer, skip};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Child;
use std::time::Duration;
use tls_rig::{certificate, relay};

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(100);
const KEY: &str = "canary/postgres";

/// The server with its table, or the end of the test.
macro_rules! server {
    ($test:expr) => {
        match PostgresServer::start() {
            Ok(server) => {
                prepare(&server);
                server
            }
            Err(why) => return skip($test, &why),
        }
    };
}

mod life;
mod page;
mod rights;
mod rows;

fn url(text: &str) -> StoreUrl {
    text.parse().expect(text)
}

fn prepare(server: &PostgresServer) {
    open_administrator(&url(&server.url()), PATIENT)
        .and_then(|mut lab| lab.prepare())
        .expect("the table can be made");
}

fn owner(server: &PostgresServer) -> Box<dyn Lease> {
    open_lease(&url(&server.url()), PATIENT).expect("lazy")
}

fn granted(owner: &mut dyn Lease, ttl: Duration) -> Grant {
    let done = owner.acquire(KEY, "a", ttl, PATIENT);
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    done.value.expect("a grant comes with applied")
}

fn read(server: &PostgresServer) -> Reading {
    open_observer(&url(&server.url()), PATIENT)
        .and_then(|mut observer| observer.read(KEY))
        .expect("a reading")
        .1
}

/// A session of another client, which has run these statements and holds what they locked.
fn holding(server: &PostgresServer, statements: &str) -> Child {
    // It waits for a lock that the test holds by its name, and ends in whatever way it was told to.
    let child = server.session(
        &[],
        &format!("BEGIN; {statements}; SELECT 'held'; SELECT pg_advisory_xact_lock(1); COMMIT;"),
    );
    server.wait_until("SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
    child
}

/// Holds the advisory lock that sessions wait for, until it is dropped.
struct Gate<'a> {
    server: &'a PostgresServer,
    session: Child,
}

impl<'a> Gate<'a> {
    fn shut(server: &'a PostgresServer) -> Self {
        let session = server.session(&[], "SELECT pg_advisory_lock(1); SELECT pg_sleep(600);");
        server.wait_until("SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND granted");
        Self { server, session }
    }

    fn open(mut self, waiting: Child) {
        self.server.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = 1",
        );
        let _ = self.session.wait();
        let output = waiting.wait_with_output().expect("the other session ends");
        assert!(output.status.success(), "{output:?}");
    }
}
