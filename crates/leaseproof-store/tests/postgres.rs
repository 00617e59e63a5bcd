//! What only PostgreSQL does: row locks that are waited for, roles, logins, standbys, a table that is
//! not there or another's, a server that dies.

#![cfg(feature = "postgres")]

mod postgres_server;

use leaseproof_model::event::{Outcome, Reading};
use leaseproof_store::{Grant, Lease, Refusal, StoreError, StoreUrl, open_administrator, open_lease, open_observer};
use postgres_server::{PostgresServer, skip};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(100);
const KEY: &str = "canary/postgres";

/// The server with its table, or the end of the test.
macro_rules! server {
    ($test:expr) => {
        match PostgresServer::start() {
            Ok(server) => {
                prepare(&server);
                server
            }
            Err(why) => return skip($test, &why),
        }
    };
}

fn url(text: &str) -> StoreUrl {
    text.parse().expect(text)
}

fn prepare(server: &PostgresServer) {
    open_administrator(&url(&server.url()), PATIENT)
        .and_then(|mut lab| lab.prepare())
        .expect("the table can be made");
}

fn owner(server: &PostgresServer) -> Box<dyn Lease> {
    open_lease(&url(&server.url()), PATIENT).expect("lazy")
}

fn granted(owner: &mut dyn Lease, ttl: Duration) -> Grant {
    let done = owner.acquire(KEY, "a", ttl, PATIENT);
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    done.value.expect("a grant comes with applied")
}

fn read(server: &PostgresServer) -> Reading {
    open_observer(&url(&server.url()), PATIENT)
        .and_then(|mut observer| observer.read(KEY))
        .expect("a reading")
        .1
}

/// A session of another client, which has run these statements and holds what they locked.
fn holding(server: &PostgresServer, statements: &str) -> Child {
    // It waits for a lock that the test holds by its name, and ends in whatever way it was told to.
    let child = server.session(
        &[],
        &format!("BEGIN; {statements}; SELECT 'held'; SELECT pg_advisory_xact_lock(1); COMMIT;"),
    );
    server.wait_until("SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
    child
}

/// Holds the advisory lock that sessions wait for, until it is dropped.
struct Gate<'a> {
    server: &'a PostgresServer,
    session: Child,
}

impl<'a> Gate<'a> {
    fn shut(server: &'a PostgresServer) -> Self {
        let session = server.session(&[], "SELECT pg_advisory_lock(1); SELECT pg_sleep(600);");
        server.wait_until("SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND granted");
        Self { server, session }
    }

