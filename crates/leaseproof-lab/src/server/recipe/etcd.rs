//! An etcd server, or a member of several.

use super::{Recipe, by_itself, nothing, words};
use crate::server::room::Room;
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::OpenOptions;

pub(super) const RECIPE: Recipe = Recipe {
    kind: "etcd",
    variable: "LEASEPROOF_ETCD",
    program: "etcd",
    versions: None,
    most: 7,
    whole: None,
    never_root: false,
    // Leases end by the steady clock, and Go reads its clocks without libc.
    steppable: false,
    write: nothing,
    make: by_itself,
    run,
    settle: give_back,
    url: |places, _| format!("etcd://{}", places.join(",")),
};

/// More than any run writes to its log.
const KEPT: u64 = 4 << 20;

/// One member is quick to elect itself. Several must not take a busy machine for a leader that is gone: they have
/// etcd's own times.
fn run(room: &Room<'_>) -> Vec<String> {
    let at = |port: u16| format!("http://127.0.0.1:{port}");
    let (client, peer) = (at(room.ports().client), at(room.ports().peer));
    let (heartbeat, election) = if room.alone() { ("20", "200") } else { ("100", "1000") };
    let all: Vec<String> = room
        .members
        .iter()
        .enumerate()
        .map(|(number, ports)| format!("m{number}={}", at(ports.peer)))
        .collect();
    words(&[
        &room.program(),
        "--name",
        &format!("m{}", room.number),
        "--data-dir",
        &room.data(),
        "--heartbeat-interval",
        heartbeat,
        "--election-timeout",
        election,
        "--quota-backend-bytes",
        "67108864",
        "--listen-client-urls",
        &client,
        "--advertise-client-urls",
        &client,
        "--listen-peer-urls",
        &peer,
        "--initial-advertise-peer-urls",
        &peer,
        "--initial-cluster",
        &all.join(","),
    ])
}

/// It lays out its log in files of 64 MB, two at a time, whatever it is told. What lies behind all that will
/// ever be written goes back to the disk; the files stay as long as they are, and full of zeros.
fn give_back(room: &Room<'_>) {
    let log = room.data_dir().join("member/wal");
    for entry in std::fs::read_dir(log).into_iter().flatten().flatten() {
        let Ok(file) = OpenOptions::new().write(true).open(entry.path()) else {
            continue;
        };
        let length = file.metadata().map_or(0, |it| it.len());
        if length > KEPT {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // Not every disk can; then it keeps what it has.
            let _ = fallocate(&file, flags, KEPT, length - KEPT);
        }
    }
}
