//! A Consul server, or a member of several.

use super::{Recipe, by_itself, settled, words};
use crate::server::room::Room;
use std::io;

pub(super) const RECIPE: Recipe = Recipe {
    kind: "consul",
    variable: "LEASEPROOF_CONSUL",
    program: "consul",
    versions: None,
    most: 7,
    whole: None,
    never_root: false,
    // Sessions end by the steady clock, and Go reads its clocks without libc.
    steppable: false,
    write,
    make: by_itself,
    run,
    settle: settled,
    url: |places, _| format!("consul://{}", places.join(",")),
};

/// The agent itself keeps what a restart needs; its least TTL of 10 s stays, as everywhere.
fn write(room: &Room<'_>) -> io::Result<()> {
    let ports = room.ports();
    let config = serde_json::json!({
        "server": true,
        "bootstrap_expect": room.members.len(),
        "node_name": format!("m{}", room.number),
        "datacenter": "leaseproof",
        "data_dir": room.data(),
        "bind_addr": "127.0.0.1",
        "client_addr": "127.0.0.1",
        "disable_update_check": true,
        // Several on one host would have one name.
        "disable_host_node_id": true,
        "performance": { "raft_multiplier": 1 },
        "ports": {
            "http": ports.client, "server": ports.peer, "serf_lan": ports.more,
            "serf_wan": -1, "dns": -1, "grpc": -1, "https": -1,
        },
        "retry_join": room.others().map(|ports| format!("127.0.0.1:{}", ports.more)).collect::<Vec<_>>(),
        "retry_interval": "500ms",
    });
    std::fs::write(room.dir().join("agent.json"), config.to_string())
}

fn run(room: &Room<'_>) -> Vec<String> {
    let config = room.dir().join("agent.json").display().to_string();
    words(&[&room.program(), "agent", "-config-file", &config])
}
