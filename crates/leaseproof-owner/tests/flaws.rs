//! Each flaw does its wrong thing, and nothing but. Whether the judge catches it is tested elsewhere.

mod rig;

use leaseproof_model::name::Token;
use leaseproof_owner::Flaw;
use leaseproof_proc::clock::boot_now;
use rig::{Owner, Rig, on_each_store, signal, until};
use rustix::process::Signal;
use std::time::Duration;

fn started(rig: &Rig, flaw: Flaw) -> Owner {
    let a = rig.start("a1", Some(flaw.as_str()), &[]);
    a.await_said("acquired", 1);
    rig.more_writes(&a, 2);
    a
}

fn expires_ns(rig: &Rig) -> u64 {
    let held = rig.held().expect("it is held");
    held.expires.expect("it has a TTL").latest.0
}

#[test]
fn each_runs_and_ends_when_it_is_asked_to() {
    on_each_store("each_runs_and_ends_when_it_is_asked_to", |rig| {
        for flaw in Flaw::ALL {
            let mut a = started(&rig, *flaw);
            let arguments = std::fs::read(format!("/proc/{}/cmdline", a.worker().as_raw_nonzero())).expect("it runs");
            assert_eq!(String::from_utf8_lossy(&arguments), "leaseproof\0owner\0", "{flaw}");
            a.terminate();
            assert!(a.end().success(), "{flaw}");
            assert!(
                a.lines().iter().all(|line| !line.to_string().contains(flaw.as_str())),
                "{flaw}"
            );
            rig.administrator().delete(rig::KEY);
        }
    });
}

#[test]
fn they_work_on_after_the_lease_was_taken_away() {
    on_each_store("they_work_on_after_the_lease_was_taken_away", |rig| {
        for (flaw, story) in [
            (Flaw::SilentRetain, vec!["acquired"]),
            (Flaw::ClaimsUnrenewed, vec!["acquired"]),
            (Flaw::BlindRenew, vec!["acquired"]),
            (Flaw::SwallowFailure, vec!["acquired", "renew_failed"]),
        ] {
            let a = started(&rig, flaw);
            rig.steal();
            // No renewal was applied since, so that the grant would have ended by then.
            rig.until_past(boot_now().plus(rig.ttl + rig.heartbeat));
            rig.more_writes(&a, 3);
            let mut said = a.story();
            said.dedup();
            assert_eq!(said, story, "{flaw}");
            drop(a);
            rig.administrator().delete(rig::KEY);
        }
    });
}

#[test]
fn late_notice_is_late() {
    on_each_store("late_notice_is_late", |rig| {
        let a = started(&rig, Flaw::LateNotice);
        let lab = rig.steal();
        let expiry = rig.held().and_then(|held| held.granted);
        let lost = a.await_said("lost", 1);
        let said = a.said("renewed");
        let last = said.last().and_then(|line| line["boot_ns"].as_u64());
        let after = lost["boot_ns"].as_u64().zip(last).map(|(lost, last)| lost - last);
        // No renewal at all may have been before the theft.
        if let Some(after) = after {
            assert!(
                after > u64::try_from(rig.ttl.as_nanos()).expect("small"),
                "{lab:?} {expiry:?}"
            );
        }
    });
}

#[test]
fn blind_renew_moves_the_successors_expiry() {
    on_each_store("blind_renew_moves_the_successors_expiry", |rig| {
        let a = started(&rig, Flaw::BlindRenew);
        let lab = rig.steal();
        let before = expires_ns(&rig);
        let moved = until("a moved expiry", || {
            Some(expires_ns(&rig)).filter(|now| now.abs_diff(before) > 2_000_000_000)
        });
        assert!(moved < before);
        assert_eq!(rig.held().map(|held| held.holder), Some(lab.holder));
        drop(a);
    });
}

#[test]
fn revive_puts_the_grant_back() {
    on_each_store("revive_puts_the_grant_back", |rig| {
        let a = started(&rig, Flaw::Revive);
        let before = rig.held().expect("it is held");
        assert!(rig.administrator().delete(rig::KEY).value.is_some());
        let after = until("the grant again", || rig.held());
        assert_eq!((after.holder, after.token), (before.holder, before.token));
        assert_eq!(a.story(), ["acquired"]);
    });
}

#[test]
fn blind_release_takes_the_successors_lease() {
    on_each_store("blind_release_takes_the_successors_lease", |rig| {
        let mut a = started(&rig, Flaw::BlindRelease);
        a.freeze();
        rig.steal();
        a.terminate();
        a.thaw();
        assert!(a.end().success());
        assert_eq!(rig.held(), None);
    });
}

