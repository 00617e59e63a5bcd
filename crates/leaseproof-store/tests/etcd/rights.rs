//! Who may do what, by which login, over which wire, and what is sent for it.

use super::relay::Relay;
use super::*;

on_each_version! {
    a_reading_needs_no_more_than_reading_rights,
    an_observer_sends_only_what_it_says,
    logins,
    tls,
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

fn a_reading_needs_no_more_than_reading_rights(version: Version) {
    let server = server!(version, "a_reading_needs_no_more_than_reading_rights");
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

fn an_observer_sends_only_what_it_says(version: Version) {
    let server = server!(version, "an_observer_sends_only_what_it_says");
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

fn logins(version: Version) {
    let mut server = server!(version, "logins");
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

fn tls(version: Version) {
    let folder = tempfile::tempdir().expect("a folder");
    if let Err(why) = certificate(folder.path()) {
        return skip("tls", &why);
    }
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (ca, key) = (file("ca.pem"), file("key.pem"));
    let server = server!(version, "tls", &["--cert-file", &ca, "--key-file", &key]);
    let port = server.port();
    let good = url(&format!("etcds://localhost:{port}?ca={ca}"));
    let mut owner = open_lease(&good, PATIENT).expect("lazy");
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    let grant = done.value.clone().unwrap_or_else(|| panic!("{done:?}"));
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
    // Many at once, which go by gRPC.
    let mut many = open_observer(&good, PATIENT).expect("it opens");
    for _ in 0..2 {
        let mut answers = many.read_many(&[KEY]).expect("it answers");
        let (_, reading) = answers.remove(0).expect("a reading");
        assert!(reading.held.expect("it is held").expires.is_some());
    }
    assert_eq!(many.note(), None);
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
    let plain = server!(version, "tls");
    let text = format!("etcds://localhost:{}?ca={ca}", plain.port());
    assert!(open_observer(&url(&text), PATIENT).is_err());
}
