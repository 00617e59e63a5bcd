//! Row locks that are waited for, and what a row says.

use super::*;

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
            store_time: self.store_time,
            needs_mending: self.needs_mending,
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
fn a_token_that_can_not_be_counted_up_grants_nothing() {
    let server = server!("a_token_that_can_not_be_counted_up_grants_nothing");
    let mut first = owner(&server);
    let grant = granted(&mut *first, LONG);
    assert_eq!(first.release(&grant, PATIENT).outcome, Outcome::Applied);
    let mut lab = open_administrator(&url(&server.url()), PATIENT).expect("it opens");
    for token in ["9223372036854775807", "-1", "-3", "-9223372036854775808"] {
        server.psql(&format!("UPDATE leaseproof_lease SET token = {token}"));
        for done in [first.acquire(KEY, "b", LONG, PATIENT), lab.steal(KEY, "lab", LONG)] {
            assert_eq!(
                (done.outcome, done.refusal),
                (Outcome::NotApplied, None),
                "{token}: {done:?}"
            );
            assert!(done.reason.expect("a reason").contains("no greater token can come"));
        }
        let row = server.psql("SELECT token, holder IS NULL FROM leaseproof_lease");
        assert_eq!(row, format!("{token}|t"), "nobody holds it");
    }
    server.psql("UPDATE leaseproof_lease SET token = 9223372036854775806");
    assert_eq!(granted(&mut *first, LONG).token.0, 9_223_372_036_854_775_807);
}
