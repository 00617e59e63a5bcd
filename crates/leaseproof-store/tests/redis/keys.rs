//! What a key may hold, and when it ends.

use super::*;

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
fn a_key_of_another_type_is_named() {
    let server = server!("a_key_of_another_type_is_named");
    server.cli(&["HSET", KEY, "a", "1"]);
    let mut observer = open_observer(&url(&server.url()), PATIENT).expect("it opens");
    let error = observer.read(KEY).expect_err("no string").to_string();
    assert!(error.contains("holds a hash"), "{error}");
    let mut owner = open_lease(&url(&server.url()), PATIENT).expect("lazy");
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    assert_eq!(done.refusal, Some(Refusal::Endless));
    assert!(done.reason.expect("a reason").contains("never ends by itself"));
    server.cli(&["PEXPIRE", KEY, "600000"]);
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    assert_eq!(done.reason.as_deref(), Some("another holds the lease"));
    // A counter that can't count: nothing is granted, and nothing is left behind.
    server.cli(&["DEL", KEY]);
    server.cli(&["SET", "canary/redis:token", "x"]);
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert_eq!(server.cli(&["EXISTS", KEY]), "0");
}
