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

const KEY: &str = "canary/demo";

/// Each store's scheme, and what it is called in a question.
const STORES: [(&str, &str); 5] = [
    ("redis", "is it a Redis server?"),
    ("etcd", "is it an etcd server"),
    ("postgres", "is it a PostgreSQL server?"),
    ("zookeeper", "is it a ZooKeeper server?"),
    ("consul", "is it a Consul agent?"),
];

/// The program, ended after a minute (status 124): nothing here takes so long.
fn run(room: &Room, arguments: &[&str]) -> Ran {
    let output = Command::new("timeout")
        .args(["60", PROGRAM])
        .args(arguments)
        .current_dir(room.path())
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    Ran::from(output)
}

fn inspect(room: &Room, url: &str, key: &str) -> Ran {
    run(
        room,
        &["inspect", url, key, "--quiet", "--for", "200ms", "--timeout", "500ms"],
    )
}

/// Nothing but a moment, so that what can't be watched ends by itself.
fn watch(room: &Room, url: &str) -> Ran {
    room.write(
        "leaseproof.toml",
        &format!("[[watch.lease]]\nkey = \"{KEY}\"\n[watch]\nlisten = \"127.0.0.1:0\"\n"),
    );
    run(room, &["watch", "--store", url, "--for", "1s"])
}

/// Exit 2 with a message, or 3 with an answer; and one of these words in it.
#[track_caller]
fn says(ran: &Ran, parts: &[&str]) {
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
            &["inspect", url, "--key-hex", "6c6f636bff", "--quiet", "--for", "200ms"],
        )
    };
    let refused = ["the key lock\\xff is no UTF-8, and this store's keys are text"];
    match PostgresServer::start() {
        Ok(server) => look(&server.url()).refused(&refused),
        Err(why) => skip("keys_that_are_no_text_bad", &why),
    }
    match ZooKeeperServer::start() {
        Ok(server) => look(&server.url()).refused(&refused),
        Err(why) => skip("keys_that_are_no_text_bad", &why),
    }
    match ConsulServer::start() {
        Ok(server) => look(&server.url()).refused(&refused),
        Err(why) => skip("keys_that_are_no_text_bad", &why),
    }
    match EtcdServer::start() {
        // Its keys are bytes.
        Ok(server) => look(&server.url()).cannot_tell(&["lock\\xff", "the key is not there"]),
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
        // What a user may not read is told when it is read, and may be allowed meanwhile.
        says(&watch(&room, &format!("etcd://{login}{place}")), &[part]);
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
        says(&watch(&room, &url), &[part]);
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
    for login in ["", "me:falsch@"] {
        let url = format!("zookeeper://{login}127.0.0.1:{}", server.port());
        inspect(&room, &url, "hidden").refused(&["this user may not use the key hidden"]);
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
        ("", "the token of the URL may not do this"),
        (":falsch@", "it does not know the token of the URL"),
    ] {
        let url = format!("consul://{login}{place}");
        inspect(&room, &url, KEY).refused(&[part]);
        says(&watch(&room, &url), &[part]);
    }
    server.freeze();
    let ran = inspect(&room, &format!("consul://:geheim@{place}"), KEY);
    server.thaw();
    says(&ran, &["did not answer within", "no answer within"]);
}

/// Something that speaks TLS with a certificate of its own, whatever is spoken inside.
struct Tls(std::process::Child, u16);

