//! The store itself fails: what it did is the store's, and an owner that acts on without it is its own.

mod story;

use leaseproof_model::event::{FaultKind, OwnerEvent, What};
use leaseproof_model::finding::Subject;
use leaseproof_model::verdict::{ScenarioVerdict, Verdict};
use story::{Story, accusations, at, codes, server};

fn subject(verdict: &ScenarioVerdict, rule: &str) -> Option<Subject> {
    verdict.findings.iter().find(|it| it.rule == rule).map(|it| it.subject)
}

#[test]
fn an_owner_that_stops_by_its_own_clock_ok() {
    let judged = server::paused().judged();
    assert_eq!(judged.verdict, Verdict::Proven, "{judged:#?}");
}

#[test]
fn an_owner_that_acts_past_its_ttl_while_the_store_stands_still_bad() {
    let judged = server::paused_and_wrote_until(1995.0).judged();
    assert!(codes(&judged).contains(&"LP004".to_owned()), "{judged:#?}");
}

/// It was renewed right before the store stopped, and no look shows that: nobody else can have had it.
#[test]
fn an_owner_that_was_renewed_right_before_the_store_stopped_ok() {
    let mut story = server::paused_and_wrote_until(1790.0);
    // More than may straddle the expiry that was seen.
    for ms in [1770.0, 1775.0, 1780.0, 1785.0] {
        story.wrote(ms, "a1", 1);
    }
    let judged = story.judged();
    assert!(accusations(&judged).is_empty(), "{judged:#?}");
    assert_eq!(judged.verdict, Verdict::Proven);
}

#[test]
fn tokens_that_begin_again_are_the_store_s() {
    let judged = server::restarted(false).judged();
    assert_eq!(subject(&judged, "LP003"), Some(Subject::Store), "{judged:#?}");
    assert_eq!(subject(&judged, "LP017"), Some(Subject::Store), "{judged:#?}");
    assert_eq!(judged.verdict, Verdict::Violated);
}

#[test]
fn a_lease_that_a_stepped_clock_ended_is_the_store_s() {
    let judged = server::stepped().judged();
    assert_eq!(subject(&judged, "LP018"), Some(Subject::Store), "{judged:#?}");
    assert_eq!(subject(&judged, "LP017"), Some(Subject::Store), "{judged:#?}");
    assert_eq!(judged.verdict, Verdict::Proven, "{judged:#?}");
}

/// The expiry that moves up with the leader need not be a renewal by anybody.
#[test]
fn a_lease_whose_expiry_moves_up_with_the_leader_ok() {
    let judged = server::failover().judged();
    assert_eq!(judged.verdict, Verdict::Proven, "{judged:#?}");
    assert_eq!(codes(&judged), ["LP017"]);
    let found = &judged.findings[0];
    assert_eq!(found.subject, Subject::Store);
    assert!(
        found.says.contains("need not be a renewal by anybody"),
        "{}",
        found.says
    );
}

/// Until another leads nobody is granted anything; when that was is not known where no member said so.
#[test]
fn a_takeover_of_which_nobody_knows_when_it_was_is_not_proven() {
    let mut story = server::failover();
    story.without(|event| matches!(&event.what, What::Roles(roles) if roles.leader().is_none()));
    let judged = story.judged();
    assert_eq!(judged.verdict, Verdict::CannotTell, "{judged:#?}");
    assert!(accusations(&judged).is_empty(), "{judged:#?}");
}

/// A member that does not answer may lead.
#[test]
fn a_member_that_says_nothing_may_lead_unseen() {
    let mut story = server::failover();
    story.each(|event| {
        if let What::Roles(roles) = &mut event.what
            && roles.leader().is_none()
        {
            roles.members[2].role = None;
        }
    });
    assert_eq!(story.judged().verdict, Verdict::CannotTell);
}

