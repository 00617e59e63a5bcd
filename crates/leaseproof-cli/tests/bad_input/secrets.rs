//! Passwords are in no file of the bundle, and on no stream, whatever owners print.

use crate::redis_server::{RedisServer, skip};
use crate::rig::{PROGRAM, Ran, Room};

/// As it is, and as it stands in a URL.
const SECRET: [&str; 2] = ["geh@im/%x", "geh%40im%2F%25x"];

#[track_caller]
fn kept_out(room: &Room, ran: &Ran) {
    for secret in SECRET {
        assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{ran:#?}");
        for path in room.files().iter().filter(|path| path.is_file()) {
            let bytes = std::fs::read(path).expect("a file");
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} is in {}", path.display());
        }
    }
}

#[test]
fn passwords_ok() {
    let server = match RedisServer::start_with(&["--requirepass", SECRET[0]]) {
        Ok(server) => server,
        Err(why) => return skip("passwords_ok", &why),
    };
    let room = Room::new();
    let url = format!("redis://:{}@127.0.0.1:{}", SECRET[1], server.port());
    let plain = SECRET[0];
    // In its environment, in an event line, in halves, and on both streams.
    let noisy = format!(
        "env; env >&2; echo \"{{\\\"lease\\\":\\\"waiting\\\",\\\"reason\\\":\\\"$LEASEPROOF_STORE\\\",\\\"grant\\\":\\\"{plain}\\\"}}\"; \
         printf 'geh'; sleep 0.1; printf '@im/%%x and {}\\n'; exec {PROGRAM} owner",
        "y".repeat(10),
    );
    let ran = room.quick_proven(&["--store", &url, "--", "sh", "-c", &noisy]);
    kept_out(&room, &ran);
    let bundle = room.bundles().pop().expect("a bundle");
    let first = room
        .files()
        .into_iter()
        .find(|path| path.starts_with(&bundle) && path.to_string_lossy().contains("owners/clean-release-a1"))
        .expect("the first owner's output");
    let kept = std::fs::read_to_string(first.with_extension("out")).expect("the owner's output");
    assert!(kept.contains("LEASEPROOF_STORE=redis://:***@127.0.0.1"), "{kept}");

    // The last words of one that ends at once.
    let ran = room.quick(&[
        "--store",
        &url,
        "--",
        "sh",
        "-c",
        "env; echo $LEASEPROOF_STORE >&2; exit 1",
    ]);
    ran.cannot_tell(&["***"]);
    kept_out(&room, &ran);

    // In its arguments.
    let ran = room.quick(&["--store", &url, "--", PROGRAM, "owner", "--store", "{store}", "--key"]);
    ran.cannot_tell(&[]);
    kept_out(&room, &ran);
    room.nothing_left(&[]);
}

#[test]
fn a_url_in_the_place_of_a_plan_is_shown_without_its_password() {
    let room = Room::new();
    for verb in ["verify", "watch"] {
        let ran = room.run(&[verb, "redis://me:geheim@127.0.0.1"]);
        ran.refused(&["the plan redis://me:***@127.0.0.1 can't be read", "--store URL"]);
        assert!(!ran.stderr.contains("geheim"), "{ran:#?}");
    }
}
