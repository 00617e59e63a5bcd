//! Bad input: one clear message, exit 2 or 3, in bounded time and memory.

use crate::redis_server::{RedisServer, skip};
use crate::rig::{PROGRAM, Ran, Room};
use crate::tap::{ask, fake};
use std::process::Command;

const KEY: &str = "canary/demo";

/// The server, or the end of the test.
macro_rules! server {
    ($test:expr) => {
        server!($test, &[])
    };
    ($test:expr, $settings:expr) => {
        match RedisServer::start_with($settings) {
            Ok(server) => server,
            Err(why) => return skip($test, &why),
        }
    };
}

impl Ran {
    /// Refused by the argument parser.
    #[track_caller]
    pub fn refused_by_clap(&self, part: &str) {
        assert_eq!(self.code, Some(2), "{self:#?}");
        assert!(self.stderr.contains(part), "{self:#?}");
    }
}

fn look(room: &Room, url: &str, more: &[&str]) -> Ran {
    let all = ["inspect", url, KEY, "--quiet", "--for", "200ms"];
    room.run(&all.iter().chain(more).copied().collect::<Vec<_>>())
}

#[test]
fn no_server_bad() {
    let room = Room::new();
    let ran = look(&room, "redis://127.0.0.1:1", &[]);
    ran.cannot_tell(&[
        "cannot tell: the store can't be looked at",
        "no store answers at redis://127.0.0.1:1",
        "the store:",
    ]);
    let ran = look(&room, "redis://127.0.0.1:1", &["--json"]);
    assert_eq!(
        (ran.code, ran.json()["first"]["side"].as_str()),
        (Some(3), Some("store"))
    );
    look(&room, "sqlite:nope.db", &[]).refused(&["nope.db", "sqlite:PATH"]);
    room.write("empty.db", "");
    look(&room, "sqlite:empty.db", &[]).refused(&["no table of leases"]);
    room.write("text.db", &"no database ".repeat(100));
    look(&room, "sqlite:text.db", &[]).refused(&["text.db"]);
}

#[test]
fn calls_bad() {
    let room = Room::new();
    room.run(&["inspect"]).refused_by_clap("<URL>");
    room.run(&["inspect", "redis://127.0.0.1:1"]).refused_by_clap("<KEY>");
    for words in [
        &["--store", "redis://:geheim@127.0.0.1:1", "--key", "k"][..],
        &["--key=k", "redis://127.0.0.1:1"],
    ] {
        let ran = room.run(&[&["inspect"], words].concat());
        ran.refused_by_clap("the store and the key are given in order: leaseproof inspect URL KEY");
        assert!(!ran.stderr.contains("geheim"), "{ran:#?}");
    }
    room.run(&["inspect", "127.0.0.1", "k"]).refused(&["has no scheme"]);
    room.run(&["inspect", "redis://127.0.0.1:1", ""])
        .refused(&["the key is empty"]);
    for (arguments, part) in [
        (["--for", "3"], "has no unit"),
        (["--for", "2h"], "is not between"),
        (["--timeout", "0s"], "is not between"),
        (["--plan", "nope.toml"], "can't be read"),
        (["--owner-pid", "4194304"], "there is no such process on this host"),
    ] {
        let all = ["inspect", "redis://127.0.0.1:1", KEY, arguments[0], arguments[1]];
        room.run(&all).refused(&[part]);
    }
}

#[test]
fn another_protocol_bad() {
    let room = Room::new();
    for (banner, part) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"[..],
            "it answers in HTTP: is it a Redis server?",
        ),
        (
            b"SSH-2.0-OpenSSH_9.2p1\r\n",
            "it answers in another protocol: is it a Redis server?",
        ),
        (
            b"\x15\x03\x01\x00\x02\x02\x16",
            "it answers in TLS, which rediss:// asks for",
        ),
    ] {
        let port = fake(banner);
        look(&room, &format!("redis://127.0.0.1:{port}"), &[]).refused(&[part]);
    }
    let server = server!("another_protocol_bad");
    // A real one closes without a word.
    for (scheme, part) in [("etcd", "is it an etcd server"), ("consul", "is it a Consul agent?")] {
        let ran = look(&room, &format!("{scheme}://127.0.0.1:{}", server.port()), &[]);
        let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((ran.code, said.matches(part).count()), (Some(3), 1), "{ran:#?}");
    }
    let port = fake(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let ran = look(&room, &format!("rediss://127.0.0.1:{port}"), &[]);
    assert!(matches!(ran.code, Some(2 | 3)), "{ran:#?}");
}

#[test]
fn answers_that_never_come_or_break_off_bad() {
    let room = Room::new();
    let never = fake(b"");
    look(&room, &format!("redis://127.0.0.1:{never}"), &["--timeout", "200ms"])
        .cannot_tell(&["no answer within 200ms"]);
    // The first INFO breaks off in its middle.
    let cut = fake(b"$1000\r\n# Server\r\nredis_version:7.0.15\r\n");
    look(&room, &format!("redis://127.0.0.1:{cut}"), &["--timeout", "500ms"])
        .cannot_tell(&["no store answers", "broke off in the middle"]);
    let server = server!("answers_that_never_come_or_break_off_bad");
    server.freeze();
    let ran = look(&room, &server.url(), &["--timeout", "200ms"]);
    server.thaw();
    ran.cannot_tell(&["no answer within 200ms"]);
}

