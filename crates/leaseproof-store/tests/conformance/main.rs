//! One list of what a store must do, run on each store against the real thing. Owner and observer
//! share an adapter, so each promise is also read back by the store's own tools.

mod administration;
mod answers;
#[cfg(feature = "consul")]
#[path = "../consul_server/mod.rs"]
mod consul_server;
mod ends;
#[cfg(feature = "etcd")]
#[path = "../etcd_server/mod.rs"]
mod etcd_server;
mod grants;
#[cfg(feature = "postgres")]
#[path = "../postgres_server/mod.rs"]
mod postgres_server;
mod readings;
#[path = "../redis_many/mod.rs"]
mod redis_many;
#[path = "../redis_server/mod.rs"]
mod redis_server;
mod rig;
mod stores;
mod tokens;
#[cfg(feature = "zookeeper")]
#[path = "../zookeeper_server/mod.rs"]
mod zookeeper_server;

use rig::Rig;
use std::time::Duration;

/// Longer than any test: such a lease does not end by itself.
const LONG: Duration = Duration::from_secs(600);

type Case = (&'static str, fn(&Rig, &str));

const CASES: &[Case] = &[
    ("a grant shows holder, token and expiry", grants::grant),
    ("a held lease is refused", grants::refuse),
    ("only this very grant renews", grants::renew),
    ("a lease ends by itself and a late holder is refused", ends::expire),
    ("a late holder does not touch its successor", ends::late),
    ("a released lease is free at once", grants::release),
    ("tokens rise across release, expiry, removal and theft", tokens::tokens),
    ("a theft replaces the holder", administration::steal),
    ("a removal leaves the counter", administration::delete),
    ("a lease without TTL is seen as such", ends::endless),
    ("a change is bracketed by the reading before", readings::bracket),
    ("two clients race and never both win", tokens::race),
    ("clean-up removes only what it names", administration::clean),
    ("foreign keys are counted", administration::foreign),
    ("a store that does not answer is an outcome", readings::unknown),
    ("a new connection holds the old grant", grants::reconnect),
    ("names are text, whatever they hold", grants::hostile),
];

fn run(store: &str, rig: &Rig) {
    for (number, (name, case)) in CASES.iter().enumerate() {
        println!("{store}: {name}");
        case(rig, &format!("canary/{number}"));
    }
}
