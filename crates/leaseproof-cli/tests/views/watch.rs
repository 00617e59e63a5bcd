//! `watch` on each store: a lease by key with its owner's log, and all below a prefix.

use crate::consul_server::ConsulServer;
use crate::etcd_server::EtcdServer;
use crate::look::only_listed;
use crate::monitor::{Rig, until};
use crate::postgres_server::{PostgresServer, skip};
use crate::tap::Tap;
use crate::wire::{http, postgres, zookeeper};
use crate::zookeeper_server::ZooKeeperServer;
use leaseproof_store::{StoreUrl, open_administrator, open_lease};
use std::path::PathBuf;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);

/// What a store shows.
struct Shows {
    expiry: bool,
    renewals: bool,
}

/// The plan of the owner `sound`, and of all below `shards/`, by another URL.
fn plan(rig: &Rig, url: &str) -> PathBuf {
    let path = rig.plan(&["sound"]);
    let text = std::fs::read_to_string(&path)
        .expect("the plan")
        .replace(&rig.store, url);
    std::fs::write(&path, text + "[[watch.lease]]\nprefix = \"shards/\"\nmax = 3\n").expect("a file");
    path
}

/// Watches an owner that renews, and five leases that nobody does; `reader` is the URL of who may only look.
fn watches(server: &str, reader: &str, shows: &Shows) {
    let url: StoreUrl = server.parse().expect("a URL");
    open_administrator(&url, TIMEOUT)
        .expect("the store")
        .prepare()
        .expect("ready");
    let rig = Rig::new(Some(server));
    let _owner = rig.owner("sound", &[]);
    let _others: Vec<_> = (0..5)
        .map(|n| {
            let mut owner = open_lease(&url, TIMEOUT).expect("the store");
            let done = owner.acquire(&format!("shards/{n}"), "other", Duration::from_secs(60), TIMEOUT);
            assert!(done.value.is_some(), "{:?}", done.reason);
            owner
        })
        .collect();
    let monitor = rig.monitor(&plan(&rig, reader));
    until("the owner's lease", || {
        (monitor.series("leaseproof_watch_held{lease=\"sound\"}")? == 1.0).then_some(())
    });
    until("the others", || {
        (monitor.series("leaseproof_watch_held{lease=\"shards/2\"}")? == 1.0).then_some(())
    });
    assert_eq!(monitor.series("leaseproof_watch_leases"), Some(4.0));
    assert_eq!(monitor.series("leaseproof_watch_leases_left_out"), Some(2.0));
    until("some rounds", || {
        (monitor.series("leaseproof_watch_rounds_total")? >= 8.0).then_some(())
    });
    if shows.renewals {
        // Closer together than whole seconds: they count by what the readings add up to.
        until("renewals", || {
            (monitor.series("leaseproof_watch_renewals_total{lease=\"sound\"}")? >= 2.0).then_some(())
        });
        let gap = monitor.series("leaseproof_watch_renewal_gap_worst_seconds{lease=\"sound\"}");
        assert_ne!(gap, Some(0.0), "what is not known has no sample");
    }
    let left = monitor.series("leaseproof_watch_ttl_left_seconds{lease=\"shards/0\"}");
    assert_eq!(left.is_some(), shows.expiry, "{left:?}");
    if let Some(left) = left {
        assert!((1.0..60.1).contains(&left), "{left}");
        // The plan's TTL is the owner's, and not that of the others.
        let differs = |lease: &str| monitor.series(&format!("leaseproof_watch_ttl_differs{{lease=\"{lease}\"}}"));
        assert_eq!((differs("sound"), differs("shards/0")), (Some(0.0), Some(1.0)));
    }
    let age = monitor.series("leaseproof_watch_renewal_age_seconds{lease=\"sound\"}");
    assert_eq!(age.is_some(), shows.renewals, "{age:?}");
    assert_eq!(
        monitor.series("leaseproof_watch_store_shows_renewals"),
        Some(f64::from(u8::from(shows.renewals)))
    );
    assert!(
        monitor
            .series("leaseproof_watch_token{lease=\"shards/0\"}")
            .is_some_and(|token| token >= 1.0)
    );
    for name in ["lapses_total", "fence_back_total", "without_ttl"] {
        let name = format!("leaseproof_watch_{name}{{lease=\"sound\"}}");
        assert_eq!(monitor.series(&name), Some(0.0), "{name}");
    }
    let (status, lines) = monitor.end();
    // A busy machine may have kept it from looking for a while; nothing was seen to be wrong.
    assert!(matches!(status.code(), Some(0 | 3)), "{lines:#?}");
    assert!(!lines.join("\n").contains("geheim"), "{lines:#?}");
}

