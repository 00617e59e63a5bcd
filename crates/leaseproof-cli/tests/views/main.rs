//! `leaseproof inspect` and `leaseproof watch` on every store that is a server, the built program against
//! real ones: what they see, what they send, what they say to bad input.

mod bad;
mod consul;
mod etcd;
mod flood;
mod long;
mod look;
mod many_keys;
mod postgres;
mod rights;
mod tls;
mod watch;
mod wire;
mod zookeeper;

#[allow(dead_code, reason = "each test uses a part of this fixture")]
#[path = "../bad_input/rig.rs"]
mod rig;

#[allow(dead_code, reason = "each test uses a part of this fixture")]
#[path = "../watch/rig.rs"]
mod monitor;

#[allow(dead_code, reason = "each test uses a part of this fixture")]
#[path = "../inspect/owner.rs"]
mod owner;

#[allow(dead_code, reason = "each test uses a part of this fixture")]
#[path = "../inspect/tap.rs"]
mod tap;

#[path = "../../../leaseproof-store/tests/consul_server/mod.rs"]
mod consul_server;

#[path = "../../../leaseproof-store/tests/etcd_server/mod.rs"]
mod etcd_server;

#[path = "../../../leaseproof-store/tests/postgres_server/mod.rs"]
mod postgres_server;

#[path = "../../../leaseproof-store/tests/zookeeper_server/mod.rs"]
mod zookeeper_server;

#[path = "../../../leaseproof-store/tests/redis_server/mod.rs"]
mod redis_server;
