//! What only etcd does: logins, TLS, restarts, whole seconds, leases that no key has, a gateway in between.

#![cfg(feature = "etcd")]

mod etcd_server;
mod redis_server;

use etcd_server::EtcdServer;
use leaseproof_model::event::Outcome;
use leaseproof_store::{Refusal, StoreError, StoreUrl, facts, open_administrator, open_lease, open_observer};
use redis_server::skip;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(600);
const KEY: &str = "canary/etcd";

/// The server, or the end of the test.
macro_rules! server {
    ($test:expr) => {
        server!($test, &[])
    };
    ($test:expr, $settings:expr) => {
        match EtcdServer::start_with($settings) {
            Ok(server) => server,
            Err(why) => return skip($test, &why),
        }
    };
}

fn url(text: &str) -> StoreUrl {
    text.parse().expect(text)
}

/// Adds users: `root`, and `reader`, who may read below `canary/`; then asks everybody for a login.
fn with_logins(server: &EtcdServer) {
    for arguments in [
        &["user", "add", "root:ro#ot"][..],
        &["user", "grant-role", "root", "root"],
        &["role", "add", "looks"],
        &["role", "grant-permission", "looks", "read", "--prefix=true", "canary/"],
        &["user", "add", "reader:pw"],
        &["user", "grant-role", "reader", "looks"],
        &["auth", "enable"],
    ] {
        server.cli(arguments);
    }
}

/// A relay in front of a server: it notes the paths that are asked for, and can cut the answers to one.
struct Relay {
    port: u16,
    paths: Arc<Mutex<Vec<String>>>,
    cut: Arc<Mutex<Option<String>>>,
}

impl Relay {
    fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let relay = Self {
            port: listener.local_addr().expect("an address").port(),
            paths: Arc::default(),
            cut: Arc::default(),
        };
        let (paths, cut) = (Arc::clone(&relay.paths), Arc::clone(&relay.cut));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", port)).expect("the server is there");
                let (paths, cut) = (Arc::clone(&paths), Arc::clone(&cut));
                let cutting = Arc::new(AtomicBool::new(false));
                let begin = Arc::clone(&cutting);
                let (from, to) = (client.try_clone().expect("a copy"), server.try_clone().expect("a copy"));
                std::thread::spawn(move || {
                    pass(from, to, |bytes| {
                        let text = String::from_utf8_lossy(bytes);
                        if let Some(path) = text.strip_prefix("POST ").and_then(|it| it.split(' ').next()) {
                            paths.lock().expect("no panic").push(path.to_owned());
                            let cut = cut.lock().expect("no panic");
                            begin.store(cut.as_deref() == Some(path), Ordering::SeqCst);
                        }
                        bytes.len()
                    });
                });
                std::thread::spawn(move || {
                    pass(server, client, |bytes| {
                        if cutting.load(Ordering::SeqCst) {
                            40
                        } else {
                            bytes.len()
                        }
                    });
                });
            }
        });
        relay
    }

    fn url(&self) -> StoreUrl {
        url(&format!("etcd://127.0.0.1:{}", self.port))
    }

    fn cut(&self, path: Option<&str>) {
        *self.cut.lock().expect("no panic") = path.map(str::to_owned);
    }
}