/// The new leader gave the lease to `b1`, and `a1` acts on.
#[test]
fn an_owner_that_acts_on_beside_the_next_bad() {
    let judged = handed_over(3600.0).judged();
    let found = accusations(&judged);
    assert!(found.contains(&"LP001".to_owned()), "{judged:#?}");
    let judged = handed_over(1195.0).judged();
    assert!(accusations(&judged).is_empty(), "{judged:#?}");
}

/// The lease is gone at the next leader, `b1` takes it, and `a1` works until then.
fn handed_over(until: story::Ms) -> Story {
    let mut s = server::failover();
    // From the moment on at which the next leader has it.
    s.without(|event| match &event.what {
        What::Reading(_) => event.at.earliest > at(1200.0),
        What::Said(said) => said.event == OwnerEvent::Renewed && event.at.earliest > at(1200.0),
        What::Write(_) => event.at.earliest > at(until),
        _ => false,
    });
    if until < 3600.0 {
        s.said(until, "a1", OwnerEvent::Lost);
    }
    s.started(5.0, "b1").said(6.0, "b1", OwnerEvent::Waiting);
    s.free(1204.0).granted(1230.0, "b1#2", 2).acquired(1230.0, "b1", 2);
    s.works(1240.0, 3600.0, "b1", 2).renews(1480.0, 3600.0, "b1");
    s.each(|event| {
        if let What::Reading(reading) = &mut event.what
            && event.at.earliest > at(1200.0)
        {
            reading.epoch = Some("term 3".to_owned());
        }
    });
    s
}

#[test]
fn a_row_that_a_stepped_clock_ended_is_the_store_s_too() {
    let judged = server::stepped_beside_a_row().judged();
    assert_eq!(subject(&judged, "LP018"), Some(Subject::Store), "{judged:#?}");
    assert_eq!(subject(&judged, "LP017"), Some(Subject::Store), "{judged:#?}");
    assert_eq!(judged.verdict, Verdict::Proven, "{judged:#?}");
}

#[test]
fn a_ttl_below_zero_is_no_expiry_while_the_lease_lives() {
    let judged = server::reads_below_zero().judged();
    assert_eq!(accusations(&judged), Vec::<String>::new(), "{judged:#?}");
    assert_eq!(subject(&judged, "LP018"), Some(Subject::Store), "{judged:#?}");
}

/// The old leader gave `b1` the lease right before it was stopped, and that was lost with it: no look can know.
#[test]
fn a_grant_that_was_lost_with_its_leader_ok() {
    let judged = server::lost_with_its_leader(1195.0).judged();
    assert_eq!(accusations(&judged), ["LP021?"], "{judged:#?}");
    assert_eq!(subject(&judged, "LP021"), Some(Subject::Store), "{judged:#?}");
    assert_eq!(subject(&judged, "LP017"), Some(Subject::Store), "{judged:#?}");
    assert_eq!(judged.verdict, Verdict::CannotTell);
    // Nor does an owner know whose store lost its data.
    let mut story = server::lost_with_its_leader(1195.0);
    story.without(|event| matches!(event.what, What::Fault(_) | What::Roles(_)));
    assert_eq!(accusations(&story.judged()), ["LP021?"]);
}

/// A store that keeps what it granted: no leader can have lost that, and the looks at the next one tell.
#[test]
fn a_grant_that_no_leader_can_have_lost_bad() {
    let judged = keeping(server::lost_with_its_leader(1195.0), Some(false)).judged();
    assert_eq!(accusations(&judged), ["LP021"], "{judged:#?}");
    assert_eq!(subject(&judged, "LP021"), Some(Subject::Owner), "{judged:#?}");
    for may_lose in [None, Some(true)] {
        let judged = keeping(server::lost_with_its_leader(1195.0), may_lose).judged();
        assert_eq!(accusations(&judged), ["LP021?"], "{may_lose:?}: {judged:#?}");
    }
}

