//! A store that can't be used: refused before anything starts, with what to do.

use crate::redis_server::{RedisServer, skip};
use crate::rig::Room;

#[test]
fn not_there_bad() {
    let room = Room::new();
    // Port 1 on loopback: nobody listens.
    room.quick(&["--store", "redis://127.0.0.1:1"]).refused(&[
        "no store answers at redis://127.0.0.1:1",
        "start it, or name another with --store URL",
    ]);
    room.quick(&["--store", "etcd://me:geheim@127.0.0.1:1"]).refused(&[
        "no store answers at etcd://me:***@127.0.0.1:1",
        "start it, or name another with --store URL",
    ]);
    room.quick(&["--store", "sqlite:/proc/nope/locks.db"]).refused(&[
        "the folder /proc/nope of the store can't be used",
        "--store sqlite:PATH",
    ]);
    room.write("file", "");
    room.quick(&["--store", "sqlite:file/locks.db"])
        .refused(&["the folder file of the store can't be used"]);
    for folder in ["sqlite:.", "sqlite:/tmp", "sqlite:/tmp/"] {
        room.quick(&["--store", folder])
            .refused(&["is a folder", "name a file in it: sqlite:", "/locks.db"]);
    }
    assert_eq!(room.files().len(), 1);
}

#[test]
fn password_bad() {
    let server = match RedisServer::start_with(&["--requirepass", "geheim"]) {
        Ok(server) => server,
        Err(why) => return skip("password_bad", &why),
    };
    let room = Room::new();
    let port = server.port();
    room.quick(&["--store", &server.url()])
        .refused(&["NOAUTH", "put the password into the URL"]);
    let ran = room.quick(&["--store", &format!("redis://:falsch@127.0.0.1:{port}")]);
    ran.refused(&["user or password of the URL are wrong"]);
    assert!(!ran.stderr.contains("falsch"), "{ran:#?}");
    assert!(room.files().is_empty());
}

#[test]
fn foreign_keys_bad() {
    let server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return skip("foreign_keys_bad", &why),
    };
    let room = Room::new();
    server.cli(&["set", "customer:1", "x"]);
    room.quick(&["--store", &server.url()]).refused(&[
        "holds 1 key outside the canary prefix `canary/`",
        "--allow-shared-store",
    ]);
    assert!(room.files().is_empty());
    room.quick_proven(&["--store", &server.url(), "--allow-shared-store"]);
    // Nothing but what was there before.
    assert_eq!(server.cli(&["--scan"]), "customer:1");
    // Another database of the same server is empty.
    room.quick_proven(&["--store", &format!("{}/3", server.url())]);
    room.nothing_left(&[]);
}

#[test]
fn replica_bad() {
    let (server, primary) = match (RedisServer::start(), RedisServer::start()) {
        (Ok(server), Ok(primary)) => (server, primary),
        (Err(why), _) | (_, Err(why)) => return skip("replica_bad", &why),
    };
    server.cli(&["replicaof", "127.0.0.1", &primary.port().to_string()]);
    let room = Room::new();
    room.quick(&["--store", &server.url()])
        .refused(&["is a replica of 127.0.0.1:", "give the primary's URL"]);
    assert!(room.files().is_empty());
}

/// `rediss://` against a server with a certificate of its own, which names `localhost` and not the relay
/// that stands between owner and store.
#[test]
fn tls_ok() {
    let room = Room::new();
    let (key, cert) = match room.certificate("server") {
        Ok(made) => made,
        Err(why) => return skip("tls_ok", &why),
    };
    let (key, cert) = (key.as_str(), cert.as_str());
    let settings = [
        "--port",
        "0",
        "--tls-port",
        "{port}",
        "--tls-cert-file",
        cert,
        "--tls-key-file",
        key,
        "--tls-auth-clients",
        "no",
        "--requirepass",
        "geheim",
    ];
    let server = match RedisServer::start_with(&settings) {
        Ok(server) => server,
        Err(why) => return skip("tls_ok", &format!("redis-server without TLS? {why}")),
    };
    let port = server.port();
    let url = format!("rediss://:geheim@localhost:{port}");
    room.quick(&["--store", &url]).refused(&["certificate", "?ca=FILE.pem"]);
    let plain = url.replace("rediss", "redis");
    room.quick(&["--store", &plain])
        .refused(&["this port wants TLS (rediss:// asks for it)"]);
    room.quick(&["--store", &format!("{url}?ca=nope.pem")])
        .refused(&["nope.pem"]);
    room.quick_proven(&["--store", &format!("{url}?ca={cert}")]);
    room.nothing_left(&["server.key", "server.pem"]);
}
