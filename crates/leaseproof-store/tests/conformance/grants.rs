//! Who gets a lease, keeps it, and gives it back.

use crate::LONG;
use crate::answers::{applied, granted, not_expressible, plainly_counted, plainly_held_by, refused};
use crate::rig::{PATIENT, Rig};
use leaseproof_model::event::{Outcome, Reading};
use leaseproof_store::Refusal;

pub fn grant(rig: &Rig, key: &str) {
    let mut observer = rig.observer();
    let facts = observer.facts().clone();
    let (_, before) = observer.read(key).expect("a reading");
    assert_eq!((before.held, before.previous), (None, None));
    let done = rig.owner().acquire(key, "a1", LONG, PATIENT);
    let during = done.during;
    let grant = granted(done);
    if rig.can.counts_tokens {
        assert_eq!(grant.token.0, 1);
    } else {
        not_expressible(
            rig,
            "the first token is 1",
            "tokens are numbers of the whole store's log, or the greatest of several counters",
        );
    }
    assert!(grant.holder.as_str().starts_with("a1#"));
    plainly_held_by(rig, &grant);
    let (at, reading) = observer.read(key).expect("a reading");
    assert!(at.earliest <= at.latest);
    assert_eq!(reading.counter, rig.can.counts_tokens.then_some(grant.token));
    assert!(reading.epoch.is_some());
    assert_eq!(reading.server_ns.is_some(), rig.can.shows_clock);
    let held = reading.held.expect("it is held");
    assert_eq!((held.holder, held.token), (grant.holder, Some(grant.token)));
    assert!(!held.expired);
    if facts.shows_expiry {
        assert_eq!(held.bound, None);
        // The two intervals for the one expiry must meet: counted from the grant, read from the store.
        let expires = held.expires.expect("it has a TTL");
        assert!(expires.latest >= during.earliest.plus(LONG).minus(facts.early_slack));
        assert!(expires.earliest <= during.latest.plus(LONG).plus(facts.late_bound));
    } else {
        not_expressible(rig, "when a grant will expire", "only the TTL that was granted shows");
        assert_eq!((held.expires, held.bound), (None, Some(LONG)));
    }
    assert_eq!(held.granted.is_some(), facts.exact_moments);
    if let Some(granted) = held.granted {
        assert!(during.earliest <= granted && granted <= during.latest);
        assert_eq!(held.renewed, Some(granted));
    }
}

pub fn refuse(rig: &Rig, key: &str) {
    let grant = granted(rig.owner().acquire(key, "a", LONG, PATIENT));
    refused(&rig.owner().acquire(key, "b", LONG, PATIENT), Refusal::Held);
    // The same name is another grant.
    refused(&rig.owner().acquire(key, "a", LONG, PATIENT), Refusal::Held);
    plainly_held_by(rig, &grant);
    plainly_counted(rig, key, 1);
}

pub fn renew(rig: &Rig, key: &str) {
    let (mut owner, mut observer) = (rig.owner(), rig.observer());
    let grant = granted(owner.acquire(key, "a", LONG, PATIENT));
    let expiry = |reading: Reading| reading.held.and_then(|held| held.expires);
    let before = expiry(observer.read(key).expect("a reading").1);
    let mut other = grant.clone();
    other.holder = format!("{}0", grant.holder).into();
    refused(&owner.renew(&other, LONG, PATIENT), Refusal::NotTheHolder);
    let mut other = grant.clone();
    other.token.0 += 1;
    refused(&owner.renew(&other, LONG, PATIENT), Refusal::NotTheHolder);
    refused(&owner.release(&other, PATIENT), Refusal::NotTheHolder);
    plainly_counted(rig, key, 1);
    if rig.can.renews_to_another_ttl {
        applied(&owner.renew(&grant, 2 * LONG, PATIENT));
        let after = expiry(observer.read(key).expect("a reading").1).expect("a TTL");
        assert!(after.earliest > before.expect("a TTL").latest.plus(LONG / 2));
    } else {
        not_expressible(rig, "a renewal to another TTL", "a lease keeps the TTL of its grant");
        // It was extended, and not to what was asked: nobody may believe in that.
        let done = owner.renew(&grant, 2 * LONG, PATIENT);
        assert_eq!((done.outcome, done.refusal), (Outcome::Unknown, None), "{done:?}");
    }
    plainly_held_by(rig, &grant);
    let mut absent = grant;
    absent.key += "/absent";
    refused(&owner.renew(&absent, LONG, PATIENT), Refusal::Gone);
}

pub fn release(rig: &Rig, key: &str) {
    let mut owner = rig.owner();
    let grant = granted(owner.acquire(key, "a", LONG, PATIENT));
    applied(&owner.release(&grant, PATIENT));
    assert_eq!(rig.plain(key), None);
    refused(&owner.release(&grant, PATIENT), Refusal::Gone);
    granted(rig.owner().acquire(key, "b", LONG, PATIENT));
}

pub fn reconnect(rig: &Rig, key: &str) {
    let mut owner = rig.owner();
    owner.reconnect();
    let grant = granted(owner.acquire(key, "a", LONG, PATIENT));
    owner.reconnect();
    applied(&owner.renew(&grant, LONG, PATIENT));
    // Whoever has the grant is its holder, in whatever process.
    applied(&rig.owner().release(&grant, PATIENT));
}

pub fn hostile(rig: &Rig, key: &str) {
    let key = format!("{key}/it's \"two words\"; DROP TABLE lease; -- #1# %s {{}}\n</script>");
    let holder = "a#b #1' \u{1f512}";
    let mut owner = rig.owner();
    let grant = granted(owner.acquire(&key, holder, LONG, PATIENT));
    let held = rig
        .observer()
        .read(&key)
        .expect("a reading")
        .1
        .held
        .expect("it is held");
    assert_eq!((&held.holder, held.token), (&grant.holder, Some(grant.token)));
    applied(&owner.renew(&grant, LONG, PATIENT));
    applied(&owner.release(&grant, PATIENT));
}
