//! What only ZooKeeper does: sessions and their bounds, nodes of others, a server that dies, TLS.

#![cfg(feature = "zookeeper")]

mod redis_server;
mod tls_rig;
mod zookeeper_server;

use leaseproof_model::event::Outcome;
use leaseproof_store::{Refusal, StoreError, StoreUrl, open_administrator, open_lease, open_observer};
use redis_server::skip;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use tls_rig::certificate;
use zookeeper_server::{TICK, ZooKeeperServer, word};

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(600);
const KEY: &str = "canary/zookeeper";

/// The server, or the end of the test.
macro_rules! server {
    ($test:expr) => {
        server!($test, "")
    };
    ($test:expr, $settings:expr) => {
        match ZooKeeperServer::start_with($settings) {
            Ok(server) => server,
            Err(why) => return skip($test, &why),
        }
    };
}

fn url(text: &str) -> StoreUrl {
    text.parse().expect(text)
}

/// Tries until it is so; a store that never gets there fails the test.
fn until<T>(mut is: impl FnMut() -> Option<T>) -> T {
    for _ in 0..4000 {
        if let Some(it) = is() {
            return it;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it never came to it");
}

/// The time-out that was given, not what other questions left of it.
#[test]
fn a_server_that_never_answers_is_told_with_its_time_out() {
    // Connections wait in its backlog for ever.
    let silent = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let place = silent.local_addr().expect("a bound socket has an address");
    let error = open_observer(&url(&format!("zookeeper://{place}")), BRIEF)
        .err()
        .expect("nobody answers")
        .to_string();
    assert!(error.contains("no answer within 100ms"), "{error}");
}

#[test]
fn the_ttl_is_the_session_s() {
    let server = server!("the_ttl_is_the_session_s", "maxSessionTimeout=5000");
    let url = url(&server.url());
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let facts = observer.facts().clone();
    assert_eq!(facts.version, "3.8.0");
    assert_eq!(facts.ttl_floor, Some(2 * TICK));
    assert_eq!(facts.ttl_ceiling, Some(Duration::from_secs(5)));
    assert!(facts.late_bound >= 2 * TICK && !facts.shows_expiry && !facts.shows_renewals);
    // Less than there is becomes the least, and the reading says so.
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let done = owner.acquire(KEY, "a", Duration::from_millis(1), PATIENT);
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    let held = until(|| observer.read(KEY).expect("a reading").1.held);
    assert_eq!(held.bound, Some(2 * TICK));
    // Nothing extends it but its owner's own requests, and a look at another key is none.
    until(|| observer.read(KEY).expect("a reading").1.held.is_none().then_some(()));
    // More than there is would end before its holder thinks so.
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(done.reason.expect("a reason").contains("no session of more than 5s"));
    // The lab's own lease may be shorter than it wished.
    let grant = open_administrator(&url, PATIENT)
        .expect("it opens")
        .steal(KEY, "lab", LONG);
    assert_eq!(grant.outcome, Outcome::Applied, "{grant:?}");
    assert_eq!(
        observer
            .read(KEY)
            .expect("a reading")
            .1
            .held
            .and_then(|held| held.bound),
        Some(Duration::from_secs(5))
    );
}

#[test]
fn what_an_unknown_acquire_made_is_kept_alive_by_nobody() {
    let server = server!("what_an_unknown_acquire_made_is_kept_alive_by_nobody");
    let url = url(&server.url());
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    // Longer than a busy machine takes for a few steps.
    let ttl = Duration::from_secs(2);
    // A session is there, so that the request leaves.
    let first = owner.acquire(KEY, "a", ttl, PATIENT).value.expect("granted");
    assert_eq!(
        open_lease(&url, PATIENT)
            .expect("lazy")
            .acquire(KEY, "b", ttl, PATIENT)
            .refusal,
        Some(Refusal::Held)
    );
    let mut waiter = open_lease(&url, PATIENT).expect("lazy");
    assert_eq!(waiter.acquire(KEY, "b", ttl, PATIENT).refusal, Some(Refusal::Held));
    assert_eq!(owner.release(&first, PATIENT).outcome, Outcome::Applied);
    server.freeze();
    let done = waiter.acquire(KEY, "b", ttl, BRIEF);
    assert_eq!(done.outcome, Outcome::Unknown, "{done:?}");
    server.thaw();
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let orphan = until(|| observer.read(KEY).expect("a reading").1.held);
    // It tries on, as a waiter does, and its tries do not keep the orphan alive.
    let grant = until(|| waiter.acquire(KEY, "b", ttl, PATIENT).value);
    assert!(Some(grant.token) > orphan.token && grant.holder != orphan.holder);
}

#[test]
fn a_server_that_dies_and_comes_back_has_the_sessions() {
    let mut server = server!("a_server_that_dies_and_comes_back_has_the_sessions");
    let url = url(&server.url());
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let before = observer.read(KEY).expect("a reading").1;
    server.kill();
    let done = owner.renew(&grant, LONG, BRIEF);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(done.reason.expect("a reason").contains("no store answers"));
    assert!(matches!(observer.read(KEY), Err(StoreError::Unreachable { .. })));
    server.start_again();
    let (_, after) = observer.read(KEY).expect("it connects by itself");
    assert_ne!(after.epoch, before.epoch, "another start answers");
    assert_eq!(after.held, before.held);
    let done = owner.renew(&grant, LONG, PATIENT);
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
}

#[test]
fn logins() {
    let server = server!("logins");
    let port = server.port();
    let mine = url(&format!("zookeeper://me:pa%23ss@127.0.0.1:{port}"));
    let mut owner = open_lease(&mine, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
    assert!(
        open_observer(&mine, PATIENT)
            .expect("it opens")
            .read(KEY)
            .expect("a reading")
            .1
            .held
            .is_some()
    );
    server.cli("addauth digest me:pa#ss");
    let acl = server.cli(&format!("getAcl /{KEY}")).join(" ");
    assert!(acl.contains("'digest,'me:") && acl.contains("cdrwa"), "{acl}");
    for (text, part) in [
        (format!("zookeeper://127.0.0.1:{port}"), "give user and password"),
        (
            format!("zookeeper://me:hunter2@127.0.0.1:{port}"),
            "look at user and password",
        ),
    ] {
        let other = url(&text);
        let error = open_observer(&other, PATIENT)
            .expect("it opens")
            .read(KEY)
            .expect_err(&text);
        let words = error.to_string();
        assert!(matches!(error, StoreError::Refused { .. }), "{text}: {words}");
        assert!(words.contains(part) && !words.contains("hunter2"), "{words}");
        // Who may not use it takes nothing and removes nothing.
        let mut thief = open_lease(&other, PATIENT).expect("lazy");
        let done = thief.acquire(KEY, "b", LONG, PATIENT);
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
        let done = open_administrator(&other, PATIENT).expect("it opens").delete(KEY);
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    }
    // A root of its own.
    let below = url(&format!("zk://127.0.0.1:{port}/some/root/"));
    let done = open_lease(&below, PATIENT)
        .expect("lazy")
        .acquire(KEY, "a", LONG, PATIENT);
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    assert!(
        server
            .plain(&format!("/some/root/{KEY}"))
            .expect("it is there")
            .ephemeral
    );
}

#[test]
fn foreign_nodes_are_compared_and_not_disclosed() {
    let server = server!("foreign_nodes_are_compared_and_not_disclosed");
    let url = url(&server.url());
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    server.cli("create /canary");
    server.cli(&format!("create -e /{KEY} my-secret"));
    let (_, first) = observer.read(KEY).expect("a reading");
    assert!(!format!("{first:?}").contains("secret"));
    let held = first.held.expect("it is held");
    assert!(held.holder.as_str().starts_with("value#") && held.token.is_some());
    assert_eq!(
        (held.expires, held.bound),
        (None, Some(Duration::from_secs(30))),
        "the end of zkCli's session, as the server tells it"
    );
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    assert_eq!(owner.acquire(KEY, "a", LONG, PATIENT).refusal, Some(Refusal::Held));
    server.cli(&format!("set /{KEY} another"));
    let (_, second) = observer.read(KEY).expect("a reading");
    assert!(second.previous.is_some());
    assert_ne!(second.held.expect("it is held").holder, held.holder);
    // A node that ends with no session.
    server.cli("create /canary/for-ever me");
    let held = observer
        .read("canary/for-ever")
        .expect("a reading")
        .1
        .held
        .expect("held");
    assert_eq!((held.expires, held.bound), (None, None));
    let done = owner.acquire("canary/for-ever", "a", LONG, PATIENT);
    assert_eq!(done.refusal, Some(Refusal::Endless), "{done:?}");
    // One with others below it is the place of a lock recipe, and no lease.
    server.cli("create /canary/deep");
    server.cli("create /canary/deep/er x");
    let error = observer.read("canary/deep").expect_err("no lease").to_string();
    assert!(error.contains("?recipe=lock"), "{error}");
    let mut lab = open_administrator(&url, PATIENT).expect("it opens");
    let done = lab.delete("canary/deep");
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(done.reason.expect("a reason").contains("has others below it"));
    // Below a lease there is no room for another.
    let done = owner.acquire(&format!("{KEY}/below"), "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(done.reason.expect("a reason").contains("lies below another lease"));
    // What a foreign service keeps is seen.
    server.cli("create /brokers");
    assert_eq!(lab.foreign_keys("canary/").expect("a count"), 1);
}

#[test]
fn an_owner_leaves_nothing_but_its_node() {
    let server = server!("an_owner_leaves_nothing_but_its_node");
    let url = url(&server.url());
    for _ in 0..3 {
        let mut owner = open_lease(&url, PATIENT).expect("lazy");
        let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
        assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
    }
    // Its sessions ended with its grants.
    let sessions = word(server.port(), "dump").expect("an answer");
    assert!(
        sessions
            .lines()
            .any(|line| line.starts_with("Session Sets (") && line.ends_with("/(0):")),
        "{sessions}"
    );
}

/// A server that reads what comes and answers this, once a connection.
fn answers(bytes: &'static [u8], connections: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten().take(connections) {
            let _ = stream.read(&mut [0; 512]);
            let _ = stream.write_all(bytes);
        }
    });
    port
}

#[test]
fn what_is_no_zookeeper_is_named() {
    for (bytes, part) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "is it a ZooKeeper server?"),
        (b"-ERR unknown command\r\n", "is it a ZooKeeper server?"),
        (b"\0\0\0\x04\0\0\0\0", "is it a ZooKeeper server?"),
        // The welcome breaks off.
        (b"\0\0\0\x25\0\0\0\0\0\0", "closed without an answer"),
        (b"", "closed without an answer"),
    ] {
        let url = url(&format!("zk://127.0.0.1:{}", answers(bytes, 3)));
        let error = open_observer(&url, PATIENT).err().expect("it is none").to_string();
        assert!(error.contains(part), "{bytes:?}: {error}");
        let done = open_lease(&url, PATIENT).expect("lazy").acquire(KEY, "a", LONG, BRIEF);
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    }
}