    fn open(mut self, waiting: Child) {
        self.server.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = 1",
        );
        let _ = self.session.wait();
        let output = waiting.wait_with_output().expect("the other session ends");
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn a_renewal_that_waited_longer_than_the_ttl_revives_nothing() {
    let server = server!("a_renewal_that_waited_longer_than_the_ttl_revives_nothing");
    let mut owner = owner(&server);
    let grant = granted(&mut *owner, SHORT);
    let gate = Gate::shut(&server);
    let other = holding(&server, "SELECT 1 FROM leaseproof_lease FOR UPDATE");
    let renewing = std::thread::spawn(move || {
        let done = owner.renew(&grant, LONG, PATIENT);
        (done, owner.release(&grant, PATIENT))
    });
    server.wait_until("SELECT count(*) = 2 FROM pg_locks WHERE NOT granted");
    // The lease ends while the renewal waits; it was asked for in time.
    server.wait_until("SELECT expires_at < clock_timestamp() FROM leaseproof_lease");
    gate.open(other);
    let (renewed, released) = renewing.join().expect("it ends");
    assert_eq!(renewed.refusal, Some(Refusal::Gone), "{renewed:?}");
    assert_eq!(released.refusal, Some(Refusal::Gone), "{released:?}");
    assert_eq!(
        server.psql("SELECT renewed_at = granted_at AND expires_at < clock_timestamp() FROM leaseproof_lease"),
        "t"
    );
}

#[test]
fn a_grant_that_waited_for_the_row_has_its_whole_ttl() {
    let server = server!("a_grant_that_waited_for_the_row_has_its_whole_ttl");
    granted(&mut *owner(&server), SHORT);
    let gate = Gate::shut(&server);
    let other = holding(&server, "SELECT 1 FROM leaseproof_lease FOR UPDATE");
    let url = url(&server.url());
    let acquiring = std::thread::spawn(move || {
        open_lease(&url, PATIENT)
            .expect("lazy")
            .acquire(KEY, "b", LONG, PATIENT)
    });
    server.wait_until("SELECT count(*) = 2 FROM pg_locks WHERE NOT granted");
    let waiting = server.psql("SELECT clock_timestamp()");
    gate.open(other);
    let done = acquiring.join().expect("it ends");
    assert_eq!(done.value.map(|grant| grant.token.0), Some(2));
    assert_eq!(
        server.psql_with(
            &[("waiting", &waiting)],
            "SELECT granted_at > :'waiting' AND renewed_at = granted_at \
             AND expires_at = granted_at + interval '600 s' FROM leaseproof_lease"
        ),
        "t"
    );
}

#[test]
fn what_was_decided_looks_at_the_row_as_it_is_after_the_lock() {
    let server = server!("what_was_decided_looks_at_the_row_as_it_is_after_the_lock");
    let mut first = owner(&server);
    let grant = granted(&mut *first, LONG);
    for (meanwhile, renewed, acquired) in [
        // The holder itself, on another connection: a renewal after a renewal.
        (
            "renewed_at = clock_timestamp(), expires_at = expires_at + interval '1 s'",
            None,
            Some(Refusal::Held),
        ),
        // Another holder took it over.
        (
            "token = token + 1, incarnation = 'other'",
            Some(Refusal::NotTheHolder),
            Some(Refusal::Held),
        ),
        // It was freed.
        ("holder = NULL", Some(Refusal::Gone), None),
    ] {
        let gate = Gate::shut(&server);
        let other = holding(&server, &format!("UPDATE leaseproof_lease SET {meanwhile}"));
        let (grant, place) = (grant.clone(), url(&server.url()));
        let renewing =
            std::thread::spawn(move || open_lease(&place, PATIENT).expect("lazy").renew(&grant, LONG, PATIENT));
        let place = url(&server.url());
        let acquiring = std::thread::spawn(move || {
            open_lease(&place, PATIENT)
                .expect("lazy")
                .acquire(KEY, "b", LONG, PATIENT)
        });
        server.wait_until("SELECT count(*) >= 3 FROM pg_locks WHERE NOT granted");
        gate.open(other);
        let done = renewing.join().expect("it ends");
        // Where it was freed, the two go in any order.
        if acquired.is_some() || done.refusal != Some(Refusal::NotTheHolder) {
            assert_eq!(done.refusal, renewed, "{meanwhile}: {done:?}");
        }
        assert_eq!(
            done.outcome == Outcome::Applied,
            renewed.is_none(),
            "{meanwhile}: {done:?}"
        );
        let done = acquiring.join().expect("it ends");
        assert_eq!(done.refusal, acquired, "{meanwhile}: {done:?}");
    }
}

#[test]
fn a_row_that_stays_locked_is_an_answer_before_our_patience_ends() {
    let server = server!("a_row_that_stays_locked_is_an_answer_before_our_patience_ends");
    let mut first = owner(&server);
    let grant = granted(&mut *first, LONG);
    let gate = Gate::shut(&server);
    let other = holding(&server, "SELECT 1 FROM leaseproof_lease FOR UPDATE");
    for done in [
        first.renew(&grant, LONG, BRIEF * 5),
        first.release(&grant, BRIEF * 5),
        first.acquire(KEY, "b", LONG, BRIEF * 5).map_unit(),
    ] {
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
        assert!(done.reason.expect("a reason").contains("write lock"));
    }
    // The observer waits for nobody.
    assert_eq!(read(&server).held.map(|held| held.holder), Some(grant.holder.clone()));
    gate.open(other);
    assert_eq!(first.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
}

/// A done operation whose value isn't looked at.
trait MapUnit {
    fn map_unit(self) -> leaseproof_store::Done<()>;
}

impl<T> MapUnit for leaseproof_store::Done<T> {
    fn map_unit(self) -> leaseproof_store::Done<()> {
        leaseproof_store::Done {
            outcome: self.outcome,
            value: self.value.map(|_| ()),
            refusal: self.refusal,
            reason: self.reason,
            during: self.during,
        }
    }
}

#[test]
fn an_expiry_is_proven_when_no_writer_is_in_the_middle() {
    let server = server!("an_expiry_is_proven_when_no_writer_is_in_the_middle");
    let mut observer = open_observer(&url(&server.url()), PATIENT).expect("it opens");
    let grant = granted(&mut *owner(&server), SHORT * 10);
    // An owner of another kind renews in time, and is frozen before its commit.
    let gate = Gate::shut(&server);
    let other = holding(
        &server,
        "UPDATE leaseproof_lease SET renewed_at = clock_timestamp(), \
         expires_at = clock_timestamp() + interval '600 s' WHERE expires_at > clock_timestamp()",
    );
    server.wait_until("SELECT expires_at < clock_timestamp() FROM leaseproof_lease");
    assert!(matches!(observer.read_proving_expiry(KEY), Err(StoreError::Blocked)));
    let held = observer.read(KEY).expect("a reading").1.held.expect("the old row");
    assert_eq!(
        (&held.holder, held.expired, held.write_lock),
        (&grant.holder, false, false)
    );
    gate.open(other);
    // It was renewed in time, and no reading ever said that it was over.
    let (_, reading) = observer.read_proving_expiry(KEY).expect("a reading");
    let held = reading.held.expect("it is held");
    assert!(!held.expired && reading.previous.is_some());
    assert!(held.expires.expect("a TTL").earliest > reading_now(&mut *observer));
}

fn reading_now(observer: &mut dyn leaseproof_store::Observe) -> leaseproof_model::clock::BootNanos {
    observer.read(KEY).expect("a reading").0.latest
}

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
fn foreign_rows_are_compared_and_not_disclosed() {
    let server = server!("foreign_rows_are_compared_and_not_disclosed");
    let mut observer = open_observer(&url(&server.url()), PATIENT).expect("it opens");
    server.psql_with(
        &[("key", KEY)],
        "INSERT INTO leaseproof_lease (key, holder, token, expires_at) VALUES (:'key', 'my-secret', 4, 'infinity')",
    );
    let (_, first) = observer.read(KEY).expect("a reading");
    assert!(!format!("{first:?}").contains("secret"));
    let held = first.held.expect("it is held");
    assert!(held.holder.as_str().starts_with("value#"));
    assert_eq!((held.expires, held.expired), (None, false), "for ever is no TTL");
    // A foreign client's lock is a lock.
    let mut owner = owner(&server);
    assert_eq!(owner.acquire(KEY, "a", LONG, PATIENT).refusal, Some(Refusal::Held));
    server.psql("UPDATE leaseproof_lease SET holder = 'another'");
    let (_, second) = observer.read(KEY).expect("a reading");
    assert!(second.previous.is_some());
    assert_ne!(second.held.expect("it is held").holder, held.holder);
    // A lease that ended before all time, and a counter that can't count: nothing is granted.
    server.psql("UPDATE leaseproof_lease SET expires_at = '-infinity', token = 9223372036854775807");
    assert!(
        observer
            .read_proving_expiry(KEY)
            .expect("a reading")
            .1
            .held
            .expect("the row")
            .expired
    );
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    // Names that the server can't store are refused by it.
    let done = owner.acquire("canary/\0", "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(observer.read("canary/\0").is_err());
    observer.read(KEY).expect("and the connection goes on");
}

#[test]
fn a_standby_is_seen_and_never_written() {
    let test = "a_standby_is_seen_and_never_written";
    let server = server!(test);
    let standby = match server.start_standby() {
        Ok(standby) => standby,
        Err(why) => return skip(test, &why),
    };
    let grant = granted(&mut *owner(&server), LONG);
    let url = url(&standby.url());
    let mut observer = open_observer(&url, PATIENT).expect("it may be looked at");
    standby.wait_until("SELECT count(*) > 0 FROM leaseproof_lease");
    let reading = observer.read(KEY).expect("a reading").1;
    assert_eq!(reading.held.map(|held| held.holder), Some(grant.holder.clone()));
    let epoch = reading.epoch.expect("an epoch");
    assert!(epoch.ends_with("/replica"), "{epoch}");
    let error = open_administrator(&url, PATIENT).err().expect("a standby").to_string();
    assert!(
        error.contains(&format!("a replica of 127.0.0.1:{}", server.port())),
        "{error}"
    );
    let mut late = open_lease(&url, PATIENT).expect("lazy");
    let done = late.renew(&grant, LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(done.reason.expect("a reason").contains("give the primary's URL"));
    // It becomes the primary: the same files go on, and it is another epoch.
    standby.psql("SELECT pg_promote()");
    standby.wait_until("SELECT NOT pg_is_in_recovery()");
    let promoted = observer.read(KEY).expect("a reading").1.epoch.expect("an epoch");
    assert_ne!(promoted, epoch);
    assert!(promoted.ends_with("/primary"), "{promoted}");
    late.reconnect();
    assert_eq!(late.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
}

#[test]
fn a_server_that_dies_and_comes_back() {
    let mut server = server!("a_server_that_dies_and_comes_back");
    let url = url(&server.url());
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let mut owner = owner(&server);
    let grant = granted(&mut *owner, LONG);
    let before = observer.read(KEY).expect("a reading").1.epoch;
    server.kill();
    let done = owner.renew(&grant, LONG, BRIEF);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(done.reason.expect("a reason").contains("no store answers"));
    assert!(matches!(observer.read(KEY), Err(StoreError::Unreachable { .. })));
    server.start_again();
    let (_, reading) = observer.read(KEY).expect("it connects by itself");
    assert_ne!(reading.epoch, before, "another process answers");
    assert_eq!(
        reading.held.map(|held| held.holder),
        Some(grant.holder.clone()),
        "nothing was lost"
    );
    assert!(reading.previous.is_some());
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
}

#[test]
fn a_connection_closed_in_between_loses_no_request() {
    let server = server!("a_connection_closed_in_between_loses_no_request");
    let mut owner = owner(&server);
    let grant = granted(&mut *owner, LONG);
    for _ in 0..20 {
        server.psql(
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity \
             WHERE application_name = 'leaseproof'",
        );
        let done = owner.renew(&grant, LONG, PATIENT);
        assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    }
}

#[test]
fn a_request_that_was_sent_may_still_be_applied() {
    let server = server!("a_request_that_was_sent_may_still_be_applied");
    let mut owner = owner(&server);
    // A connection is there, so that the request leaves.
    let first = granted(&mut *owner, LONG);
    assert_eq!(owner.release(&first, PATIENT).outcome, Outcome::Applied);
    server.freeze();
    let done = owner.acquire(KEY, "a", LONG, BRIEF);
    assert_eq!(done.outcome, Outcome::Unknown, "{done:?}");
    server.thaw();
    // Here it is, though nobody was told.
    server.wait_until("SELECT token = 2 AND holder IS NOT NULL FROM leaseproof_lease");
    assert_eq!(read(&server).counter.map(|token| token.0), Some(2));
    // Without a connection nothing can have been sent.
    owner.reconnect();
    server.freeze();
    let done = owner.acquire("canary/never", "a", LONG, BRIEF);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    server.thaw();
    assert_eq!(
        server.psql("SELECT count(*) FROM leaseproof_lease WHERE key = 'canary/never'"),
        "0"
    );
}

#[test]
fn a_crash_takes_no_grant_back_where_commits_are_lazy() {
    let server = server!("a_crash_takes_no_grant_back_where_commits_are_lazy");
    server.psql("CREATE ROLE lazy LOGIN SUPERUSER PASSWORD 'pw'; ALTER ROLE lazy SET synchronous_commit = off;");
    server.psql("ALTER ROLE lazy SET default_transaction_isolation = 'serializable'");
    // What the owner's session has, by a trigger that looks at it.
    server.psql(
        "CREATE TABLE seen (setting text); \
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         INSERT INTO seen VALUES (current_setting('synchronous_commit')), (current_setting('transaction_isolation')); \
         RETURN new; END $$; \
         CREATE TRIGGER note BEFORE INSERT ON leaseproof_lease FOR EACH ROW EXECUTE FUNCTION note();",
    );
    let lazy = url(&format!("postgres://lazy:pw@127.0.0.1:{}/postgres", server.port()));
    granted(&mut *open_lease(&lazy, PATIENT).expect("lazy"), LONG);
    assert_eq!(
        server.psql("SELECT DISTINCT setting FROM seen ORDER BY 1"),
        "local\nread committed"
    );
    // An observer's session writes nothing, whoever it logs in as.
    let mut observer = open_observer(&lazy, PATIENT).expect("it opens");
    observer.read(KEY).expect("a reading");
}

/// A certificate of our own for `localhost`, by the openssl command, in the server's own folder.
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
fn the_page_prints_what_it_says() {
    const PAGE: &str = include_str!("../../../docs/stores/postgres.md");
    let server = match PostgresServer::start() {
        Ok(server) => server,
        Err(why) => return skip("the_page_prints_what_it_says", &why),
    };
    let blocks = |language: &str| -> Vec<&str> {
        PAGE.split(&format!("```{language}\n"))
            .skip(1)
            .filter_map(|rest| rest.split("```").next())
            .collect()
    };
    let printed = server.psql(&blocks("sql").join("\n"));
    assert_eq!(printed, blocks("text").concat().trim_end());
    // Its table is the adapter's.
    prepare(&server);
    let grant = granted(&mut *owner(&server), LONG);
    assert_eq!(read(&server).held.map(|held| held.holder), Some(grant.holder));
}

#[test]
fn many_keys_under_a_prefix_are_counted_within_bounds() {
    let server = server!("many_keys_under_a_prefix_are_counted_within_bounds");
    server.psql(
        "INSERT INTO leaseproof_lease (key, token) SELECT 'canary/' || n, 1 FROM generate_series(1, 100000) AS n; \
         INSERT INTO leaseproof_lease (key, token) VALUES ('mine', 1), ('canary', 1);",
    );
    let mut lab = open_administrator(&url(&server.url()), PATIENT).expect("it opens");
    assert_eq!(lab.foreign_keys("canary/").expect("a count"), 2);
    assert_eq!(lab.foreign_keys("").expect("a count"), 0);
    assert_eq!(lab.foreign_keys("other/").expect("a count"), 1000, "enough to know");
    let keys: Vec<String> = (1..=2500).map(|n| format!("canary/{n}")).collect();
    assert_eq!(lab.clean(&keys).expect("it cleans"), 2500);
    assert_eq!(server.psql("SELECT count(*) FROM leaseproof_lease"), "97502");
}

/// A server that answers one client with these bytes.
fn answering(bytes: &'static [u8]) -> (u16, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(bytes);
        // Until the client goes: an end of the stream would tell it something.
        let _ = stream.set_read_timeout(Some(PATIENT));
        while matches!(stream.read(&mut [0; 512]), Ok(1..)) {}
    });
    (port, server)
}

#[test]
fn what_is_no_postgresql_is_named() {
    for bytes in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"-ERR unknown command\r\n",
        b"\x15\x03\x01\x00\x02\x02\x28",
    ] {
        for options in ["", "?sslmode=require"] {
            let (port, server) = answering(bytes);
            let text = format!("postgres://me:hunter2@127.0.0.1:{port}/db{options}");
            let error = open_observer(&url(&text), BRIEF).err().expect("it is another server");
            let words = error.to_string();
            server.join().expect("the server ends");
            assert!(
                words.contains("is it a PostgreSQL server?"),
                "{bytes:?}{options}: {words}"
            );
            assert!(!words.contains("hunter2"), "{words}");
        }
    }
    // An answer cut in the middle, and one that is too long to be any.
    for bytes in [&b"R\x00\x00\x00\x08\x00\x00"[..], b"R\x7f\xff\xff\xff\x00\x00"] {
        let (port, server) = answering(bytes);
        let text = format!("postgres://me:hunter2@127.0.0.1:{port}/db");
        let error = open_observer(&url(&text), BRIEF).err().expect("no answer");
        server.join().expect("the server ends");
        assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let error = open_observer(&url(&format!("postgres://me@127.0.0.1:{port}/db")), PATIENT).err();
    let words = error.expect("nobody listens").to_string();
    assert!(
        words.contains("no store answers") && words.contains("refused"),
        "{words}"
    );
}
