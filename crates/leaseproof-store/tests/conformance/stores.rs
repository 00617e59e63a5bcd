//! The list on each store.

#[cfg(feature = "consul")]
use crate::consul_server::ConsulServer;
#[cfg(feature = "etcd")]
use crate::etcd_server::{EtcdServer, Version};
use crate::redis_many::{self, Ensemble, Watched};
use crate::redis_server::{RedisServer, skip};
use crate::rig::Rig;
use crate::run;
#[cfg(feature = "zookeeper")]
use crate::zookeeper_server::ZooKeeperServer;
use std::time::Duration;

#[test]
fn sqlite() {
    run("sqlite", &Rig::sqlite());
}

#[test]
fn redis() {
    match RedisServer::start() {
        Ok(server) => run("redis", &Rig::redis(server)),
        Err(why) => skip("redis", &why),
    }
}

#[test]
fn redis_other() {
    match RedisServer::start_other() {
        Some(Ok(server)) => run("redis (other)", &Rig::redis(server)),
        Some(Err(why)) => skip("redis_other", &why),
        None => skip("redis_other", "LEASEPROOF_REDIS_OTHER names no other version"),
    }
}

#[test]
fn redis_sentinel() {
    // Longer than the list freezes a server: no failover is meant here.
    match Watched::start(Duration::from_secs(30)) {
        Ok(watched) => run("redis-sentinel", &Rig::redis_many(Ensemble::Watched(watched))),
        Err(why) => skip("redis_sentinel", &why),
    }
}

#[test]
fn redis_cluster() {
    match redis_many::cluster() {
        Ok(servers) => run("redis-cluster", &Rig::redis_many(Ensemble::Cluster(servers))),
        Err(why) => skip("redis_cluster", &why),
    }
}

#[test]
fn redlock() {
    match redis_many::independent() {
        Ok(servers) => run("redlock", &Rig::redis_many(Ensemble::Quorum(servers))),
        Err(why) => skip("redlock", &why),
    }
}

#[cfg(feature = "postgres")]
#[test]
fn postgres() {
    match Rig::postgres() {
        Ok(rig) => run("postgres", &rig),
        Err(why) => skip("postgres", &why),
    }
}

#[cfg(feature = "etcd")]
#[test]
fn etcd() {
    match EtcdServer::start() {
        Ok(server) => run("etcd", &Rig::etcd(server)),
        Err(why) => skip("etcd", &why),
    }
}

#[cfg(feature = "etcd")]
#[test]
fn etcd_current() {
    match EtcdServer::start_version(Version::Current, &[]) {
        Ok(server) => run("etcd (current)", &Rig::etcd(server)),
        Err(why) => skip("etcd_current", &why),
    }
}

#[cfg(feature = "zookeeper")]
#[test]
fn zookeeper() {
    match ZooKeeperServer::start() {
        Ok(server) => run("zookeeper", &Rig::zookeeper(server)),
        Err(why) => skip("zookeeper", &why),
    }
}

#[cfg(feature = "consul")]
#[test]
fn consul() {
    match ConsulServer::start() {
        Ok(server) => run("consul", &Rig::consul(server)),
        Err(why) => skip("consul", &why),
    }
}
