//! What only Consul does: sessions and their bounds, lock-delay, tokens, entries of others, TLS.

#![cfg(feature = "consul")]

mod consul_server;
mod redis_server;
mod tls_rig;

use consul_server::{ConsulServer, LEAST};
use leaseproof_model::event::Outcome;
use leaseproof_store::{Refusal, StoreError, StoreUrl, open_administrator, open_lease, open_observer};
use redis_server::skip;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use tls_rig::certificate;

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(600);
const KEY: &str = "canary/consul";

/// The server, or the end of the test.
macro_rules! server {
    ($test:expr) => {
        server!($test, "")
    };
    ($test:expr, $settings:expr) => {
        match ConsulServer::start_with($settings) {
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

#[test]
fn the_ttl_is_the_session_s() {
    let server = server!("the_ttl_is_the_session_s");
    let delayed = url(&format!("consul://127.0.0.1:{}", server.port()));
    let facts = leaseproof_store::facts(&delayed, PATIENT).expect("facts");
    assert_eq!(facts.version, "1.8.7");
    assert_eq!((facts.ttl_floor, facts.late_ttls), (Some(LEAST), 1));
    assert_eq!(facts.lock_delay, Duration::from_secs(15));
    assert!(facts.late_bound > facts.lock_delay && !facts.shows_expiry && !facts.shows_renewals);
    let url = url(&server.url());
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    assert_eq!(observer.facts().lock_delay, Duration::ZERO);
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    // Less than there is becomes the least, and the reading says so.
    let done = owner.acquire(KEY, "a", Duration::from_millis(1), PATIENT);
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    let held = observer.read(KEY).expect("a reading").1.held.expect("held");
    assert_eq!(held.bound, Some(LEAST));
    until(|| observer.read(KEY).expect("a reading").1.held.is_none().then_some(()));
    let done = owner.acquire(KEY, "a", LONG * 1000, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(done.reason.expect("a reason").contains("take a shorter TTL"));
}

#[test]
fn after_a_loss_the_key_is_refused_for_the_lock_delay() {
    let server = server!("after_a_loss_the_key_is_refused_for_the_lock_delay");
    let url = url(&format!("consul://127.0.0.1:{}?lock_delay=700ms", server.port()));
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let first = owner.acquire(KEY, "a", LEAST, PATIENT).value.expect("granted");
    until(|| observer.read(KEY).expect("a reading").1.held.is_none().then_some(()));
    // Nobody holds it, and nobody gets it yet.
    let done = owner.acquire(KEY, "b", LONG, PATIENT);
    assert_eq!(done.refusal, Some(Refusal::Held), "{done:?}");
    let second = until(|| owner.acquire(KEY, "b", LONG, PATIENT).value);
    assert!(second.token > first.token);
    // One that is given up, removed or stolen is no loss.
    assert_eq!(owner.release(&second, PATIENT).outcome, Outcome::Applied);
    let third = owner.acquire(KEY, "c", LONG, PATIENT).value.expect("at once");
    let mut lab = open_administrator(&url, PATIENT).expect("it opens");
    assert_eq!(lab.delete(KEY).outcome, Outcome::Applied);
    let fourth = owner.acquire(KEY, "d", LONG, PATIENT).value.expect("at once");
    let thief = lab.steal(KEY, "lab", LONG).value.expect("at once");
    assert!(third.token < fourth.token && fourth.token < thief.token);
    // The count of locks began anew with each removal; no token did.
    assert!(
        server
            .cli(&["kv", "get", "-detailed", KEY])
            .expect("it is there")
            .contains("LockIndex        1")
    );
    // The victim's session lives on, and that extends nothing.
    assert_eq!(owner.renew(&fourth, LONG, PATIENT).refusal, Some(Refusal::NotTheHolder));
}

#[test]
fn what_an_unknown_acquire_made_is_kept_alive_by_nobody() {
    let server = server!("what_an_unknown_acquire_made_is_kept_alive_by_nobody");
    let url = url(&server.url());
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    // Longer than a busy machine takes for a few steps.
    let ttl = Duration::from_secs(2);
    let done = owner.acquire(KEY, "a", ttl, PATIENT);
    let first = done.value.expect("granted");
    let mut waiter = open_lease(&url, PATIENT).expect("lazy");
    assert_eq!(waiter.acquire(KEY, "b", ttl, PATIENT).refusal, Some(Refusal::Held));
    server.freeze();
    let done = waiter.acquire(KEY, "b", ttl, BRIEF);
    // Nothing but a look was sent.
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    let done = owner.renew(&first, ttl, BRIEF);
    assert_eq!(done.outcome, Outcome::Unknown, "{done:?}");
    server.thaw();
    // The holder does nothing more; the waiter's tries keep nothing alive.
    let grant = until(|| waiter.acquire(KEY, "b", ttl, PATIENT).value);
    assert!(grant.token > first.token);
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
    assert_eq!(owner.renew(&grant, LONG, PATIENT).refusal, Some(Refusal::Gone));
    assert_eq!(owner.acquire(KEY, "a", LONG, PATIENT).outcome, Outcome::Applied);
}

#[test]
fn tokens() {
    let server = server!(
        "tokens",
        r#", "acl": {"enabled": true, "default_policy": "deny", "tokens": {"master": "pa#ss"}}"#
    );
    let port = server.port();
    let good = url(&format!("consul://:pa%23ss@127.0.0.1:{port}/some/root?lock_delay=0s"));
    let mut owner = open_lease(&good, PATIENT).expect("lazy");
    // The master token is there a moment after the leader is.
    let grant = until(|| owner.acquire(KEY, "a", LONG, PATIENT).value);
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
    let mut observer = open_observer(&good, PATIENT).expect("it opens");
    assert!(observer.read(KEY).expect("a reading").1.held.is_some());
    let listed = server.http("GET", "/v1/kv/some/root/canary/?keys&token=pa%23ss", "");
    assert!(listed.contains("some/root/canary/consul"), "{listed}");
    assert_eq!(
        open_administrator(&good, PATIENT)
            .expect("it opens")
            .foreign_keys("canary/")
            .expect("a count"),
        0
    );
    for (text, part) in [
        (format!("consul://127.0.0.1:{port}"), "the URL has none"),
        (format!("consul://:hunter2@127.0.0.1:{port}"), "does not know the token"),
    ] {
        let bad = url(&text);
        let done = open_lease(&bad, PATIENT)
            .expect("lazy")
            .acquire("canary/new", "b", LONG, PATIENT);
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
        let words = done.reason.expect("a reason");
        assert!(words.contains(part) && !words.contains("hunter2"), "{words}");
    }
}

#[test]
fn foreign_entries_are_compared_and_not_disclosed() {
    let server = server!("foreign_entries_are_compared_and_not_disclosed");
    let url = url(&server.url());
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    // A key that no session has is free.
    server.cli(&["kv", "put", KEY, "just a value"]).expect("it puts");
    assert!(observer.read(KEY).expect("a reading").1.held.is_none());
    let session = server.endless_session();
    server.http("PUT", &format!("/v1/kv/{KEY}?acquire={session}"), "my-secret");
    let (_, first) = observer.read(KEY).expect("a reading");
    assert!(!format!("{first:?}").contains("secret"));
    let held = first.held.expect("it is held");
    assert!(held.holder.as_str().starts_with("value#") && held.token.is_some());
    assert_eq!((held.expires, held.bound), (None, None), "its session has no TTL");
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    assert_eq!(owner.acquire(KEY, "a", LONG, PATIENT).refusal, Some(Refusal::Held));
    server.http("PUT", &format!("/v1/kv/{KEY}?acquire={session}"), "another");
    let (_, second) = observer.read(KEY).expect("a reading");
    assert!(second.previous.is_some());
    assert_ne!(second.held.expect("it is held").holder, held.holder);
    server.cli(&["kv", "put", "production/config", "x"]).expect("it puts");
    let mut lab = open_administrator(&url, PATIENT).expect("it opens");
    assert_eq!(lab.foreign_keys("canary/").expect("a count"), 1);
}

#[test]
fn what_is_no_lease_is_left_alone() {
    let server = server!("what_is_no_lease_is_left_alone");
    for query in ["lock_delay=0s", "lock_delay=0s&recipe=lock"] {
        let place = match query.contains("recipe") {
            true => format!("{KEY}/.lock"),
            false => KEY.to_owned(),
        };
        let url = url(&format!("consul://127.0.0.1:{}?{query}", server.port()));
        let mut owner = open_lease(&url, PATIENT).expect("lazy");
        server.cli(&["kv", "put", &place, "important"]).expect("it puts");
        let done = owner.acquire(KEY, "a", LONG, PATIENT);
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
        assert!(done.reason.expect("a reason").contains("no lease of ours"));
        assert_eq!(server.plain(&place).expect("it stays").value, "important");
        server.cli(&["kv", "delete", &place]).expect("it deletes");
        // What a release leaves is taken again, and what a grant leaves whose session ended.
        let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
        assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
        assert!(owner.acquire(KEY, "a", LONG, PATIENT).value.is_some());
        let session = server.plain(&place).expect("it is held").session.expect("it is held");
        server.http("PUT", &format!("/v1/session/destroy/{session}"), "");
        assert!(owner.acquire(KEY, "a", LONG, PATIENT).value.is_some());
    }
    // A lock of the recipe may have any value: it is known by its mark.
    let url = url(&format!(
        "consul://127.0.0.1:{}?lock_delay=0s&recipe=lock",
        server.port()
    ));
    let left = format!("-flags={}", 0x2ddc_cbc0_58a5_0c18_u64);
    server
        .cli(&["kv", "put", &left, "canary/left/.lock", "its holder's"])
        .expect("it puts");
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    assert!(owner.acquire("canary/left", "a", LONG, PATIENT).value.is_some());
}

/// A server that reads what comes and answers this.
fn answers(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(bytes);
        }
    });
    port
}

#[test]
fn what_is_no_consul_is_named() {
    for (bytes, part) in [
        (&b"-ERR unknown command\r\n"[..], "is it a Consul agent?"),
        (
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope",
            "is it a Consul agent?",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "is it a Consul agent?",
        ),
        (
            b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 17\r\n\r\nNo cluster leader",
            "it has no leader",
        ),
        // The answer breaks off.
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n\"127", "broke off"),
        (b"", "no store answers"),
    ] {
        let url = url(&format!("consul://127.0.0.1:{}", answers(bytes)));
        let error = open_observer(&url, PATIENT).err().expect("it is none").to_string();
        assert!(error.contains(part), "{bytes:?}: {error}");
        let done = open_lease(&url, PATIENT)
            .expect("lazy")
            .acquire(KEY, "a", LONG, PATIENT);
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    }
}

