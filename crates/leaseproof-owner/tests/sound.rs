//! The sound owner, on each store.

mod rig;

use leaseproof_model::scenario::WitnessMode;
use rig::{is_alive, on_each_store, signal, until};
use rustix::process::Signal;

#[test]
fn it_holds_works_and_releases() {
    on_each_store("it_holds_works_and_releases", |rig| {
        let mut a = rig.start("a1", None, &[]);
        let acquired = a.await_said("acquired", 1);
        a.await_said("renewed", 2);
        rig.more_writes(&a, 3);
        let held = rig.held().expect("it is held");
        assert_eq!(acquired["grant"], held.holder.as_str());
        assert_eq!(acquired["token"].as_u64(), held.token.map(|token| token.0));
        a.terminate();
        assert!(a.end().success());
        assert_eq!(a.story(), ["acquired", "released"]);
        assert_eq!(rig.held(), None);
        let writes = rig.writes(&a);
        assert!(
            writes
                .iter()
                .all(|write| write.token == held.token && write.claims_owner.is_none())
        );
        // Nothing comes after the release.
        let mut b = rig.start("b1", None, &[]);
        let next = b.await_said("acquired", 1);
        assert!(next["token"].as_u64() > acquired["token"].as_u64());
        rig.more_writes(&b, 3);
        assert_eq!(rig.writes(&a).len(), writes.len());
        b.terminate();
        assert!(b.end().success());
    });
}

#[test]
fn after_a_pause_over_the_ttl_it_stops_and_acquires_anew() {
    on_each_store("after_a_pause_over_the_ttl_it_stops_and_acquires_anew", |rig| {
        let a = rig.start("a1", None, &[]);
        let first = a.await_said("acquired", 1);
        rig.more_writes(&a, 2);
        let mut b = rig.start("b1", None, &[]);
        b.await_said("waiting", 1);
        a.freeze();
        let second = b.await_said("acquired", 1);
        rig.more_writes(&b, 3);
        let before = rig.writes(&a).len();
        a.thaw();
        let lost = a.await_said("lost", 1);
        assert_eq!(lost["token"], first["token"]);
        a.await_said("write_refused", 1);
        rig.more_writes(&b, 5);
        // One write may have been on its way when the pause fell.
        assert!(rig.writes(&a).len() <= before + 1);
        b.terminate();
        assert!(b.end().success());
        let third = a.await_said("acquired", 2);
        assert!(third["token"].as_u64() > second["token"].as_u64());
        rig.more_writes(&a, 2);
        // What is believed is counted from before the request, so it ends before the store's TTL.
        let held = rig.held().and_then(|held| held.expires).expect("it has a TTL");
        let said = a
            .lines()
            .iter()
            .rev()
            .find_map(|line| line["valid_until_boot_ns"].as_u64());
        assert!(said.expect("it says until when") < held.latest.0 + 5_000_000_000);
    });
}

#[test]
fn validity_ends_before_the_ttl_of_the_store() {
    on_each_store("validity_ends_before_the_ttl_of_the_store", |rig| {
        let a = rig.start("a1", None, &[]);
        a.await_said("renewed", 2);
        a.freeze();
        let expires = rig.held().and_then(|held| held.expires).expect("it has a TTL");
        a.thaw();
        let said = a.said("renewed");
        let until = said.last().and_then(|line| line["valid_until_boot_ns"].as_u64());
        assert!(until.expect("it says until when") < expires.latest.0);
    });
}

#[test]
fn a_short_pause_costs_nothing() {
    on_each_store("a_short_pause_costs_nothing", |mut rig| {
        rig.ttl = std::time::Duration::from_secs(20);
        let mut a = rig.start("a1", None, &[]);
        a.await_said("renewed", 1);
        a.freeze();
        // The length of the pause is the thing under test.
        std::thread::sleep(rig.heartbeat * 3);
        a.thaw();
        let renewed = a.said("renewed").len();
        a.await_said("renewed", renewed + 2);
        rig.more_writes(&a, 2);
        a.terminate();
        assert!(a.end().success());
        // On a busy machine a renewal may be answered too late; the next one comes long before the TTL is over.
        let mut story = a.story();
        story.retain(|it| it != "renew_failed");
        assert_eq!(story, ["acquired", "released"]);
    });
}

#[test]
fn the_worker_stops_when_its_holder_is_stopped() {
    on_each_store("the_worker_stops_when_its_holder_is_stopped", |rig| {
        let a = rig.start("a1", None, &[]);
        rig.more_writes(&a, 2);
        signal(a.pid(), Signal::STOP);
        let refused = a.await_said("write_refused", 1);
        assert_eq!(refused["reason"], "lock not held");
        let b = rig.start("b1", None, &[]);
        rig.more_writes(&b, 3);
        let before = rig.writes(&a).len();
        rig.more_writes(&b, 3);
        assert_eq!(rig.writes(&a).len(), before);
        signal(a.pid(), Signal::CONT);
        a.await_said("lost", 1);
    });
}

