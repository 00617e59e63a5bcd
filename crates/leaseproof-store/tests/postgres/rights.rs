//! Who may do what, by which login, over which wire.

use super::*;

#[test]
fn a_reading_needs_no_more_than_select() {
    let server = server!("a_reading_needs_no_more_than_select");
    server.psql("CREATE ROLE reader LOGIN PASSWORD 'pw'; GRANT SELECT ON leaseproof_lease TO reader;");
    let reader = url(&format!("postgres://reader:pw@127.0.0.1:{}/postgres", server.port()));
    let mut observer = open_observer(&reader, PATIENT).expect("it opens");
    let grant = granted(&mut *owner(&server), SHORT);
    let reading = observer.read(KEY).expect("a reading").1;
    assert_eq!(reading.held.map(|held| held.holder), Some(grant.holder));
    assert!(reading.epoch.expect("an epoch").ends_with("/primary"));
    // It proves an expiry, too.
    server.wait_until("SELECT expires_at < clock_timestamp() FROM leaseproof_lease");
    let held = observer
        .read_proving_expiry(KEY)
        .expect("a reading")
        .1
        .held
        .expect("the row");
    assert!(held.expired && held.write_lock);
    // It can read, and that is all.
    let done = open_lease(&reader, PATIENT)
        .expect("lazy")
        .acquire(KEY, "b", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(done.reason.expect("a reason").contains("permission"));
    // Where listing locks was taken away, nothing is proven, and nobody is said to be in the way.
    server.psql("REVOKE SELECT ON pg_locks FROM PUBLIC");
    let mut observer = open_observer(&reader, PATIENT).expect("it opens");
    let held = observer
        .read_proving_expiry(KEY)
        .expect("a reading")
        .1
        .held
        .expect("the row");
    assert!(!held.expired && !held.write_lock);
}

#[test]
fn an_owner_needs_no_right_to_make_or_remove_anything() {
    let server = server!("an_owner_needs_no_right_to_make_or_remove_anything");
    server.psql(
        "CREATE ROLE worker LOGIN PASSWORD 'p@ss:w/rd'; \
         GRANT SELECT, INSERT, UPDATE ON leaseproof_lease TO worker;",
    );
    let worker = url(&format!(
        "postgresql://worker:p%40ss%3Aw%2Frd@127.0.0.1:{}/postgres?table=public.leaseproof_lease",
        server.port()
    ));
    let mut owner = open_lease(&worker, PATIENT).expect("lazy");
    let grant = granted(&mut *owner, LONG);
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
    assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
    // What is there already needs no right to be made.
    let mut lab = open_administrator(&worker, PATIENT).expect("it opens");
    lab.prepare().expect("it is there");
    let error = lab
        .clean(&[KEY.to_owned()])
        .expect_err("no right to remove")
        .to_string();
    assert!(error.contains("permission"), "{error}");
}

#[test]
fn logins_and_tables() {
    let server = server!("logins_and_tables");
    server.psql(
        "CREATE ROLE me LOGIN PASSWORD 'hunter2'; CREATE DATABASE me; \
         CREATE TABLE other (key text PRIMARY KEY, id int); CREATE TABLE ints (key int, token text);",
    );
    let port = server.port();
    for (text, part) in [
        (
            format!("postgres://me@127.0.0.1:{port}/postgres"),
            "put it into the URL",
        ),
        (
            format!("postgres://me:hunter3@127.0.0.1:{port}/postgres"),
            "pg_hba.conf",
        ),
        (
            format!("postgres://nobody:hunter3@127.0.0.1:{port}/postgres"),
            "pg_hba.conf",
        ),
        (
            format!("postgres://postgres@127.0.0.1:{port}/nowhere"),
            "name a database",
        ),
    ] {
        let error = open_observer(&url(&text), PATIENT).err().expect(&text);
        let words = error.to_string();
        assert!(matches!(error, StoreError::Refused { .. }), "{text}: {words}");
        assert!(words.contains(part), "{text}: {words}");
        assert!(!words.contains("hunter"), "{words}");
        let done = open_lease(&url(&text), PATIENT)
            .expect("lazy")
            .acquire(KEY, "a", LONG, PATIENT);
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None));
    }
    // Without a database it is the user's, and there is no table yet.
    let mine = url(&format!("postgres://me:hunter2@127.0.0.1:{port}"));
    let mut observer = open_observer(&mine, PATIENT).expect("it opens");
    let error = observer.read(KEY).expect_err("no table").to_string();
    assert!(error.contains("no table of leases leaseproof_lease"), "{error}");
    let done = open_lease(&mine, PATIENT)
        .expect("lazy")
        .acquire(KEY, "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    let mut lab = open_administrator(&mine, PATIENT).expect("it opens");
    assert_eq!(lab.foreign_keys("canary/").expect("no table, no keys"), 0);
    let error = lab.prepare().expect_err("no right to make one").to_string();
    assert!(error.contains("permission"), "{error}");
    for table in ["other", "ints", "nowhere.leases"] {
        let text = format!("{}?table={table}", server.url());
        let mut lab = open_administrator(&url(&text), PATIENT).expect("it opens");
        let error = lab.prepare().expect_err("no table of leases").to_string();
        assert!(error.contains("table of leases"), "{error}");
    }
    // Two who make it at once both find it.
    let text = format!("{}?table=both", server.url());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                open_administrator(&url(&text), PATIENT)
                    .and_then(|mut lab| lab.prepare())
                    .expect("it is made once");
            });
        }
    });
}