#[test]
fn credentials_bad() {
    let server = server!("credentials_bad", &["--requirepass", "geheim"]);
    let room = Room::new();
    let port = server.port();
    look(&room, &server.url(), &[]).refused(&["NOAUTH", "put the password into the URL"]);
    for login in [":falsch", "wer:falsch"] {
        let ran = look(&room, &format!("redis://{login}@127.0.0.1:{port}"), &[]);
        ran.refused(&["user or password of the URL are wrong"]);
        assert!(!ran.stderr.contains("falsch"), "{ran:#?}");
    }
    look(&room, &format!("redis://:geheim@127.0.0.1:{port}/99"), &[]).refused(&["out of range"]);
    let ran = look(&room, &format!("redis://:geheim@127.0.0.1:{port}"), &["--json"]);
    assert_eq!(ran.code, Some(3), "{ran:#?}");
    assert!(!ran.stdout.contains("geheim"), "{ran:#?}");
    assert!(ran.stdout.contains("REDISCLI_AUTH"), "{ran:#?}");
}

#[test]
fn permissions_bad() {
    let server = server!("permissions_bad");
    let room = Room::new();
    // May read elsewhere; may not read a consistent triple; may do nothing.
    for (name, rules) in [
        (
            "elsewhere",
            &["~other*", "+@read", "+@transaction", "+time", "+info"][..],
        ),
        ("half", &["~*", "+@read", "+info"]),
        ("nothing", &["~*", "+ping"]),
    ] {
        let mut command = vec!["ACL", "SETUSER", name, "on", ">pw", "-@all"];
        command.extend(rules);
        server.cli(&command);
        let ran = look(&room, &format!("redis://{name}:pw@127.0.0.1:{}", server.port()), &[]);
        let says = ["refuses: NOPERM", "ACL SETUSER NAME on >PASSWORD"];
        ran.refused(&says);
        let url = format!("redis://{name}:pw@127.0.0.1:{}", server.port());
        let more = ["--listen", "127.0.0.1:0", "--for", "1s"];
        room.run(&[&["watch", "--store", &url, "--key", KEY][..], &more].concat())
            .refused(&says);
    }
}

#[test]
fn certificates_bad() {
    let room = Room::new();
    let made = room
        .certificate("server")
        .and_then(|own| Ok((own, room.certificate("other")?.1)));
    let ((key, cert), other) = match made {
        Ok(made) => made,
        Err(why) => return skip("certificates_bad", &why),
    };
    let settings = [
        "--port",
        "0",
        "--tls-port",
        "{port}",
        "--tls-cert-file",
        &cert,
        "--tls-key-file",
        &key,
        "--tls-auth-clients",
        "no",
    ];
    let server = server!("certificates_bad", &settings);
    let url = format!("rediss://localhost:{}", server.port());
    look(&room, &url, &[]).refused(&["certificate", "?ca=FILE.pem"]);
    look(&room, &format!("{url}?ca={other}"), &[]).refused(&["certificate"]);
    look(
        &room,
        &format!("{}?ca={cert}", url.replace("localhost", "127.0.0.1")),
        &[],
    )
    .refused(&["certificate", "server_name"]);
    look(&room, &format!("{url}?ca=nope.pem"), &[]).refused(&["nope.pem"]);
    // Plain to a TLS port: something answers, and it is no Redis.
    let ran = look(&room, &url.replace("rediss", "redis"), &[]);
    assert!(matches!(ran.code, Some(2 | 3)), "{ran:#?}");
    look(&room, &format!("{url}?ca={cert}"), &[]).cannot_tell(&["PTTL −2"]);
}

#[test]
fn keys_bad() {
    let server = server!("keys_bad");
    let room = Room::new();
    let port = server.port();
    let look = |key: &str| room.run(&["inspect", &server.url(), key, "--quiet", "--for", "200ms"]);
    server.cli(&["-n", "3", "SET", "elsewhere", "x"]);
    look("absent").cannot_tell(&["PTTL −2: the key is not there", "no keys (database 3 has 1)"]);
    server.cli(&["SET", "forever", "geheim"]);
    let ran = look("forever");
    ran.cannot_tell(&["PTTL −1: the key is there and has no expiry", "LP012"]);
    assert!(!ran.stdout.contains("geheim"), "{ran:#?}");
    server.cli(&["HSET", "redisson", "geheim:1", "1"]);
    server.cli(&["PEXPIRE", "redisson", "60000"]);
    let ran = look("redisson");
    ran.cannot_tell(&[
        "a hash (field count 1)",
        "this is no plain lease: the key holds a hash",
        "stored as listpack",
        "ms are left",
    ]);
    assert!(!ran.stdout.contains("geheim"), "{ran:#?}");
    server.cli(&["RPUSH", "list", "1", "2"]);
    look("list").cannot_tell(&["a list (element count 2)", "PTTL −1"]);
    ask(port, &[b"SETBIT", b"huge", b"4294967290", b"1"]);
    look("huge").cannot_tell(&["a string of 536870912 bytes, too long for a holder's name: not read"]);
    // A value of another encoding is no holder's name: its hash is shown.
    ask(port, &[b"SET", b"bytes", b"\xff\xfe\x00", b"PX", b"60000"]);
    look("bytes").cannot_tell(&["holder value#"]);
}

#[test]
fn a_million_keys_in_bounded_memory_ok() {
    let server = server!(
        "a_million_keys_in_bounded_memory_ok",
        &["--enable-debug-command", "yes"]
    );
    assert_eq!(server.cli(&["DEBUG", "POPULATE", "1000000", "canary/"]), "OK");
    for key in ["canary/", "canary/:77"] {
        let command = format!(
            "ulimit -v 400000; exec {PROGRAM} inspect {} {key} --quiet --for 300ms",
            server.url()
        );
        let output = Command::new("sh").args(["-c", &command]).output().expect("it runs");
        Ran::from(output).cannot_tell(&["database 0: keys 1000000"]);
    }
}
