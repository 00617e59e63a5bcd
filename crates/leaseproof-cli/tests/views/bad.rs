//! Bad input for `inspect` and `watch` on every store that is a server: one clear message, exit 2 or 3, in
//! bounded time and memory.

use crate::consul_server::ConsulServer;
use crate::etcd_server::EtcdServer;
use crate::postgres_server::{PostgresServer, skip};
use crate::rig::{PROGRAM, Ran, Room};
use crate::tap::fake;
use crate::zookeeper_server::ZooKeeperServer;
use leaseproof_store::{StoreUrl, open_administrator};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

pub const KEY: &str = "canary/demo";

/// Each store's scheme, and what it is called in a question.
pub const STORES: [(&str, &str); 5] = [
    ("redis", "is it a Redis server?"),
    ("etcd", "is it an etcd server"),
    ("postgres", "is it a PostgreSQL server?"),
    ("zookeeper", "is it a ZooKeeper server?"),
    ("consul", "is it a Consul agent?"),
];

/// The program, ended after a minute (status 124): nothing here takes so long.
pub fn run(room: &Room, arguments: &[&str]) -> Ran {
    let output = Command::new("timeout")
        .args(["60", PROGRAM])
        .args(arguments)
        .current_dir(room.path())
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    Ran::from(output)
}

pub fn inspect(room: &Room, url: &str, key: &str) -> Ran {
    run(
        room,
        &["inspect", url, key, "--quiet", "--for", "200ms", "--timeout", "500ms"],
    )
}

/// Nothing but a moment, so that what can't be watched ends by itself.
pub fn watch(room: &Room, url: &str) -> Ran {
    watch_key(room, url, KEY)
}

pub fn watch_key(room: &Room, url: &str, key: &str) -> Ran {
    room.write(
        "leaseproof.toml",
        &format!("[[watch.lease]]\nkey = \"{key}\"\n[watch]\nlisten = \"127.0.0.1:0\"\n"),
    );
    run(room, &["watch", "--store", url, "--for", "1s"])
}

/// Exit 2 with a message, or 3 with an answer; and one of these words in it.
#[track_caller]
pub fn says(ran: &Ran, parts: &[&str]) {
    ran.no_panic();
    assert!(matches!(ran.code, Some(2 | 3)), "{ran:#?}");
    let said = format!("{} {}", ran.stdout, ran.stderr);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        parts.iter().any(|part| said.contains(part)),
        "none of {parts:?} in {ran:#?}"
    );
    assert!(!said.contains("falsch") && !said.contains("geheim"), "{ran:#?}");
}

#[test]
fn no_server_bad() {
    let room = Room::new();
    for (scheme, _) in STORES {
        let url = format!("{scheme}://u:falsch@127.0.0.1:1");
        let url = if scheme == "consul" {
            url.replace("u:", ":")
        } else {
            url
        };
        let ran = inspect(&room, &url, KEY);
        ran.cannot_tell(&["no store answers at", "refused"]);
        says(&ran, &["the store can't be looked at"]);
        watch(&room, &url).refused(&["no store answers at", "start it, or name another with --store URL"]);
    }
}

#[test]
fn another_protocol_bad() {
    let room = Room::new();
    for banner in [
        &b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nNot Found"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n<html>hi</html>",
        b"SSH-2.0-OpenSSH_9.2p1\r\n",
        b"-ERR unknown command\r\n",
        b"\x15\x03\x01\x00\x02\x02\x16",
        b"E\x00\x00\x00\x0bSFATAL\x00\x00",
        b"\x00\x00\x00\x04\xff\xff\xff\xff",
    ] {
        for (scheme, question) in STORES {
            let url = format!("{scheme}://127.0.0.1:{}", fake(banner));
            // What is no answer at all may also be told as a connection that was closed.
            let parts = [question, "no store answers at", "refuses", "ERR unknown command"];
            says(&inspect(&room, &url, KEY), &parts);
            says(&watch(&room, &url), &parts);
        }
    }
}

/// What has no header is no etcd: nothing may be made of it, not even that nobody holds the key.
#[test]
fn answers_that_say_nothing_bad() {
    let room = Room::new();
    for (scheme, question) in STORES
        .into_iter()
        .filter(|(scheme, _)| ["etcd", "consul"].contains(scheme))
    {
        let empty = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        let url = format!("{scheme}://127.0.0.1:{}", fake(empty));
        inspect(&room, &url, KEY).refused(&[question]);
        watch(&room, &url).refused(&[question]);
    }
}

