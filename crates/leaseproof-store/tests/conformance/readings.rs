//! What a reading says of the time before it, and what a store that does not answer leaves open.

use crate::LONG;
use crate::answers::{applied, granted, not_expressible};
use crate::rig::{PATIENT, Rig};
use leaseproof_model::event::Outcome;

pub fn bracket(rig: &Rig, key: &str) {
    let (mut owner, mut observer) = (rig.owner(), rig.observer());
    let (first, reading) = observer.read(key).expect("a reading");
    assert_eq!(reading.previous, None, "nothing was seen before");
    let grant = granted(owner.acquire(key, "a", LONG, PATIENT));
    let (_, reading) = observer.read(key).expect("a reading");
    assert_eq!(reading.previous, Some(first.earliest), "it appeared since");
    let (third, reading) = observer.read(key).expect("a reading");
    assert_eq!(reading.previous, None, "the round trip is no change");
    // The expiry is a whole millisecond on Redis, a whole second on etcd: a renewal within it may move
    // nothing that is shown.
    let third = rig.look_on(&mut *observer, key, third);
    applied(&owner.renew(&grant, LONG, PATIENT));
    let (_, reading) = observer.read(key).expect("a reading");
    if observer.facts().shows_renewals {
        assert_eq!(reading.previous, Some(third.earliest), "the expiry moved");
    } else {
        not_expressible(rig, "a renewal that is seen", "nothing of a session's time shows");
        assert_eq!(reading.previous, None);
        applied(&owner.release(&grant, PATIENT));
        assert!(observer.read(key).expect("a reading").1.previous.is_some(), "it went");
    }
}

pub fn unknown(rig: &Rig, key: &str) {
    let brief = rig.can.brief;
    let mut owner = rig.owner();
    let grant = granted(owner.acquire(key, "a", LONG, PATIENT));
    let mut observer = leaseproof_store::open_observer(&rig.url, brief).expect("an observer");
    rig.freeze();
    let done = owner.renew(&grant, 2 * LONG, brief);
    let (read, proof) = (observer.read(key), observer.read_proving_expiry(key));
    rig.thaw();
    // On SQLite it certainly did not happen, over a network nobody knows; nobody was refused.
    let expected = if rig.can.networked {
        Outcome::Unknown
    } else {
        Outcome::NotApplied
    };
    assert_eq!((done.outcome, done.refusal), (expected, None), "{done:?}");
    assert!(done.during.uncertainty() >= brief);
    assert_eq!(read.is_ok(), !rig.can.networked, "a frozen writer blocks no reader");
    assert!(proof.is_err(), "nothing is proven while the store is frozen");
    // The same connection goes on, and answers to forgotten requests are not mixed up.
    applied(&owner.renew(&grant, LONG, PATIENT));
    applied(&owner.release(&grant, PATIENT));
    assert_eq!(rig.plain(key), None);
}
