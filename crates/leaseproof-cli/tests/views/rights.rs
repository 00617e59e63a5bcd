//! A right that is taken away while `watch` looks: told as that, and not as a store that does not answer.

use crate::monitor::{Rig, until};
use crate::postgres_server::{PostgresServer, skip};
use leaseproof_store::{StoreUrl, open_administrator};
use std::time::Duration;

#[test]
fn a_right_that_is_taken_away_bad() {
    let server = match PostgresServer::start() {
        Ok(server) => server,
        Err(why) => return skip("a_right_that_is_taken_away_bad", &why),
    };
    let url: StoreUrl = server.url().parse().expect("a URL");
    let mut store = open_administrator(&url, Duration::from_secs(10)).expect("the store");
    store.prepare().expect("ready");
    store
        .steal("jobs/sound", "me", Duration::from_secs(60))
        .value
        .expect("it is given");
    server.psql("CREATE ROLE reader LOGIN PASSWORD 'geheim'; GRANT SELECT ON leaseproof_lease TO reader");
    let reader = format!("postgres://reader:geheim@127.0.0.1:{}/postgres", server.port());
    let rig = Rig::new(Some(&reader));
    let monitor = rig.monitor(&rig.plan(&["sound"]));
    until("the lease", || {
        (monitor.series("leaseproof_watch_held{lease=\"sound\"}")? == 1.0).then_some(())
    });
    server.psql("REVOKE SELECT ON leaseproof_lease FROM reader");
    until("a round that is refused", || {
        (monitor.series("leaseproof_watch_store_failures_total")? >= 1.0).then_some(())
    });
    let (status, lines) = monitor.end();
    assert_eq!(status.code(), Some(3), "{lines:#?}");
    let told = lines.iter().filter(|line| line.contains("refuses:"));
    assert_eq!(told.count(), 1, "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("does not answer")), "{lines:#?}");
    let said = |line: &&String| line.starts_with("cannot tell: the store refused ") && line.contains("may not look");
    assert_eq!(lines.iter().filter(said).count(), 1, "{lines:#?}");
}
