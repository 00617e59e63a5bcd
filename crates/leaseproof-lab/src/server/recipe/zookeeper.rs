//! A ZooKeeper server, or a member of several.

use super::{Recipe, by_itself, settled, words};
use crate::server::room::Room;
use std::fmt::Write as _;
use std::io;

pub(super) const RECIPE: Recipe = Recipe {
    kind: "zookeeper",
    variable: "LEASEPROOF_ZOOKEEPER",
    program: "zookeeper-java",
    versions: None,
    most: 7,
    whole: None,
    never_root: false,
    // Sessions end by the steady clock.
    steppable: false,
    write,
    make: by_itself,
    run,
    settle: settled,
    url: |places, _| format!("zookeeper://{}", places.join(",")),
};

/// A tick, in ms: sessions are ended once a tick, and last for two at least.
const TICK: u32 = 100;

/// A follower that hears nothing from its leader for so many ticks looks for another.
const SYNC: u32 = 10;

fn write(room: &Room<'_>) -> io::Result<()> {
    let mut config = format!(
        "tickTime={TICK}\ndataDir={}\nclientPort={}\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n\
         admin.enableServer=false\n4lw.commands.whitelist=srvr,conf\nmaxSessionTimeout=3600000\n\
         standaloneEnabled=true\n",
        room.data(),
        room.ports().client
    );
    if !room.alone() {
        // A virtual machine takes seconds to start on a busy machine: the first to be up wait for the others.
        let _ = writeln!(config, "initLimit=300\nsyncLimit={SYNC}");
        for (number, ports) in room.members.iter().enumerate() {
            let (peer, more) = (ports.peer, ports.more);
            // Writing to a String can't fail.
            let _ = writeln!(config, "server.{}=127.0.0.1:{peer}:{more}", number + 1);
        }
        std::fs::write(room.data_dir().join("myid"), (room.number + 1).to_string())?;
    }
    std::fs::write(room.dir().join("zoo.cfg"), config)
}

/// What it has written outlives its own end by a signal, so that nothing needs to be forced to the disk.
fn run(room: &Room<'_>) -> Vec<String> {
    words(&[
        &room.program(),
        "-Dzookeeper.forceSync=no",
        "-Dzookeeper.preAllocSize=64",
        &format!("-Djava.io.tmpdir={}", room.dir().display()),
        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        &room.dir().join("zoo.cfg").display().to_string(),
    ])
}
