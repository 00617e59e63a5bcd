//! What the lab does to leases, and what it leaves alone.

use crate::LONG;
use crate::answers::{applied, granted, not_expressible, plainly_counted, plainly_held_by, refused};
use crate::rig::{PATIENT, Rig};
use leaseproof_model::event::Outcome;
use leaseproof_store::{Administer, Refusal};

pub fn steal(rig: &Rig, key: &str) {
    let (mut owner, mut lab) = (rig.owner(), rig.lab());
    let victim = granted(owner.acquire(key, "a", LONG, PATIENT));
    let thief = granted(lab.steal(key, "lab", LONG));
    plainly_held_by(rig, &thief);
    assert!(thief.token > victim.token);
    refused(&owner.renew(&victim, LONG, PATIENT), Refusal::NotTheHolder);
    refused(&owner.release(&victim, PATIENT), Refusal::NotTheHolder);
    // The thief is a holder like any other.
    if rig.anyone_renews() {
        applied(&owner.renew(&thief, LONG, PATIENT));
    } else {
        not_expressible(
            rig,
            "a renewal by another client",
            "only a session's own client can extend it",
        );
        let done = owner.renew(&thief, LONG, PATIENT);
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    }
    applied(&owner.release(&thief, PATIENT));
    granted(lab.steal(key, "lab", LONG));
}

pub fn delete(rig: &Rig, key: &str) {
    let (mut owner, mut lab) = (rig.owner(), rig.lab());
    refused(&lab.delete(key), Refusal::Gone);
    let grant = granted(owner.acquire(key, "a", LONG, PATIENT));
    applied(&lab.delete(key));
    assert_eq!(rig.plain(key), None);
    plainly_counted(rig, key, 1);
    refused(&owner.renew(&grant, LONG, PATIENT), Refusal::Gone);
    assert_eq!(rig.plain(key), None, "a renewal does not bring it back");
}

pub fn clean(rig: &Rig, key: &str) {
    let mut owner = rig.owner();
    let keys = [format!("{key}/mine"), format!("{key}/never-used")];
    let other = if rig.nests_keys() {
        format!("{key}/mine/other")
    } else {
        not_expressible(rig, "a key below another", "the node of a lease can have no children");
        format!("{key}/mine-other")
    };
    granted(owner.acquire(&keys[0], "a", LONG, PATIENT));
    let kept = granted(owner.acquire(&other, "a", LONG, PATIENT));
    assert!(rig.lab().clean(&keys).expect("it cleans") > 0);
    assert_eq!((rig.plain(&keys[0]), rig.plain_counter(&keys[0])), (None, None));
    plainly_held_by(rig, &kept);
    plainly_counted(rig, &other, 1);
    assert_eq!(rig.lab().clean(&keys).expect("it cleans"), 0);
    assert_eq!(rig.lab().clean(&[]).expect("it cleans"), 0);
}

pub fn foreign(rig: &Rig, key: &str) {
    let mut lab: Box<dyn Administer> = rig.lab();
    assert_eq!(lab.foreign_keys("canary/").expect("a count"), 0);
    assert_eq!(lab.foreign_keys("").expect("a count"), 0);
    let foreign = format!("{key}/x").replace("canary/", "production_");
    granted(rig.owner().acquire(&foreign, "a", LONG, PATIENT));
    assert!(lab.foreign_keys("canary/").expect("a count") > 0);
    lab.clean(&[foreign]).expect("it cleans");
    assert_eq!(lab.foreign_keys("canary/").expect("a count"), 0);
    assert!(!lab.is_replica().expect("an answer"));
}