impl Tls {
    fn start(key: &str, cert: &str) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--", "openssl", "s_server", "-quiet", "-accept"])
            .arg(format!("127.0.0.1:{port}"))
            .args(["-key", key, "-cert", cert])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl was there a moment ago");
        crate::rig::until("it listens", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self(child, port)
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
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
    let tls = Tls::start(&key, &cert);
    let mut urls: Vec<String> = ["rediss", "etcds", "zookeepers", "consuls"]
        .map(|scheme| format!("{scheme}://localhost:{}?ca={other}", tls.1))
        .into();
    let postgres = PostgresServer::start().map(|mut server| {
        for (name, from) in [("server.key", &key), ("server.pem", &cert)] {
            std::fs::copy(from, server.folder().join(name)).expect("a copy");
            server.own_file(name);
        }
        let file = |name: &str| server.folder().join(name).display().to_string();
        let settings = format!(
            "ALTER SYSTEM SET ssl_key_file = '{}'; ALTER SYSTEM SET ssl_cert_file = '{}'; ALTER SYSTEM SET ssl = on",
            file("server.key"),
            file("server.pem")
        );
        for statement in settings.split("; ") {
            server.psql(statement);
        }
        server.kill();
        server.start_again();
        server
    });
    match &postgres {
        Ok(server) => urls.push(format!(
            "postgres://postgres@localhost:{}/postgres?sslmode=verify-full&ca={other}",
            server.port()
        )),
        Err(why) => skip("certificates_bad", why),
    }
    for url in urls {
        inspect(&room, &url, KEY).refused(&["certificate", "?ca=FILE.pem"]);
        says(&watch(&room, &url), &["certificate"]);
        // And one that is trusted, of another name.
        let named = url.replace(&other, &cert) + "&server_name=example.com";
        inspect(&room, &named, KEY).refused(&["certificate", "example.com"]);
    }
}

/// A hundred thousand keys below `shards/`; a thousand of them are watched.
const MANY: usize = 100_000;

/// Watches them with no more memory than this (in KiB, threads' stacks and arenas included).
fn watches_many(room: &Room, url: &str) {
    room.write(
        "leaseproof.toml",
        "[[watch.lease]]\nprefix = \"shards/\"\nmax = 1000\n[watch]\nlisten = \"127.0.0.1:0\"\n",
    );
    let command = format!("ulimit -v 1500000; exec timeout 60 {PROGRAM} watch --store '{url}' --for 3s");
    let output = Command::new("sh")
        .args(["-c", &command])
        .current_dir(room.path())
        .output()
        .expect("it runs");
    let ran = Ran::from(output);
    ran.no_panic();
    assert!(matches!(ran.code, Some(0 | 3)), "{ran:#?}");
    assert!(ran.stdout.contains("watching 1000 leases"), "{ran:#?}");
}

#[test]
fn a_hundred_thousand_keys_postgres_ok() {
    let room = Room::new();
    let server = match PostgresServer::start() {
        Ok(server) => server,
        Err(why) => return skip("a_hundred_thousand_keys_postgres_ok", &why),
    };
    let url: StoreUrl = server.url().parse().expect("a URL");
    let mut store = open_administrator(&url, Duration::from_secs(10)).expect("the store");
    store.prepare().expect("ready");
    server.psql(&format!(
        "INSERT INTO leaseproof_lease (key, token) SELECT 'shards/' || n, n FROM generate_series(1, {MANY}) AS n"
    ));
    watches_many(&room, &server.url());
    inspect(&room, &server.url(), "shards/77").cannot_tell(&["table public.leaseproof_lease: 100000 rows"]);
}

#[test]
fn a_hundred_thousand_keys_consul_ok() {
    let room = Room::new();
    let server = match ConsulServer::start() {
        Ok(server) => server,
        Err(why) => return skip("a_hundred_thousand_keys_consul_ok", &why),
    };
    let all: Vec<usize> = (0..MANY).collect();
    for part in all.chunks(64) {
        let set = |n: &usize| format!(r#"{{"KV":{{"Verb":"set","Key":"shards/{n}","Value":"eA=="}}}}"#);
        let body = part.iter().map(set).collect::<Vec<_>>().join(",");
        let answer = server.http("PUT", "/v1/txn", &format!("[{body}]"));
        assert!(answer.contains("\"Errors\": null"), "{answer}");
    }
    watches_many(&room, &server.url());
}

#[test]
fn a_hundred_thousand_keys_etcd_ok() {
    let room = Room::new();
    let server = match EtcdServer::start() {
        Ok(server) => server,
        Err(why) => return skip("a_hundred_thousand_keys_etcd_ok", &why),
    };
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port())).expect("it listens");
    let all: Vec<usize> = (0..MANY).collect();
    for part in all.chunks(100) {
        let put = |n: &usize| {
            let key = base64_of(format!("shards/ab{n:06}").as_bytes());
            format!(r#"{{"request_put":{{"key":"{key}","value":"eA=="}}}}"#)
        };
        let body = part.iter().map(put).collect::<Vec<_>>().join(",");
        let body = format!(r#"{{"success":[{body}]}}"#);
        write!(
            stream,
            "POST /v3/kv/txn HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("it is sent");
        let mut answer = Vec::new();
        while !answer.ends_with(b"}]}") && !answer.ends_with(b"0\r\n\r\n") {
            let mut bytes = [0; 16 * 1024];
            let count = stream.read(&mut bytes).expect("an answer");
            assert!(count > 0, "{}", String::from_utf8_lossy(&answer));
            answer.extend_from_slice(&bytes[..count]);
        }
        assert!(
            answer.starts_with(b"HTTP/1.1 200"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    watches_many(&room, &server.url());
}

/// Base64 of whole groups of three bytes.
fn base64_of(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes
        .chunks_exact(3)
        .map(|it| u32::from_be_bytes([0, it[0], it[1], it[2]]));
    groups
        .flat_map(|bits| [18, 12, 6, 0].map(|shift| char::from(SIGNS[(bits >> shift & 63) as usize])))
        .collect()
}
