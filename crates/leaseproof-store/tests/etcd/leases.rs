//! Leases, their whole seconds, and what is no etcd.

use super::*;

on_each_version! {
    foreign_values_are_compared_and_not_disclosed,
    who_waits_makes_no_leases_and_who_releases_leaves_none,
    the_expiry_is_narrowed_by_looking_on_and_is_not_missed,
    the_floor_is_what_the_server_grants,
}

fn foreign_values_are_compared_and_not_disclosed(version: Version) {
    let server = server!(version, "foreign_values_are_compared_and_not_disclosed");
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
    assert_eq!(owner.acquire(KEY, "a", LONG, PATIENT).refusal, Some(Refusal::Endless));
}

fn who_waits_makes_no_leases_and_who_releases_leaves_none(version: Version) {
    let server = server!(version, "who_waits_makes_no_leases_and_who_releases_leaves_none");
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

fn the_expiry_is_narrowed_by_looking_on_and_is_not_missed(version: Version) {
    let server = server!(version, "the_expiry_is_narrowed_by_looking_on_and_is_not_missed");
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

fn the_floor_is_what_the_server_grants(version: Version) {
    for (ticks, floor) in [(["10", "100"], 1), (["100", "1000"], 2), (["300", "3000"], 5)] {
        let [heartbeat, election] = ticks;
        let server = server!(
            version,
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
