//! Who may do what, by which login, and what is sent for it.

use super::*;

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
    assert_eq!(sent, ["exec", "getrange", "info", "multi", "pexpiretime", "time"]);
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
