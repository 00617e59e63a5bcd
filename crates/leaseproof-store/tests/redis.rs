//! What only Redis does: logins, databases, replicas, TLS, foreign values, a server that dies.

mod redis_server;

use leaseproof_model::event::Outcome;
use leaseproof_store::{Refusal, StoreError, StoreUrl, open_administrator, open_lease, open_observer};
use redis_server::{RedisServer, skip};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(600);
const KEY: &str = "canary/redis";

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

fn url(text: &str) -> StoreUrl {
    text.parse().expect(text)
}

#[test]
fn a_reading_needs_no_more_than_reading_rights() {
    let server = server!("a_reading_needs_no_more_than_reading_rights");
    server.cli(&[
        "ACL",
        "SETUSER",
        "reader",
        "on",
        ">pw",
        "~canary/*",
        "-@all",
        "+@read",
        "+@transaction",
        "+time",
    ]);
    server.cli(&["SET", KEY, "a1#0123456789abcdef#7", "PX", "600000"]);
    server.cli(&["SET", "canary/redis:token", "7"]);
    let reader = url(&format!("redis://reader:pw@127.0.0.1:{}", server.port()));
    let mut observer = open_observer(&reader, PATIENT).expect("INFO is not needed");
    let reading = observer.read(KEY).expect("a reading").1;
    let held = reading.held.expect("it is held");
    assert_eq!(held.holder.as_str(), "a1#0123456789abcdef");
    assert_eq!(held.token.map(|token| token.0), Some(7));
    assert!(held.expires.is_some());
    assert_eq!(reading.epoch, None, "who answers may not be asked");
    let error = observer.read("other").expect_err("no rights there").to_string();
    assert!(error.contains("NOPERM"), "{error}");
    // With INFO allowed the epoch is known.
    server.cli(&["ACL", "SETUSER", "reader", "+info"]);
    let mut observer = open_observer(&reader, PATIENT).expect("it opens");
    assert!(observer.read(KEY).expect("a reading").1.epoch.is_some());
    // It can read, and that is all.
    let done = open_lease(&reader, PATIENT)
        .expect("lazy")
        .acquire("canary/new", "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert_eq!(server.cli(&["EXISTS", "canary/new"]), "0");
}

#[test]
fn an_observer_sends_only_what_it_says() {
    let server = server!("an_observer_sends_only_what_it_says");
    server.cli(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
    server.cli(&["CONFIG", "RESETSTAT"]);
    let mut observer = open_observer(&url(&server.url()), PATIENT).expect("it opens");
    observer.read(KEY).expect("a reading");
    let stats = server.cli(&["INFO", "commandstats"]);
    let mut sent: Vec<&str> = stats
        .lines()
        .filter_map(|line| line.strip_prefix("cmdstat_")?.split(':').next())
        .filter(|name| !name.starts_with("config|"))
        .collect();
    sent.sort_unstable();
    assert_eq!(sent, ["exec", "get", "info", "multi", "pexpiretime", "time"]);
}

#[test]
fn logins() {
    let server = server!("logins", &["--requirepass", "pa#ss"]);
    let port = server.port();
    for (text, part) in [
        (format!("redis://127.0.0.1:{port}"), "put the password into the URL"),
        (
            format!("redis://:hunter2@127.0.0.1:{port}"),
            "password of the URL are wrong",
        ),
        (
            format!("redis://me:hunter2@127.0.0.1:{port}"),
            "password of the URL are wrong",
        ),
        (format!("redis://:pa%23ss@127.0.0.1:{port}/999"), "out of range"),
    ] {
        let error = open_observer(&url(&text), PATIENT).err().expect(&text);
        let words = error.to_string();
        assert!(matches!(error, StoreError::Refused { .. }), "{text}: {words}");
        assert!(words.contains(part), "{text}: {words}");
        assert!(!words.contains("hunter2") && !words.contains("pa%23ss"), "{words}");
        let done = open_lease(&url(&text), PATIENT)
            .expect("lazy")
            .acquire(KEY, "a", LONG, PATIENT);
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None));
    }
    // A database of its own, by number.
    let third = url(&format!("redis://:pa%23ss@127.0.0.1:{port}/3"));
    let done = open_lease(&third, PATIENT)
        .expect("lazy")
        .acquire(KEY, "a", LONG, PATIENT);
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    assert_eq!(server.cli(&["-a", "pa#ss", "-n", "3", "EXISTS", KEY]), "1");
    assert_eq!(server.cli(&["-a", "pa#ss", "EXISTS", KEY]), "0");
}

