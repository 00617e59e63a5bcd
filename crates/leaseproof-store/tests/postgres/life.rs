//! Standbys, servers that die, requests of which nobody knows.

use super::*;

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