#[test]
fn tls() {
    let mut server = server!("tls");
    if let Err(why) = certificate(&server.folder()) {
        return skip("tls", &why);
    }
    let port = server.port();
    let no_tls = url(&format!(
        "postgres://postgres@localhost:{port}/postgres?sslmode=require"
    ));
    let error = open_observer(&no_tls, PATIENT).err().expect("it has none").to_string();
    assert!(
        error.contains("speaks no TLS") || error.contains("no certificate"),
        "{error}"
    );
    server.own_file("key.pem");
    server.psql(
        "ALTER SYSTEM SET ssl_cert_file = '../ca.pem'; ALTER SYSTEM SET ssl_key_file = '../key.pem'; \
         ALTER SYSTEM SET ssl = on; CREATE ROLE me LOGIN SUPERUSER PASSWORD 'pw';",
    );
    server.kill();
    server.start_again();
    let ca = server.folder().join("ca.pem").display().to_string();
    let good = url(&format!(
        "postgres://me:pw@localhost:{port}/postgres?sslmode=verify-full&ca={ca}"
    ));
    let mut owner = open_lease(&good, PATIENT).expect("lazy");
    let grant = granted(&mut *owner, LONG);
    assert_eq!(
        server.psql("SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND usename = 'me'"),
        "1"
    );
    // Through a relay the certificate is still asked for by its own name.
    let relayed = good.with_host_port("127.0.0.1", relay(port));
    let held = open_observer(&relayed, PATIENT)
        .expect("through the relay")
        .read(KEY)
        .expect("a reading");
    assert_eq!(held.1.held.map(|held| held.holder), Some(grant.holder));
    // Not trusted, and not by that name: require asks for no less.
    for bad in [
        format!("postgres://me:pw@localhost:{port}/postgres?sslmode=require"),
        format!("postgres://me:pw@127.0.0.1:{port}/postgres?sslmode=require&ca={ca}"),
        format!("postgres://me:pw@localhost:{port}/postgres?sslmode=require&ca={ca}&server_name=example.org"),
    ] {
        let error = open_observer(&url(&bad), PATIENT).err().expect(&bad);
        let words = error.to_string();
        assert!(words.contains("certificate"), "{bad}: {words}");
        assert!(!words.contains("pw@"), "{words}");
    }
    let bad = url(&format!(
        "postgres://localhost:{port}/d?sslmode=require&ca=/nowhere.pem"
    ));
    let error = open_lease(&bad, PATIENT).err().expect("no CA").to_string();
    assert!(error.contains("can't be used"), "{error}");
    // A server that wants TLS tells those who come without.
    server.allow("hostssl all all 127.0.0.1/32 scram-sha-256");
    let plain = url(&format!("postgres://me:pw@localhost:{port}/postgres"));
    let error = open_observer(&plain, PATIENT).err().expect("no TLS").to_string();
    assert!(error.contains("no encryption"), "{error}");
}