/// Without tokens it takes an act after the next leader was looked at: before that a short grant may hide.
#[test]
fn a_grant_that_may_have_come_and_gone_unseen_ok() {
    let judged = tokenless(keeping(server::lost_with_its_leader(1195.0), Some(false))).judged();
    assert_eq!(accusations(&judged), ["LP021?"], "{judged:#?}");
    assert!(
        judged.findings.iter().any(|it| it.says.contains("come and gone")),
        "{judged:#?}"
    );
    let judged = tokenless(keeping(server::lost_with_its_leader(1400.0), Some(true))).judged();
    assert_eq!(accusations(&judged), ["LP021?"], "{judged:#?}");
}

#[test]
fn an_owner_without_a_grant_at_the_next_leader_bad() {
    let judged = tokenless(keeping(server::lost_with_its_leader(1400.0), Some(false))).judged();
    assert_eq!(accusations(&judged), ["LP021"], "{judged:#?}");
}

/// Whatever it promises: its data is gone.
#[test]
fn a_store_whose_data_is_gone_keeps_nothing_ok() {
    let mut story = keeping(server::lost_with_its_leader(1195.0), Some(false));
    story.each(|event| {
        if let What::Fault(fault) = &mut event.what {
            fault.kind = FaultKind::EmptyStore;
        }
    });
    assert_eq!(accusations(&story.judged()), ["LP021?"], "{:#?}", story.judged());
}

fn keeping(mut story: Story, may_lose: Option<bool>) -> Story {
    story.ask.store.may_lose_grants = may_lose;
    story
}

/// As a store and an owner that have none.
fn tokenless(mut story: Story) -> Story {
    story.ask.store_shows_token = false;
    story.each(|event| match &mut event.what {
        What::Reading(reading) => {
            reading.counter = None;
            if let Some(held) = &mut reading.held {
                held.token = None;
            }
        }
        What::Said(said) => said.token = None,
        What::Write(write) => write.token = None,
        _ => {}
    });
    story
}

/// The same where no leader changed.
#[test]
fn a_grant_that_no_leader_gave_bad() {
    let judged = server::never_granted(1195.0).judged();
    assert_eq!(accusations(&judged), ["LP021"], "{judged:#?}");
}

/// It acted so long before the leader changed: looks beside its first act show that nothing was granted.
#[test]
fn a_grant_that_was_claimed_long_before_the_leader_changed_bad() {
    let mut story = server::lost_with_its_leader(1195.0);
    story.acquired(300.0, "b1", 9).wrote(310.0, "b1", 9);
    let judged = story.judged();
    assert!(accusations(&judged).contains(&"LP021".to_owned()), "{judged:#?}");
}

/// Whatever the old leader gave is over a TTL after it went on.
#[test]
fn an_owner_that_acts_on_for_a_ttl_after_its_grant_was_lost_bad() {
    let judged = server::lost_with_its_leader(3000.0).judged();
    assert!(accusations(&judged).contains(&"LP021".to_owned()), "{judged:#?}");
}

/// Its first grant was seen to be gone at the next leader, so that its writes are those of the second.
#[test]
fn an_owner_that_acquires_anew_at_the_next_leader_ok() {
    let judged = server::acquired_anew_at_the_next_leader().judged();
    assert_eq!(judged.verdict, Verdict::Proven, "{judged:#?}");
}

/// It writes on with its first grant for longer than a TTL after the last moment at which that can have been renewed.
#[test]
fn an_owner_that_writes_on_until_the_next_leader_bad() {
    let mut story = server::acquired_anew_at_the_next_leader();
    story.without(|event| {
        event.at.earliest > at(1810.0) && matches!(event.what, What::Reading(_) | What::Said(_) | What::Write(_))
    });
    for ms in [1900.0, 2000.0, 2100.0, 2200.0, 2300.0, 2400.0, 2500.0, 2600.0] {
        story.free(ms).wrote(ms + 1.0, "a1", 1);
    }
    assert!(
        accusations(&story.judged()).contains(&"LP004".to_owned()),
        "{:#?}",
        story.judged()
    );
}