/// Passes bytes on, and cuts the answers after so many bytes.
fn cutting_relay(to: u16, answers: u64) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", to)).expect("the server is there");
            let (mut from, mut into) = (client.try_clone().expect("a copy"), server.try_clone().expect("a copy"));
            std::thread::spawn(move || std::io::copy(&mut from, &mut into));
            let (mut client, server) = (client, server);
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut (&server).take(answers), &mut client);
                let _ = client.shutdown(std::net::Shutdown::Both);
                let _ = server.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    port
}

#[test]
fn an_answer_that_breaks_off_is_unknown() {
    let server = server!("an_answer_that_breaks_off_is_unknown");
    let direct = url(&server.url());
    // What is above the key is there already.
    server.cli("create /canary");
    // The welcome is 41 bytes; then the answer to `create` breaks off.
    let cut = direct.with_host_port("127.0.0.1", cutting_relay(server.port(), 50));
    let mut owner = open_lease(&cut, PATIENT).expect("lazy");
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::Unknown, None), "{done:?}");
    let mut observer = open_observer(&direct, PATIENT).expect("it opens");
    assert!(observer.read(KEY).expect("a reading").1.held.is_some(), "it was made");
}

#[test]
fn tls() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (ca, key, both) = (file("ca.pem"), file("key.pem"), file("both.pem"));
    if let Err(why) = certificate(folder.path()) {
        return skip("tls", &why);
    }
    let text = |path: &str| std::fs::read_to_string(path).expect(path);
    std::fs::write(&both, text(&key) + &text(&ca)).expect("a file");
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let _server = server!(
        "tls",
        &format!(
            "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\nsecureClientPort={port}\n\
             secureClientPortAddress=127.0.0.1\nssl.keyStore.location={both}\nssl.keyStore.type=PEM\n\
             ssl.clientAuth=none\n"
        )
    );
    let good = url(&format!("zookeepers://localhost:{port}?ca={ca}"));
    let mut owner = open_lease(&good, PATIENT).expect("lazy");
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    let mut observer = open_observer(&good, PATIENT).expect("it opens");
    assert!(observer.read(KEY).expect("a reading").1.held.is_some());
    for bad in [
        format!("zookeepers://localhost:{port}"),
        format!("zookeepers://127.0.0.1:{port}?ca={ca}"),
    ] {
        let error = open_observer(&url(&bad), PATIENT).err().expect(&bad).to_string();
        assert!(error.contains("certificate"), "{bad}: {error}");
    }
    assert!(open_observer(&url(&format!("zookeeper://localhost:{port}")), PATIENT).is_err());
}
