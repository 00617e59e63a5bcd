//! The store lost or moved the lease: its epoch changed, or its clock stepped, and a live grant was gone; it stood
//! still for longer than the grant lived; or its leader changed, and what the next one says of the expiry is no renewal.

use super::{Facts, evidence};
use crate::timeline::{EndKind, Fault, Grant, Timeline};
use crate::words::ms;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP017;
use leaseproof_model::truth::Truth;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut found = lost(timeline);
    for fault in &timeline.faults {
        found.extend(stood_still(timeline, fault));
        found.extend(leader_changed(timeline, fault));
    }
    found
}

fn lost(timeline: &Timeline<'_>) -> Vec<Finding> {
    let grants = timeline.grants.iter();
    grants
        .filter_map(|grant| Some((grant, grant.end.filter(|end| end.kind == EndKind::LostByStore)?)))
        .map(|(grant, end)| {
            let says = format!(
                "the store's epoch changed or its clock stepped, and {} was gone before its expiry",
                timeline.label(grant)
            );
            let ids = evidence([grant.first.id, end.event]);
            let cycle = timeline.cycle_at(end.seen);
            Finding::new(&LP017, Subject::Store, Truth::Yes, cycle, says, ids)
        })
        .collect()
}

/// The grant that stood when a fault of the store began.
fn met<'t, 'h>(timeline: &'t Timeline<'h>, fault: &Fault<'h>) -> Option<&'t Grant<'h>> {
    let began = fault.began()?;
    timeline.grants.iter().rfind(|grant| grant.may_cover(began))
}

/// Nobody could renew while it stood still: that the lease is gone says nothing of its owner.
fn stood_still(timeline: &Timeline<'_>, fault: &Fault<'_>) -> Option<Finding> {
    if !fault.stops_store() {
        return None;
    }
    let (began, ended) = (fault.began()?, fault.ended()?);
    let grant = met(timeline, fault)?;
    let end = grant.end.filter(|end| end.kind == EndKind::Expired)?;
    // It may take a look or two of its own until it ends what is over.
    let soon = ended.latest.plus(timeline.ask.budget.heartbeat);
    (end.seen.earliest <= soon).then(|| {
        let says = format!(
            "the store itself did not run for {}, and {} was over when it went on: nobody could have renewed it",
            ms(ended.latest.since(began.earliest)),
            timeline.label(grant)
        );
        let ids = evidence(fault.events().map(|event| event.id).chain([end.event]));
        Finding::new(&LP017, Subject::Store, Truth::Yes, fault.cycle, says, ids)
    })
}

fn leader_changed(timeline: &Timeline<'_>, fault: &Fault<'_>) -> Option<Finding> {
    let failover = fault.failover?;
    let leads = failover.leads?;
    let moved = met(timeline, fault).and_then(|grant| {
        let moved = grant
            .moved
            .iter()
            .find(|moved| moved.to.at.latest >= leads.at.earliest)?;
        let up = moved.to.expires.earliest.since(moved.from.latest);
        (!up.is_zero()).then_some((grant, moved.to.event, up))
    });
    let (says, event) = match moved {
        Some((grant, event, up)) => (
            format!(
                "the store's leader changed, and the expiry of {} moved up by {} with it: that need not be a renewal by anybody",
                timeline.label(grant),
                ms(up)
            ),
            Some(event),
        ),
        None => (
            "the store's leader changed: what lease was left then is the new leader's to say".to_owned(),
            None,
        ),
    };
    let ids = evidence([failover.led.id, leads.id].into_iter().chain(event));
    Some(Finding::new(&LP017, Subject::Store, Truth::Yes, fault.cycle, says, ids))
}