#[test]
fn what_is_no_plain_table_is_refused() {
    let server = server!("what_is_no_plain_table_is_refused");
    server.psql(
        "CREATE VIEW seen AS SELECT * FROM leaseproof_lease; \
         CREATE TABLE parts (LIKE leaseproof_lease) PARTITION BY LIST (key); \
         CREATE TABLE part PARTITION OF parts DEFAULT; \
         CREATE TABLE heir () INHERITS (leaseproof_lease); \
         CREATE TABLE plain (LIKE leaseproof_lease);",
    );
    for (table, part) in [
        ("seen", "public.seen is a view"),
        ("parts", "public.parts is a partitioned table"),
        ("part", "a partition"),
        ("heir", "inherits from another"),
        ("leaseproof_lease", "that others inherit from"),
    ] {
        let store = url(&format!("{}?table={table}", server.url()));
        for error in [
            open_observer(&store, PATIENT).err(),
            open_administrator(&store, PATIENT).err(),
            open_inspector(&store, PATIENT).err(),
        ] {
            let error = error.expect(table);
            assert!(matches!(error, StoreError::Refused { .. }), "{error}");
            let words = error.to_string();
            assert!(words.contains(part) && words.contains("?table=NAME"), "{words}");
        }
        let done = open_lease(&store, PATIENT)
            .expect("lazy")
            .acquire(KEY, "a", LONG, PATIENT);
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    }
    let plain = url(&format!("{}?table=plain", server.url()));
    let mut observer = open_observer(&plain, PATIENT).expect("it is plain");
    assert_eq!(observer.read(KEY).expect("a reading").1.held, None);
}

#[test]
fn a_row_that_a_policy_may_hide_is_not_called_free() {
    let server = server!("a_row_that_a_policy_may_hide_is_not_called_free");
    let grant = granted(&mut *owner(&server), LONG);
    server.psql(
        "CREATE ROLE tenant LOGIN PASSWORD 'pw'; CREATE ROLE auditor LOGIN BYPASSRLS PASSWORD 'pw'; \
         GRANT SELECT ON leaseproof_lease TO tenant, auditor; \
         ALTER TABLE leaseproof_lease ENABLE ROW LEVEL SECURITY; \
         CREATE POLICY own ON leaseproof_lease USING (holder = current_user);",
    );
    let by = |user: &str| url(&format!("postgres://{user}:pw@127.0.0.1:{}/postgres", server.port()));
    let mut tenant = open_observer(&by("tenant"), PATIENT).expect("it opens");
    let mut look = open_inspector(&by("tenant"), PATIENT).expect("it opens");
    for error in [
        tenant.read(KEY).err(),
        tenant.read_many(&[KEY]).err(),
        tenant.leases_below("", 9).err(),
        look.form(KEY.as_bytes()).err(),
    ] {
        let words = error.expect("a policy may hide it").to_string();
        assert!(
            words.contains("row-level security") && words.contains("BYPASSRLS"),
            "{words}"
        );
    }
    for user in [by("auditor"), url(&server.url())] {
        let held = open_observer(&user, PATIENT)
            .and_then(|mut observer| observer.read(KEY))
            .expect("nothing is hidden from it")
            .1
            .held;
        assert_eq!(held.map(|held| held.holder), Some(grant.holder.clone()));
    }
}

#[test]
fn a_look_names_the_schema() {
    let server = server!("a_look_names_the_schema");
    let namespace = |text: &str| {
        open_inspector(&url(text), PATIENT)
            .and_then(|mut look| look.form(KEY.as_bytes()))
            .expect(text)
            .namespace
    };
    assert_eq!(namespace(&server.url()), "table public.leaseproof_lease: 0 rows");
    // The search path begins with a schema of the user's own name.
    server.psql(
        "CREATE ROLE \"my-app\" LOGIN PASSWORD 'pw'; CREATE SCHEMA \"my-app\" AUTHORIZATION \"my-app\"; \
         CREATE TABLE \"my-app\".leaseproof_lease (LIKE leaseproof_lease INCLUDING ALL); \
         GRANT SELECT ON \"my-app\".leaseproof_lease TO \"my-app\";",
    );
    let shadowed = format!("postgres://my-app:pw@127.0.0.1:{}/postgres", server.port());
    assert_eq!(namespace(&shadowed), "table \"my-app\".leaseproof_lease: 0 rows");
    let by_hand = open_inspector(&url(&shadowed), PATIENT)
        .expect("it opens")
        .by_hand(KEY.as_bytes());
    assert!(by_hand[0].contains("FROM \"my-app\".leaseproof_lease"), "{by_hand:?}");
}