#[test]
fn answers_that_never_come_or_break_off_bad() {
    let room = Room::new();
    for (scheme, _) in STORES {
        let url = format!("{scheme}://127.0.0.1:{}", fake(b""));
        says(
            &inspect(&room, &url, KEY),
            &["no answer within 500ms", "did not answer within 500ms"],
        );
        says(&watch(&room, &url), &["no answer within", "did not answer within"]);
    }
    for (scheme, cut) in [
        (
            "etcd",
            &b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"header\":"[..],
        ),
        ("etcd", b"HTTP/1.1 200 OK\r\nContent-Length: 2000000000\r\n\r\n{"),
        (
            "consul",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n\"127.0",
        ),
        ("postgres", b"R\x00\x00\x00"),
        ("postgres", b"R\x7f\xff\xff\xff\x00"),
        ("zookeeper", b"\x00\x00\x00\x25\x00\x00\x00\x00\x00"),
        ("zookeeper", b"\x7f\xff\xff\xff\x00\x00\x00\x00\x00"),
    ] {
        let url = format!("{scheme}://127.0.0.1:{}", fake(cut));
        let parts = [
            "broke off",
            "no store answers at",
            "is it a",
            "refuses",
            "no answer within",
        ];
        says(&inspect(&room, &url, KEY), &parts);
        says(&watch(&room, &url), &parts);
    }
}

#[test]
fn keys_that_are_no_text_bad() {
    let room = Room::new();
    let look = |url: &str| {
        run(
            &room,
            &[
                "inspect",
                url,
                "--key-hex",
                "6c6f636bff",
                "--quiet",
                "--for",
                "200ms",
                "--timeout",
                "20s",
            ],
        )
    };
    let monitor = |url: &str| {
        let listen = ["--listen", "127.0.0.1:0", "--for", "1s"];
        let all = ["watch", "--store", url, "--key-hex", "6c6f636bff"];
        run(&room, &[&all[..], &listen].concat())
    };
    let refused = ["the key lock\\xff can't be looked at here: this store's keys are text, and it is no UTF-8"];
    match PostgresServer::start() {
        Ok(server) => {
            let url: StoreUrl = server.url().parse().expect("a URL");
            let mut store = open_administrator(&url, Duration::from_secs(10)).expect("the store");
            store.prepare().expect("ready");
            look(&server.url()).refused(&refused);
            monitor(&server.url()).refused(&refused);
        }
        Err(why) => skip("keys_that_are_no_text_bad", &why),
    }
    match ZooKeeperServer::start() {
        Ok(server) => {
            look(&server.url()).refused(&refused);
            monitor(&server.url()).refused(&refused);
        }
        Err(why) => skip("keys_that_are_no_text_bad", &why),
    }
    match ConsulServer::start() {
        Ok(server) => {
            look(&server.url()).refused(&refused);
            monitor(&server.url()).refused(&refused);
        }
        Err(why) => skip("keys_that_are_no_text_bad", &why),
    }
    match EtcdServer::start() {
        // Its keys are bytes.
        Ok(server) => {
            look(&server.url()).cannot_tell(&["lock\\xff", "the key is not there"]);
            monitor(&server.url()).cannot_tell(&["no reading shows it held: lock\\xff"]);
            // `lock\xff`, without a lease.
            let body = r#"{"key":"bG9ja/8=","value":"YSMx"}"#;
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port())).expect("it listens");
            let length = body.len();
            let question = format!("POST /v3/kv/put HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}");
            stream.write_all(question.as_bytes()).expect("it is sent");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("an answer");
            assert!(answer.contains("200 OK"), "{answer}");
            monitor(&server.url()).cannot_tell(&["it is held and never ends by itself: lock\\xff"]);
        }
        Err(why) => skip("keys_that_are_no_text_bad", &why),
    }
}

#[test]
fn etcd_bad() {
    let room = Room::new();
    let server = match EtcdServer::start() {
        Ok(server) => server,
        Err(why) => return skip("etcd_bad", &why),
    };
    let place = format!("127.0.0.1:{}", server.port());
    says(
        &inspect(&room, &format!("etcd://u:falsch@{place}"), KEY),
        &["this server asks for no login"],
    );
    server.cli(&["user", "add", "root:geheim"]);
    server.cli(&["user", "grant-role", "root", "root"]);
    server.cli(&["user", "add", "nobody:geheim"]);
    server.cli(&["auth", "enable"]);
    for (login, part) in [
        ("", "put user and password into the URL"),
        ("root:falsch@", "user or password of the URL are wrong"),
        ("wer:falsch@", "user or password of the URL are wrong"),
        ("nobody:geheim@", "this user lacks a permission"),
    ] {
        let url = format!("etcd://{login}{place}");
        // A hash of a password takes a busy machine a while.
        let all = ["inspect", &url, KEY, "--quiet", "--for", "200ms", "--timeout", "20s"];
        run(&room, &all).refused(&[part]);
        // An answer may take as long as the interval.
        let all = [
            "watch",
            "--store",
            &url,
            "--key",
            KEY,
            "--listen",
            "127.0.0.1:0",
            "--interval",
            "20s",
            "--for",
            "1s",
        ];
        run(&room, &all).refused(&[part]);
    }
}