#[test]
fn a_replica_is_seen_and_never_written() {
    let primary = server!("a_replica_is_seen_and_never_written");
    let port = primary.port().to_string();
    let replica = server!(
        "a_replica_is_seen_and_never_written",
        &["--replicaof", &format!("127.0.0.1 {port}")]
    );
    let url = url(&replica.url());
    let error = open_administrator(&url, PATIENT).err().expect("a replica");
    assert!(
        error.to_string().contains(&format!("a replica of 127.0.0.1:{port}")),
        "{error}"
    );
    let done = open_lease(&url, PATIENT)
        .expect("lazy")
        .acquire(KEY, "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None));
    assert!(done.reason.expect("a reason").contains("give the primary's URL"));
    let mut observer = open_observer(&url, PATIENT).expect("it may be looked at");
    let epoch = observer.read(KEY).expect("a reading").1.epoch.expect("an epoch");
    assert!(epoch.ends_with("/replica"), "{epoch}");
}

#[test]
fn foreign_values_are_compared_and_not_disclosed() {
    let server = server!("foreign_values_are_compared_and_not_disclosed");
    let mut observer = open_observer(&url(&server.url()), PATIENT).expect("it opens");
    server.cli(&["SET", KEY, "my-secret-token", "PX", "600000"]);
    let (_, first) = observer.read(KEY).expect("a reading");
    assert!(!format!("{first:?}").contains("secret"));
    let held = first.held.expect("it is held");
    assert!(held.holder.as_str().starts_with("value#"));
    assert_eq!((held.token, first.counter), (None, None));
    // A foreign client's lock is a lock.
    let mut owner = open_lease(&url(&server.url()), PATIENT).expect("lazy");
    assert_eq!(owner.acquire(KEY, "a", LONG, PATIENT).refusal, Some(Refusal::Held));
    server.cli(&["SET", KEY, "another", "PX", "600000"]);
    let (_, second) = observer.read(KEY).expect("a reading");
    assert!(second.previous.is_some());
    assert_ne!(second.held.expect("it is held").holder, held.holder);
    // What is under the counter's name may be anything.
    server.cli(&["LPUSH", "canary/redis:token", "x"]);
    assert_eq!(observer.read(KEY).expect("a reading").1.counter, None);
}

#[test]
fn without_pexpiretime_the_expiry_comes_from_pttl() {
    let server = server!(
        "without_pexpiretime_the_expiry_comes_from_pttl",
        &["--rename-command", "PEXPIRETIME", ""]
    );
    let mut observer = open_observer(&url(&server.url()), PATIENT).expect("it opens");
    let mut owner = open_lease(&url(&server.url()), PATIENT).expect("lazy");
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    let grant = done.value.expect("granted");
    for round in 0..50 {
        let (_, reading) = observer.read(KEY).expect("a reading");
        assert_eq!(reading.previous, None, "round {round}: the rounding is no change");
        let expires = reading.held.and_then(|held| held.expires).expect("a TTL");
        let slack = Duration::from_millis(3);
        assert!(expires.latest.plus(slack) >= done.during.earliest.plus(LONG));
        assert!(expires.earliest <= done.during.latest.plus(LONG + slack));
    }
    assert_eq!(owner.renew(&grant, 2 * LONG, PATIENT).outcome, Outcome::Applied);
    assert!(observer.read(KEY).expect("a reading").1.previous.is_some());
    server.cli(&["PERSIST", KEY]);
    let held = observer.read(KEY).expect("a reading").1.held.expect("held");
    assert_eq!(held.expires, None);
    server.cli(&["DEL", KEY]);
    assert!(observer.read(KEY).expect("a reading").1.held.is_none());
}

#[test]
fn a_cluster_is_refused() {
    let server = server!("a_cluster_is_refused", &["--cluster-enabled", "yes"]);
    let error = open_observer(&url(&server.url()), PATIENT).err().expect("a cluster");
    assert!(error.to_string().contains("give redis+cluster://"), "{error}");
}

#[test]
fn a_key_of_another_type_is_named() {
    let server = server!("a_key_of_another_type_is_named");
    server.cli(&["HSET", KEY, "a", "1"]);
    let mut observer = open_observer(&url(&server.url()), PATIENT).expect("it opens");
    let error = observer.read(KEY).expect_err("no string").to_string();
    assert!(error.contains("holds a hash"), "{error}");
    let mut owner = open_lease(&url(&server.url()), PATIENT).expect("lazy");
    assert_eq!(owner.acquire(KEY, "a", LONG, PATIENT).refusal, Some(Refusal::Held));
    // A counter that can't count: nothing is granted, and nothing is left behind.
    server.cli(&["DEL", KEY]);
    server.cli(&["SET", "canary/redis:token", "x"]);
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert_eq!(server.cli(&["EXISTS", KEY]), "0");
}

#[test]
fn a_server_that_dies_and_comes_back_empty() {
    let mut server = server!("a_server_that_dies_and_comes_back_empty");
    let url = url(&server.url());
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let before = observer.read(KEY).expect("a reading").1.epoch;
    server.kill();
    let done = owner.renew(&grant, LONG, BRIEF);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(done.reason.expect("a reason").contains("no store answers"));
    assert!(matches!(observer.read(KEY), Err(StoreError::Unreachable { .. })));
    server.start_again();
    let (_, reading) = observer.read(KEY).expect("it connects by itself");
    assert_ne!(reading.epoch, before, "another process answers");
    assert!(reading.held.is_none() && reading.previous.is_some());
    // The server lost it, and says so; the scripts are loaded anew.
    assert_eq!(owner.renew(&grant, LONG, PATIENT).refusal, Some(Refusal::Gone));
    assert_eq!(owner.acquire(KEY, "a", LONG, PATIENT).outcome, Outcome::Applied);
}

#[test]
fn a_connection_closed_in_between_loses_no_request() {
    let server = server!("a_connection_closed_in_between_loses_no_request");
    let url = url(&server.url());
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    for _ in 0..20 {
        server.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
        let done = owner.renew(&grant, LONG, PATIENT);
        assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    }
}

#[test]
fn a_request_that_was_sent_may_still_be_applied() {
    let server = server!("a_request_that_was_sent_may_still_be_applied");
    let url = url(&server.url());
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    // A connection is there, so that the request leaves.
    let first = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    assert_eq!(owner.release(&first, PATIENT).outcome, Outcome::Applied);
    server.freeze();
    let done = owner.acquire(KEY, "a", LONG, BRIEF);
    assert_eq!(done.outcome, Outcome::Unknown, "{done:?}");
    server.thaw();
    // Here it is, though nobody was told.
    let reading = observer.read(KEY).expect("a reading").1;
    assert_eq!(reading.counter.map(|token| token.0), Some(2));
    // Without a connection nothing can have been sent.
    owner.reconnect();
    server.freeze();
    let done = owner.acquire("canary/never", "a", LONG, BRIEF);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    server.thaw();
    assert_eq!(server.cli(&["EXISTS", "canary/never"]), "0");
}

#[test]
fn what_is_no_redis_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let error = open_observer(&url(&format!("redis://127.0.0.1:{port}")), PATIENT)
        .err()
        .expect("it is a web server");
    server.join().expect("the server ends");
    assert!(error.to_string().contains("is it a Redis server?"), "{error}");
    let error = open_observer(&url(&format!("redis://127.0.0.1:{port}")), PATIENT).err();
    let words = error.expect("nobody listens any more").to_string();
    assert!(
        words.contains("no store answers") && words.contains("refused"),
        "{words}"
    );
}

