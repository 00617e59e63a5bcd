//! Two runs at the same time, on the same store and in the same folder.

use crate::redis_server::{RedisServer, skip};
use crate::rig::{Ran, Room, quick};

#[test]
fn two_runs_ok() {
    let room = Room::new();
    let server = RedisServer::start();
    let mut stores = vec!["sqlite:locks.db".to_owned()];
    match &server {
        Ok(server) => stores.push(server.url()),
        Err(why) => skip("two_runs_ok on redis", why),
    }
    for store in stores {
        let arguments = quick(&["--store", &store, "--scenario", "pause-uncontested"]);
        let pair = [room.spawn(&arguments), room.spawn(&arguments)];
        for child in pair {
            let ran: Ran = child.wait_with_output().expect("its output").into();
            ran.no_panic();
            // On a busy machine it may be unable to tell, but neither hurts the other.
            assert!(matches!(ran.code, Some(0 | 3)), "{ran:#?}");
            for fault in ["never acquired", "another key", "healed", "nobody of ours", "abandoned"] {
                assert!(
                    !ran.stdout.contains(fault) && !ran.stderr.contains(fault),
                    "{fault}: {ran:#?}"
                );
            }
        }
    }
    let wanted = if server.is_ok() { 4 } else { 2 };
    assert_eq!(room.bundles().len(), wanted, "each run has a folder of its own");
    room.nothing_left(&[]);
}
