//! A Redis server.

use super::{Recipe, by_itself, nothing, settled, words};
use crate::server::room::Room;

pub(super) const RECIPE: Recipe = Recipe {
    kind: "redis",
    variable: "LEASEPROOF_REDIS_SERVER",
    program: "redis-server",
    versions: None,
    most: 1,
    whole: None,
    never_root: false,
    steppable: true,
    write: nothing,
    make: by_itself,
    run,
    settle: settled,
    url: |places, _| format!("redis://{}", places.join(",")),
};

/// It answers a write only when that is on the disk: else what a restart loses would be its own doing.
fn run(room: &Room<'_>) -> Vec<String> {
    words(&[
        &room.program(),
        "--port",
        &room.ports().client.to_string(),
        "--dir",
        &room.data(),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
    ])
}