/// A certificate of our own for `localhost`, by the openssl command.
fn certificate(folder: &Path) -> Result<(), String> {
    let output = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
        ])
        .args(["-nodes", "-days", "30", "-subj", "/CN=leaseproof test"])
        .args(["-addext", "subjectAltName=DNS:localhost"])
        .args([
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-keyout",
            "key.pem",
            "-out",
            "ca.pem",
        ])
        .current_dir(folder)
        .output()
        .map_err(|error| format!("openssl can't be run: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Passes bytes on, as the lab's relay does.
fn relay(to: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", to)).expect("the server is there");
            for (mut from, mut into) in [
                (client.try_clone().expect("a copy"), server.try_clone().expect("a copy")),
                (server, client),
            ] {
                std::thread::spawn(move || std::io::copy(&mut from, &mut into));
            }
        }
    });
    port
}

#[test]
fn tls() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Err(why) = certificate(folder.path()) {
        return skip("tls", &why);
    }
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (ca, key) = (file("ca.pem"), file("key.pem"));
    let server = server!(
        "tls",
        &[
            "--port",
            "0",
            "--tls-port",
            "{port}",
            "--tls-cert-file",
            &ca,
            "--tls-key-file",
            &key,
            "--tls-ca-cert-file",
            &ca,
            "--tls-auth-clients",
            "no",
        ]
    );
    let port = server.port();
    let good = url(&format!("rediss://localhost:{port}?ca={ca}"));
    let mut owner = open_lease(&good, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT);
    assert_eq!(grant.outcome, Outcome::Applied, "{grant:?}");
    // Through a relay the certificate is still asked for by its own name.
    let relayed = good.with_host_port("127.0.0.1", relay(port));
    let held = open_observer(&relayed, PATIENT)
        .expect("through the relay")
        .read(KEY)
        .expect("a reading");
    assert_eq!(
        held.1.held.map(|held| held.holder),
        grant.value.map(|grant| grant.holder)
    );
    // Not trusted, and not by that name.
    for bad in [
        format!("rediss://localhost:{port}"),
        format!("rediss://127.0.0.1:{port}?ca={ca}"),
        format!("rediss://localhost:{port}?ca={ca}&server_name=example.org"),
    ] {
        let error = open_observer(&url(&bad), PATIENT).err().expect(&bad);
        let words = error.to_string();
        assert!(words.contains("certificate"), "{bad}: {words}");
    }
    for (bad, part) in [("/nowhere.pem", "can't be used"), (key.as_str(), "no certificate")] {
        let bad = url(&format!("rediss://localhost:{port}?ca={bad}"));
        let error = open_lease(&bad, PATIENT).err().expect("no CA").to_string();
        assert!(error.contains(part), "{error}");
    }
    // Plain words to a TLS port end, and say where.
    let plain = url(&format!("redis://localhost:{port}"));
    assert!(open_observer(&plain, PATIENT).is_err());
}