/// Passes bytes on, and cuts the connection when so many bytes were answered.
fn cutting_relay(to: u16, answers: u64) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", to)).expect("the server is there");
            let (mut from, mut into) = (client.try_clone().expect("a copy"), server.try_clone().expect("a copy"));
            std::thread::spawn(move || std::io::copy(&mut from, &mut into));
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
    let grant = open_lease(&direct, PATIENT)
        .expect("lazy")
        .acquire(KEY, "a", LONG, PATIENT)
        .value
        .expect("granted");
    // In the middle of what a look answers.
    let cut = direct.with_host_port("127.0.0.1", cutting_relay(server.port(), 100));
    let mut other = open_lease(&cut, PATIENT).expect("lazy");
    let done = other.acquire(KEY, "b", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    let done = other.renew(&grant, LONG, PATIENT);
    assert_eq!(
        (done.outcome, done.refusal),
        (Outcome::NotApplied, None),
        "a look alone: {done:?}"
    );
    // Its own grant is renewed by a request that may arrive.
    let mut owner = open_lease(&direct, PATIENT).expect("lazy");
    let own = owner.acquire("canary/own", "a", LONG, PATIENT).value.expect("granted");
    server.freeze();
    assert_eq!(owner.renew(&own, LONG, BRIEF).outcome, Outcome::Unknown);
    assert_eq!(owner.release(&own, BRIEF).outcome, Outcome::Unknown);
    server.thaw();
    // The one that nobody waited for may have arrived first.
    let done = owner.release(&own, PATIENT);
    assert!(
        done.outcome == Outcome::Applied || done.refusal == Some(Refusal::Gone),
        "{done:?}"
    );
    assert!(server.plain("canary/own").expect("it stays").session.is_none());
}

#[test]
fn tls() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (ca, key) = (file("ca.pem"), file("key.pem"));
    if let Err(why) = certificate(folder.path()) {
        return skip("tls", &why);
    }
    let server = server!("tls", &format!(r#", "cert_file": "{ca}", "key_file": "{key}""#));
    let port = server.https_port();
    let good = url(&format!("consuls://localhost:{port}?ca={ca}&lock_delay=0s"));
    let done = open_lease(&good, PATIENT)
        .expect("lazy")
        .acquire(KEY, "a", LONG, PATIENT);
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    let mut observer = open_observer(&good, PATIENT).expect("it opens");
    assert!(observer.read(KEY).expect("a reading").1.held.is_some());
    for bad in [
        format!("consuls://localhost:{port}"),
        format!("consuls://127.0.0.1:{port}?ca={ca}"),
    ] {
        let error = open_observer(&url(&bad), PATIENT).err().expect(&bad).to_string();
        assert!(error.contains("certificate"), "{bad}: {error}");
    }
    assert!(open_observer(&url(&format!("consul://localhost:{port}")), PATIENT).is_err());
}