/// Passes bytes on, as many as `judge` says of each piece; a piece that is cut is the last.
fn pass(mut from: TcpStream, mut to: TcpStream, judge: impl Fn(&[u8]) -> usize) {
    let mut bytes = [0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let share = judge(&bytes[..count]).min(count);
        if to.write_all(&bytes[..share]).is_err() || share < count {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[test]
fn a_reading_needs_no_more_than_reading_rights() {
    let test = "a_reading_needs_no_more_than_reading_rights";
    for server in [Some(EtcdServer::start()), EtcdServer::start_current()]
        .into_iter()
        .flatten()
    {
        let server = match server {
            Ok(server) => server,
            Err(why) => {
                skip(test, &why);
                continue;
            }
        };
        let grant = open_lease(&url(&server.url()), PATIENT)
            .expect("lazy")
            .acquire(KEY, "a", LONG, PATIENT)
            .value
            .expect("granted");
        with_logins(&server);
        let reader = url(&format!("etcd://reader:pw@127.0.0.1:{}", server.port()));
        let mut observer = open_observer(&reader, PATIENT).expect("it may look");
        let reading = observer.read(KEY).expect("a reading").1;
        let held = reading.held.expect("it is held");
        assert_eq!((held.holder, held.token), (grant.holder, Some(grant.token)));
        // The TTL is not a secret of the server's.
        assert!(held.expires.is_some() && reading.epoch.is_some());
        let error = observer.read("other").expect_err("no rights there").to_string();
        assert!(error.contains("permission denied"), "{error}");
        // It can read, and that is all.
        let mut owner = open_lease(&reader, PATIENT).expect("lazy");
        let done = owner.acquire("canary/new", "a", LONG, PATIENT);
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
        assert_eq!(
            server.cli(&["--user", "root:ro#ot", "get", "--print-value-only", "canary/new"]),
            ""
        );
    }
}

#[test]
fn an_observer_sends_only_what_it_says() {
    let server = server!("an_observer_sends_only_what_it_says");
    let relay = Relay::to(server.port());
    let mut observer = open_observer(&relay.url(), PATIENT).expect("it opens");
    observer.read(KEY).expect("a reading");
    server.cli(&["put", KEY, "x"]);
    observer.read(KEY).expect("a reading");
    let mut owner = open_lease(&url(&server.url()), PATIENT).expect("lazy");
    owner.acquire("canary/other", "a", LONG, PATIENT);
    for _ in 0..3 {
        observer.read("canary/other").expect("a reading");
    }
    let mut paths = relay.paths.lock().expect("no panic").clone();
    // A look at a known grant costs two questions.
    assert_eq!(paths[paths.len() - 2..], ["/v3/lease/timetolive", "/v3/kv/range"]);
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(
        paths,
        ["/v3/kv/range", "/v3/lease/timetolive", "/v3/maintenance/status"]
    );
}

#[test]
fn logins() {
    let mut server = server!("logins");
    let port = server.port();
    let superfluous = format!("etcd://me:hunter2@127.0.0.1:{port}");
    let error = open_observer(&url(&superfluous), PATIENT)
        .err()
        .expect("no login there");
    assert!(error.to_string().contains("take user and password off"), "{error}");
    with_logins(&server);
    for (text, part) in [
        (format!("etcd://127.0.0.1:{port}"), "put user and password into the URL"),
        (
            format!("etcd://root:hunter2@127.0.0.1:{port}"),
            "password of the URL are wrong",
        ),
        (
            format!("etcd://nobody:hunter2@127.0.0.1:{port}"),
            "password of the URL are wrong",
        ),
    ] {
        let done = open_lease(&url(&text), PATIENT)
            .expect("lazy")
            .acquire(KEY, "a", LONG, PATIENT);
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None));
        let words = done.reason.expect("a reason");
        assert!(words.contains(part), "{text}: {words}");
        assert!(!words.contains("hunter2"), "{words}");
        let error = open_observer(&url(&text), PATIENT).and_then(|mut it| it.read(KEY));
        assert!(matches!(error, Err(StoreError::Refused { .. })), "{text}: {error:?}");
    }
    let good = url(&format!("etcd://root:ro%23ot@127.0.0.1:{port}"));
    let mut owner = open_lease(&good, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let mut observer = open_observer(&good, PATIENT).expect("it opens");
    assert!(observer.read(KEY).expect("a reading").1.held.is_some());
    // The server forgets its tokens: a new login, and nothing is lost.
    server.kill();
    server.start_again();
    let done = owner.renew(&grant, LONG, PATIENT);
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    assert!(observer.read(KEY).expect("a reading").1.held.is_some());
    // A change of rights makes every token old.
    server.cli(&["--user", "root:ro#ot", "role", "add", "more"]);
    assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
    assert!(observer.read(KEY).expect("a reading").1.held.is_none());
}

#[test]
fn a_restart_with_its_data_keeps_the_lease_and_one_without_loses_it() {
    let mut server = server!("a_restart_with_its_data_keeps_the_lease_and_one_without_loses_it");
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
    let (_, reading) = observer.read(KEY).expect("it connects by itself");
    assert_ne!(reading.epoch, before.epoch, "another term");
    assert!(reading.previous.is_some());
    assert_eq!(reading.held.expect("it is held").token, Some(grant.token));
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
    server.kill();
    server.start_again_empty();
    let (_, reading) = observer.read(KEY).expect("it connects by itself");
    assert!(reading.held.is_none() && reading.previous.is_some());
    // The server lost it, and says so.
    assert_eq!(owner.renew(&grant, LONG, PATIENT).refusal, Some(Refusal::Gone));
    assert_eq!(owner.acquire(KEY, "a", LONG, PATIENT).outcome, Outcome::Applied);
}

#[test]
fn a_change_of_leader_is_another_epoch_and_no_renewal() {
    let test = "a_change_of_leader_is_another_epoch_and_no_renewal";
    let mut members = match EtcdServer::start_cluster() {
        Ok(members) => members,
        Err(why) => return skip(test, &why),
    };
    let leader = members.iter().position(EtcdServer::leads).expect("one leads");
    let follower = (leader + 1) % members.len();
    let url = url(&members[follower].url());
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let before = observer.read(KEY).expect("a reading").1;
    let expiry = before.held.as_ref().and_then(|held| held.expires).expect("a TTL");
    members[leader].kill();
    // Without a leader nothing is read: no answer is an answer from the past.
    let (mut after, mut errors) = (None, 0);
    while after.is_none() && errors < 100 {
        match observer.read(KEY) {
            Ok((_, reading)) if reading.epoch == before.epoch => {
                assert_eq!(reading.held.map(|held| held.token), Some(Some(grant.token)));
            }
            Ok((_, reading)) => after = Some(reading),
            Err(_) => errors += 1,
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let after = after.expect("another leads");
    assert!(after.previous.is_some());
    let held = after.held.expect("it is held");
    assert_eq!((held.holder, held.token), (grant.holder.clone(), Some(grant.token)));
    // A full TTL anew, and at most an election more: never the "for ever" of a leader that isn't ready.
    let expires = held.expires.expect("a TTL");
    assert!(expires.latest >= expiry.earliest && expires.earliest <= expiry.latest.plus(LONG));
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
    assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
    assert!(observer.read(KEY).expect("a reading").1.held.is_none());
}

#[test]
fn a_paused_server_leaves_unknown_what_was_sent() {
    let server = server!("a_paused_server_leaves_unknown_what_was_sent");
    let url = url(&server.url());
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    server.freeze();
    let done = owner.release(&grant, BRIEF);
    assert_eq!((done.outcome, done.refusal), (Outcome::Unknown, None), "{done:?}");
    // An acquire asks first who holds it: without that answer nothing was tried.
    let done = owner.acquire("canary/never", "a", LONG, BRIEF);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(matches!(
        open_observer(&url, BRIEF).err(),
        Some(StoreError::TimedOut(_) | StoreError::Unreachable { .. })
    ));
    server.thaw();
    // Done or not, the server says which when it is asked once more: a closed connection may have taken
    // the request back.
    let done = owner.release(&grant, PATIENT);
    assert!(
        done.outcome == Outcome::Applied || done.refusal == Some(Refusal::Gone),
        "{done:?}"
    );
    assert!(observer.read(KEY).expect("a reading").1.held.is_none());
    assert_eq!(server.value("canary/never"), None);
    assert_eq!(owner.acquire(KEY, "a", LONG, PATIENT).outcome, Outcome::Applied);
}

#[test]
fn an_answer_cut_in_the_middle_is_unknown() {
    let server = server!("an_answer_cut_in_the_middle_is_unknown");
    let relay = Relay::to(server.port());
    let mut owner = open_lease(&relay.url(), PATIENT).expect("lazy");
    relay.cut(Some("/v3/kv/txn"));
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::Unknown, None), "{done:?}");
    // Here it was applied; the transaction was not sent twice.
    assert_eq!(server.field(KEY, "Version").as_deref(), Some("1"));
    relay.cut(None);
    server.cli(&["del", KEY]);
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    // A lease that was not granted, or may have been, has no key: the acquire certainly did not happen.
    relay.cut(Some("/v3/lease/grant"));
    let done = owner.acquire("canary/never", "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert_eq!(server.value("canary/never"), None);
    // Each of a renewal's two steps.
    for step in ["/v3/lease/keepalive", "/v3/kv/range"] {
        relay.cut(Some(step));
        let done = owner.renew(&grant, LONG, PATIENT);
        assert_eq!(
            (done.outcome, done.refusal),
            (Outcome::Unknown, None),
            "{step}: {done:?}"
        );
    }
    relay.cut(None);
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
    // A reading is told, and the next is whole.
    let mut observer = open_observer(&relay.url(), PATIENT).expect("it opens");
    relay.cut(Some("/v3/lease/timetolive"));
    assert!(observer.read(KEY).is_err());
    relay.cut(None);
    assert!(observer.read(KEY).expect("a reading").1.held.is_some());
}

#[test]
fn foreign_values_are_compared_and_not_disclosed() {
    let server = server!("foreign_values_are_compared_and_not_disclosed");
    let mut observer = open_observer(&url(&server.url()), PATIENT).expect("it opens");
    let granted = server.cli(&["lease", "grant", "600"]);
    let lease = granted.split_whitespace().nth(1).expect("lease ID granted");
    server.cli(&["put", "--lease", lease, KEY, "my-secret-token"]);
    let (_, first) = observer.read(KEY).expect("a reading");
    assert!(!format!("{first:?}").contains("secret"));
    let held = first.held.expect("it is held");
    assert!(held.holder.as_str().starts_with("value#"));
    assert!(held.token.is_some() && held.expires.is_some());
    // A foreign client's lock is a lock, and its lease is left alone.
    let mut owner = open_lease(&url(&server.url()), PATIENT).expect("lazy");
    assert_eq!(owner.acquire(KEY, "a", LONG, PATIENT).refusal, Some(Refusal::Held));
    server.cli(&["put", "--lease", lease, "canary/second", "of the same lease"]);
    let mut lab = open_administrator(&url(&server.url()), PATIENT).expect("the lab");
    assert_eq!(lab.clean(&[KEY.to_owned()]).expect("it cleans"), 1);
    assert_eq!(server.value("canary/second").as_deref(), Some("of the same lease"));
    // Bytes that are no text, and nothing at all.
    server.cli(&["put", KEY, ""]);
    let (_, second) = observer.read(KEY).expect("a reading");
    let empty = second.held.expect("it is held");
    assert!(second.previous.is_some());
    assert_ne!(empty.holder, held.holder);
    assert_eq!(empty.expires, None, "it has no lease");
}

#[test]
fn who_waits_makes_no_leases_and_who_releases_leaves_none() {
    let server = server!("who_waits_makes_no_leases_and_who_releases_leaves_none");
    let url = url(&server.url());
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let leases = || server.cli(&["lease", "list"]);
    let one = leases();
    assert!(one.starts_with("found 1 leases"), "{one}");
    assert!(
        one.ends_with(grant.holder.as_str().rsplit('#').next().expect("an incarnation")),
        "{one}"
    );
    for _ in 0..20 {
        assert_eq!(owner.acquire(KEY, "b", LONG, PATIENT).refusal, Some(Refusal::Held));
    }
    assert_eq!(leases(), one);
    assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
    assert!(leases().starts_with("found 0 leases"));
    // A lease kept alive after its key was stolen has no key: the victim is refused all the same.
    let victim = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let mut lab = open_administrator(&url, PATIENT).expect("the lab");
    let thief = lab.steal(KEY, "lab", LONG).value.expect("stolen");
    assert_eq!(owner.renew(&victim, LONG, PATIENT).refusal, Some(Refusal::NotTheHolder));
    assert_eq!(server.field(KEY, "ModRevision"), Some(thief.token.to_string()));
    // What is cleaned up takes its lease with it; the victim's own ends by itself.
    lab.clean(&[KEY.to_owned()]).expect("it cleans");
    assert!(leases().starts_with("found 1 leases"));
}

#[test]
fn the_expiry_is_narrowed_by_looking_on_and_is_not_missed() {
    let server = server!("the_expiry_is_narrowed_by_looking_on_and_is_not_missed");
    let url = url(&server.url());
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let done = owner.acquire(KEY, "a", Duration::from_secs(3), PATIENT);
    let mut expiry = None;
    let gone = loop {
        let (at, reading) = observer.read(KEY).expect("a reading");
        match reading.held {
            Some(held) => expiry = Some(held.expires.expect("it has a TTL")),
            None => break at,
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let expiry = expiry.expect("it was held");
    assert!(
        expiry.uncertainty() < Duration::from_secs(1),
        "one look says no more: {expiry:?}"
    );
    // It contains what the grant's own moment gives, but for the two clocks' drift, and it was not early.
    let slack = Duration::from_millis(5);
    assert!(expiry.latest.plus(slack) >= done.during.earliest.plus(Duration::from_secs(3)));
    assert!(expiry.earliest <= done.during.latest.plus(Duration::from_secs(3)));
    assert!(gone.latest >= expiry.earliest, "it is never gone before");
}

#[test]
fn the_floor_is_what_the_server_grants() {
    for (ticks, floor) in [(["10", "100"], 1), (["100", "1000"], 2), (["300", "3000"], 5)] {
        let [heartbeat, election] = ticks;
        let server = server!(
            "the_floor_is_what_the_server_grants",
            &["--heartbeat-interval", heartbeat, "--election-timeout", election]
        );
        let url = url(&server.url());
        let facts = facts(&url, PATIENT).expect("facts");
        assert_eq!(facts.ttl_floor, Some(Duration::from_secs(floor)));
        assert!(facts.version.starts_with("3."), "{}", facts.version);
        assert!(server.cli(&["lease", "list"]).starts_with("found 0 leases"));
        // A shorter one is granted as the floor, and renewed as such.
        let mut owner = open_lease(&url, PATIENT).expect("lazy");
        let brief = Duration::from_millis(300);
        let grant = owner.acquire(KEY, "a", brief, PATIENT).value.expect("granted");
        assert_eq!(owner.renew(&grant, brief, PATIENT).outcome, Outcome::Applied);
    }
}

#[test]
fn what_is_no_etcd_is_named() {
    for answer in [
        "-ERR unknown command 'POST'\r\n",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nNot Found",
        "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n<html>hi</html>",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let _ = stream.read(&mut [0; 2048]);
            let _ = stream.write_all(answer.as_bytes());
        });
        let error = open_observer(&url(&format!("etcd://127.0.0.1:{port}")), PATIENT)
            .and_then(|mut observer| observer.read(KEY))
            .expect_err(answer);
        server.join().expect("the server ends");
        let words = error.to_string();
        assert!(words.contains("is it an etcd server"), "{answer}: {words}");
        let error = open_observer(&url(&format!("etcd://127.0.0.1:{port}")), PATIENT).err();
        let words = error.expect("nobody listens any more").to_string();
        assert!(
            words.contains("no store answers") && words.contains("refused"),
            "{words}"
        );
    }
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
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", "key.pem", "-out", "ca.pem"])
        .current_dir(folder)
        .output()
        .map_err(|error| format!("openssl can't be run: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn tls() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Err(why) = certificate(folder.path()) {
        return skip("tls", &why);
    }
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (ca, key) = (file("ca.pem"), file("key.pem"));
    let server = server!("tls", &["--cert-file", &ca, "--key-file", &key]);
    let port = server.port();
    let good = url(&format!("etcds://localhost:{port}?ca={ca}"));
    let mut owner = open_lease(&good, PATIENT).expect("lazy");
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    let grant = done.value.clone().unwrap_or_else(|| panic!("{done:?}"));
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
    // Through a relay the certificate is still asked for by its own name.
    let relayed = good.with_host_port("127.0.0.1", Relay::to(port).port);
    let held = open_observer(&relayed, PATIENT)
        .expect("through the relay")
        .read(KEY)
        .expect("a reading");
    assert_eq!(held.1.held.map(|held| held.holder), Some(grant.holder));
    // Not trusted, and not by that name.
    for bad in [
        format!("etcds://localhost:{port}"),
        format!("etcds://127.0.0.1:{port}?ca={ca}"),
        format!("etcds://localhost:{port}?ca={ca}&server_name=example.org"),
    ] {
        let words = open_observer(&url(&bad), PATIENT).err().expect(&bad).to_string();
        assert!(words.contains("certificate"), "{bad}: {words}");
    }
    // Plain words to a TLS port, and TLS to a plain one.
    let words = open_observer(&url(&format!("etcd://localhost:{port}")), PATIENT)
        .err()
        .expect("it wants TLS")
        .to_string();
    assert!(words.contains("TLS"), "{words}");
    let plain = server!("tls");
    let text = format!("etcds://localhost:{}?ca={ca}", plain.port());
    assert!(open_observer(&url(&text), PATIENT).is_err());
}
