//! Servers that restart, pause, change their leader, or answer by half.

use super::relay::Relay;
use super::*;

on_each_version! {
    a_restart_with_its_data_keeps_the_lease_and_one_without_loses_it,
    a_change_of_leader_is_another_epoch_and_no_renewal,
    a_paused_server_leaves_unknown_what_was_sent,
    an_answer_cut_in_the_middle_is_unknown,
}

fn a_restart_with_its_data_keeps_the_lease_and_one_without_loses_it(version: Version) {
    let mut server = server!(
        version,
        "a_restart_with_its_data_keeps_the_lease_and_one_without_loses_it"
    );
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

fn a_change_of_leader_is_another_epoch_and_no_renewal(version: Version) {
    let test = "a_change_of_leader_is_another_epoch_and_no_renewal";
    let mut members = match EtcdServer::start_cluster_of(version) {
        Ok(members) => members,
        Err(why) => return skip(&format!("{test} ({version:?})"), &why),
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

fn a_paused_server_leaves_unknown_what_was_sent(version: Version) {
    let server = server!(version, "a_paused_server_leaves_unknown_what_was_sent");
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

fn an_answer_cut_in_the_middle_is_unknown(version: Version) {
    let server = server!(version, "an_answer_cut_in_the_middle_is_unknown");
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