#[test]
fn the_holder_keeps_the_lease_when_its_worker_is_stopped() {
    on_each_store("the_holder_keeps_the_lease_when_its_worker_is_stopped", |rig| {
        let mut a = rig.start("a1", None, &[]);
        rig.more_writes(&a, 1);
        signal(a.worker(), Signal::STOP);
        let renewed = a.said("renewed").len();
        a.await_said("renewed", renewed + 5);
        // Asked to release, it does not wait for a worker that can't answer.
        a.terminate();
        assert!(a.end().success());
        assert_eq!(a.story(), ["acquired", "released"]);
    });
}

#[test]
fn neither_process_outlives_the_other() {
    on_each_store("neither_process_outlives_the_other", |rig| {
        let mut a = rig.start("a1", None, &[]);
        rig.more_writes(&a, 1);
        let worker = a.worker();
        signal(a.pid(), Signal::KILL);
        a.end();
        until("the worker's end", || (!is_alive(worker)).then_some(()));
        rig.administrator().delete(rig::KEY);
        let mut b = rig.start("b1", None, &[]);
        rig.more_writes(&b, 1);
        signal(b.worker(), Signal::KILL);
        assert!(!b.end().success());
        assert_eq!(b.story().last().map(String::as_str), Some("released"));
        assert_eq!(rig.held(), None);
    });
}

#[test]
fn a_refused_renewal_ends_the_belief() {
    on_each_store("a_refused_renewal_ends_the_belief", |rig| {
        let mut a = rig.start("a1", None, &[]);
        rig.more_writes(&a, 2);
        let lab = rig.steal();
        let failed = a.await_said("renew_failed", 1);
        assert_eq!(failed["definite"], true);
        a.await_said("lost", 1);
        a.await_said("write_refused", 1);
        // It waits now, and asked to end it leaves the other's lease alone.
        a.await_said("waiting", 1);
        a.terminate();
        assert!(a.end().success());
        // The worker says its part at its next write, so before or after the holder's "waiting".
        let story = a.story();
        assert_eq!(story[..3], ["acquired", "renew_failed", "lost"]);
        assert_eq!(story.len(), 5);
        assert_eq!(rig.held().map(|held| held.holder), Some(lab.holder));
    });
}

#[test]
fn released_late_the_successor_is_left_alone() {
    on_each_store("released_late_the_successor_is_left_alone", |rig| {
        let mut a = rig.start("a1", None, &[]);
        rig.more_writes(&a, 2);
        a.freeze();
        let lab = rig.steal();
        let expires = rig.held().and_then(|held| held.expires);
        a.terminate();
        a.thaw();
        assert!(a.end().success());
        let held = rig.held().expect("the lab holds");
        assert_eq!(held.holder, lab.holder);
        let spread = |moment: Option<leaseproof_model::moment::Moment>| moment.map(|it| it.latest.0 / 100_000_000);
        assert!(spread(held.expires).abs_diff_within(spread(expires)));
        assert!(!a.story().contains(&"released".to_owned()));
    });
}

trait Near {
    fn abs_diff_within(self, other: Self) -> bool;
}

impl Near for Option<u64> {
    /// The same tenth of a second, or the next: a renewal would move it by nine TTLs.
    fn abs_diff_within(self, other: Self) -> bool {
        matches!((self, other), (Some(a), Some(b)) if a.abs_diff(b) <= 1)
    }
}

#[test]
fn a_stale_fence_ends_the_belief() {
    on_each_store("a_stale_fence_ends_the_belief", |rig| {
        let a = rig.start("a1", None, &[]);
        rig.more_writes(&a, 2);
        rig.witness.set_mode(WitnessMode::Enforce).expect("obeys");
        assert!(
            rig.witness
                .replay(leaseproof_model::name::Token(1_000_000))
                .expect("answers")
        );
        let refused = a.await_said("write_refused", 1);
        assert_eq!(refused["reason"], "stale fence");
        assert_eq!(a.await_said("lost", 1)["reason"], "stale fence");
    });
}

#[test]
fn it_can_exit_when_it_lost() {
    on_each_store("it_can_exit_when_it_lost", |rig| {
        let mut a = rig.start("a1", None, &["--exit-on-loss"]);
        rig.more_writes(&a, 1);
        rig.steal();
        assert_eq!(a.end().code(), Some(1));
        assert!(a.story().contains(&"lost".to_owned()));
    });
}
