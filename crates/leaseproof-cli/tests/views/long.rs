//! A value that is too long for a holder's name: it is no lease that anybody can judge, and costs no more than its begin.

use crate::bad::{KEY, inspect, run};
use crate::consul_server::ConsulServer;
use crate::etcd_server::EtcdServer;
use crate::postgres_server::{PostgresServer, skip};
use crate::redis_server::RedisServer;
use crate::rig::Room;
use crate::zookeeper_server::ZooKeeperServer;
use leaseproof_store::{StoreUrl, open_administrator};
use std::time::Duration;

/// What both views say of a lease whose holder has so long a name, and `watch` of another beside it.
#[track_caller]
fn seen(url: &str) {
    let room = Room::new();
    let (short, long) = ("worker", "w".repeat(5000));
    let parsed: StoreUrl = url.parse().expect("a URL");
    let mut store = open_administrator(&parsed, Duration::from_secs(20)).expect("the store");
    store.prepare().expect("ready");
    for (key, holder) in [(KEY, &long[..]), ("canary/beside", short)] {
        let granted = store.steal(key, holder, Duration::from_secs(60));
        assert!(granted.value.is_some(), "{granted:?}");
    }
    let ran = inspect(&room, url, KEY);
    ran.cannot_tell(&["no plain lease", "too long for"]);
    room.write(
        "leaseproof.toml",
        &format!(
            "[[watch.lease]]\nkey = \"{KEY}\"\n[[watch.lease]]\nkey = \"canary/beside\"\n[watch]\nlisten = \"127.0.0.1:0\"\n"
        ),
    );
    let ran = run(&room, &["watch", "--store", url, "--for", "3s", "--interval", "500ms"]);
    assert_eq!(ran.code, Some(3), "{ran:#?}");
    let said = format!("{} {}", ran.stdout, ran.stderr);
    let of = |key: &str| {
        said.lines()
            .filter(|line| line.contains(key))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert!(of(KEY).contains("this is no plain lease"), "{ran:#?}");
    // Its TTL is another than the plan's: it is judged.
    assert!(of("canary/beside").contains("TTL DIFFERS"), "{ran:#?}");
}

macro_rules! on {
    ($name:ident, $server:ident) => {
        #[test]
        fn $name() {
            match $server::start() {
                Ok(server) => seen(&server.url()),
                Err(why) => skip(stringify!($name), &why),
            }
        }
    };
}

on!(a_long_value_on_redis_bad, RedisServer);
on!(a_long_value_on_etcd_bad, EtcdServer);
on!(a_long_value_on_zookeeper_bad, ZooKeeperServer);
on!(a_long_value_on_consul_bad, ConsulServer);
on!(a_long_holder_on_postgres_bad, PostgresServer);