#[test]
fn watch_etcd() {
    let server = match EtcdServer::start() {
        Ok(server) => server,
        Err(why) => return skip("watch_etcd", &why),
    };
    let tap = Tap::start(server.port());
    let shows = Shows {
        expiry: true,
        renewals: true,
    };
    watches(&server.url(), &format!("etcd://127.0.0.1:{}", tap.port()), &shows);
    let names = |bytes: &[u8]| http(bytes).into_iter().map(|(name, _)| name).collect();
    only_listed("etcd", &tap, names, |listed, sent| listed == sent);
    let sent: Vec<_> = tap.raw().iter().flat_map(|bytes| http(bytes)).collect();
    // The TTLs of its rounds went by gRPC: the list is compared with these calls, too.
    let calls = sent.iter().filter(|(name, _)| name.ends_with("LeaseTimeToLive"));
    assert!(calls.count() >= 8, "by gRPC each second");
    for (_, body) in sent {
        let body = String::from_utf8(body).expect("JSON");
        assert_eq!(
            body.matches("\"request").count(),
            body.matches("\"request_range\"").count(),
            "{body}"
        );
    }
}

#[test]
fn watch_postgres() {
    let server = match PostgresServer::start() {
        Ok(server) => server,
        Err(why) => return skip("watch_postgres", &why),
    };
    let url: StoreUrl = server.url().parse().expect("a URL");
    open_administrator(&url, TIMEOUT)
        .expect("the store")
        .prepare()
        .expect("ready");
    server.psql("CREATE ROLE reader LOGIN PASSWORD 'geheim'; GRANT SELECT ON leaseproof_lease TO reader");
    let tap = Tap::start(server.port());
    let reader = format!("postgres://reader:geheim@127.0.0.1:{}/postgres", tap.port());
    let shows = Shows {
        expiry: true,
        renewals: true,
    };
    watches(&server.url(), &reader, &shows);
    only_listed("postgres", &tap, postgres, |listed, sent| {
        listed.replace("{table}", "\"leaseproof_lease\"") == sent
    });
}

#[test]
fn watch_zookeeper() {
    let server = match ZooKeeperServer::start() {
        Ok(server) => server,
        Err(why) => return skip("watch_zookeeper", &why),
    };
    let tap = Tap::start(server.port());
    let shows = Shows {
        expiry: false,
        renewals: false,
    };
    watches(&server.url(), &format!("zookeeper://127.0.0.1:{}", tap.port()), &shows);
    only_listed("zookeeper", &tap, zookeeper, |listed, sent| listed == sent);
}

#[test]
fn watch_consul() {
    let server = match ConsulServer::start() {
        Ok(server) => server,
        Err(why) => return skip("watch_consul", &why),
    };
    let tap = Tap::start(server.port());
    let shows = Shows {
        expiry: false,
        renewals: false,
    };
    watches(&server.url(), &format!("consul://127.0.0.1:{}", tap.port()), &shows);
    let names = |bytes: &[u8]| http(bytes).into_iter().map(|(name, _)| name).collect();
    only_listed("consul", &tap, names, |listed, sent| {
        listed == sent || listed.ends_with('/') && sent.starts_with(listed)
    });
}