#[test]
fn no_ttl_has_none() {
    on_each_store("no_ttl_has_none", |rig| {
        let mut a = started(&rig, Flaw::NoTtl);
        // Any TTL would be over by then.
        rig.until_past(boot_now().plus(rig.ttl));
        assert_eq!(rig.held().expect("it is held").expires, None);
        a.terminate();
        assert!(a.end().success());
        assert_eq!(rig.held(), None);
    });
}

#[test]
fn two_step_acquire_is_seen_between_its_steps() {
    on_each_store("two_step_acquire_is_seen_between_its_steps", |rig| {
        // Something must be there to be read.
        rig.administrator().prepare().expect("the store is there");
        let a = rig.start("a1", Some(Flaw::TwoStepAcquire.as_str()), &[]);
        let between = until("a grant", || rig.held());
        assert_eq!(between.expires, None);
        a.await_said("acquired", 1);
        assert!(rig.held().expect("it is held").expires.is_some());
    });
}

#[test]
fn token_reused_is_the_same_again() {
    on_each_store("token_reused_is_the_same_again", |rig| {
        let tokens: Vec<_> = (0..2)
            .map(|_| {
                let mut a = started(&rig, Flaw::TokenReused);
                a.terminate();
                assert!(a.end().success());
                a.await_said("acquired", 1)["token"].as_u64()
            })
            .collect();
        assert_eq!(tokens, [Some(1), Some(1)]);
    });
}

#[test]
fn no_token_sends_none() {
    on_each_store("no_token_sends_none", |rig| {
        let a = started(&rig, Flaw::NoToken);
        a.await_said("renewed", 1);
        assert!(rig.writes(&a).iter().all(|write| write.token.is_none()));
        assert!(a.lines().iter().all(|line| line.get("token").is_none()));
    });
}

#[test]
fn the_worker_works_on_without_its_holder() {
    on_each_store("the_worker_works_on_without_its_holder", |rig| {
        for flaw in [Flaw::OrphanWorker, Flaw::NoDeadline] {
            let a = started(&rig, flaw);
            signal(a.pid(), Signal::STOP);
            until("the end of the lease", || rig.held().is_none().then_some(()));
            rig.more_writes(&a, 3);
            signal(a.pid(), Signal::CONT);
            a.await_said("lost", 1);
            drop(a);
            rig.administrator().delete(rig::KEY);
        }
    });
}

#[test]
fn the_zombie_renews_after_its_release() {
    on_each_store("the_zombie_renews_after_its_release", |rig| {
        let mut a = started(&rig, Flaw::ZombieRenewer);
        a.terminate();
        assert!(a.end().success());
        let lines = a.lines();
        let released = lines
            .iter()
            .position(|line| line["lease"] == "released")
            .expect("it released");
        let after = lines[released..].iter().filter(|line| line["lease"] == "renewed");
        assert_eq!(after.count(), 2);
        assert_eq!(rig.held(), None);
    });
}

#[test]
fn false_loss_gives_up_what_it_has() {
    on_each_store("false_loss_gives_up_what_it_has", |mut rig| {
        rig.ttl = Duration::from_secs(20);
        let a = started(&rig, Flaw::FalseLoss);
        a.freeze();
        // The length of the pause is the thing under test.
        std::thread::sleep(rig.heartbeat * 4);
        a.thaw();
        assert_eq!(a.await_said("lost", 1)["reason"], "paused");
        let held = rig.held().expect("the store still grants it");
        assert_eq!(a.said("acquired")[0]["grant"], held.holder.as_str());
    });
}

#[test]
fn the_ghost_takes_what_nobody_gave() {
    on_each_store("the_ghost_takes_what_nobody_gave", |rig| {
        rig.administrator().prepare().expect("the store is there");
        let lab = rig.administrator().steal(rig::KEY, "lab", Duration::from_secs(60));
        let a = rig.start("a1", Some(Flaw::GhostGrant.as_str()), &[]);
        a.await_said("waiting", 1);
        a.freeze();
        // The length of the pause is the thing under test.
        std::thread::sleep(rig.ttl * 2);
        a.thaw();
        a.await_said("acquired", 1);
        rig.more_writes(&a, 2);
        assert!(rig.writes(&a).iter().all(|write| write.token > Some(Token(100))));
        assert_eq!(rig.held().map(|held| held.holder), lab.value.map(|grant| grant.holder));
    });
}