#[test]
fn postgres_bad() {
    let room = Room::new();
    let server = match PostgresServer::start() {
        Ok(server) => server,
        Err(why) => return skip("postgres_bad", &why),
    };
    inspect(&room, &server.url(), KEY).refused(&["there is no table of leases"]);
    let url: StoreUrl = server.url().parse().expect("a URL");
    let mut store = open_administrator(&url, Duration::from_secs(10)).expect("the store");
    store.prepare().expect("ready");
    server.psql("CREATE ROLE nobody LOGIN PASSWORD 'geheim'; CREATE TABLE other (key text, value text)");
    // A byte that no text of PostgreSQL has.
    let nul = "a text of PostgreSQL has no NUL byte";
    run(&room, &["inspect", &server.url(), "--key-hex", "610062", "--quiet"]).refused(&["the key a\\x00b", nul]);
    let all = [
        "watch",
        "--store",
        &server.url(),
        "--key-hex",
        "610062",
        "--for",
        "1s",
        "--listen",
        "127.0.0.1:0",
    ];
    let ran = run(&room, &all);
    assert!(
        matches!(ran.code, Some(2 | 3)) && format!("{}{}", ran.stdout, ran.stderr).contains(nul),
        "{ran:#?}"
    );
    let place = format!("127.0.0.1:{}", server.port());
    for (url, part) in [
        (
            format!("postgres://nobody:falsch@{place}/postgres"),
            "look at user and password of the URL",
        ),
        (
            format!("postgres://wer:falsch@{place}/postgres"),
            "look at user and password of the URL",
        ),
        (format!("postgres://nobody@{place}/postgres"), "it wants a password"),
        (
            format!("postgres://nobody:geheim@{place}/postgres"),
            "this user lacks a permission",
        ),
        (
            format!("postgres://postgres@{place}/nowhere"),
            "name a database that is there",
        ),
        (
            format!("postgres://postgres@{place}/postgres?table=other"),
            "other is no table of leases",
        ),
        (
            format!("postgres://postgres@{place}/postgres?sslmode=verify-full"),
            "it speaks no TLS",
        ),
    ] {
        inspect(&room, &url, KEY).refused(&[part]);
        watch(&room, &url).refused(&[part]);
    }
    server.freeze();
    let ran = inspect(&room, &server.url(), KEY);
    server.thaw();
    // The time-out that was given, whatever a process costs the server.
    ran.cannot_tell(&["no answer within 500ms"]);
}

#[test]
fn zookeeper_bad() {
    let room = Room::new();
    let server = match ZooKeeperServer::start() {
        Ok(server) => server,
        Err(why) => return skip("zookeeper_bad", &why),
    };
    server.cli("create /hidden x digest:other:kXw4u0Ck3iN8Nw4Fq6h1mHkYp3w=:cdrwa");
    // Any name and any password make a user here: one that may not use the node.
    for (login, part) in [
        ("", "give user and password, zookeeper://user:password@host"),
        (
            "me:falsch@",
            "look at user and password of the URL, and at the node's ACL",
        ),
    ] {
        let url = format!("zookeeper://{login}127.0.0.1:{}", server.port());
        let says = ["this user may not use the key hidden", part];
        inspect(&room, &url, "hidden").refused(&says);
        watch_key(&room, &url, "hidden").refused(&says);
    }
    server.freeze();
    let ran = inspect(&room, &server.url(), KEY);
    server.thaw();
    ran.cannot_tell(&["no answer within 500ms"]);
}

#[test]
fn consul_bad() {
    let room = Room::new();
    let settings = r#", "acl": {"enabled": true, "default_policy": "deny", "tokens": {"master": "geheim"}}"#;
    let server = match ConsulServer::start_with(settings) {
        Ok(server) => server,
        Err(why) => return skip("consul_bad", &why),
    };
    let place = format!("127.0.0.1:{}", server.port());
    // A key that is there: nothing else is hidden.
    crate::rig::until("the master token is there", || {
        server
            .http("PUT", &format!("/v1/kv/{KEY}?token=geheim"), "x")
            .contains("true")
    });
    for (login, part) in [
        (
            "",
            "it wants a token, and the URL has none: give one, consul://:token@host",
        ),
        (":falsch@", "it does not know the token of the URL"),
        (":anonymous@", "the token of the URL may not do this"),
    ] {
        let url = format!("consul://{login}{place}");
        inspect(&room, &url, KEY).refused(&[part]);
        watch(&room, &url).refused(&[part]);
    }
    server.freeze();
    let ran = inspect(&room, &format!("consul://:geheim@{place}"), KEY);
    server.thaw();
    says(&ran, &["did not answer within", "no answer within"]);
}
