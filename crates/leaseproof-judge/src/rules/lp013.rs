//! The connection was gone, or its other end stood still, and nobody noticed. Said only where it explains a breach,
//! or a loss that availability asked about.

use super::{Facts, evidence, of};
use crate::timeline::{Fault, Owner, Timeline};
use crate::words::ms;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{EventId, FaultKind, OwnerEvent, WireSeen, WithinSeen};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::moment::Moment;
use leaseproof_model::rule::{Class, LP013};
use leaseproof_model::truth::Truth;
use std::collections::BTreeSet;
use std::time::Duration;

/// A request that nobody answers.
struct Silence {
    event: EventId,
    at: Moment,
    /// Whether its owner did something about it in time that shows on its connections.
    noticed: bool,
    says: String,
}

pub(super) fn explain(facts: &Facts<'_, '_>, found: &[Finding], lost: &[u32]) -> Vec<Finding> {
    let timeline = facts.timeline;
    let budget = &timeline.ask.budget;
    let patience = budget.heartbeat + budget.renew_timeout;
    let mut explained: BTreeSet<u32> = lost.iter().copied().collect();
    explained.extend(found.iter().filter(|it| it.class == Class::Breach).map(|it| it.cycle));
    let mut causes = Vec::new();
    for fault in timeline.faults.iter().filter(|it| explained.contains(&it.cycle)) {
        for owner in met(timeline, fault, found) {
            let Some(silence) = silence(owner, fault, patience) else {
                continue;
            };
            // It notices when it says that a renewal failed or the lease is lost, or opens another connection.
            let until = silence.at.latest.plus(patience);
            let said = owner.said_since(silence.at.earliest).iter().any(|saying| {
                matches!(saying.said.event, OwnerEvent::RenewFailed | OwnerEvent::Lost) && saying.at.earliest <= until
            });
            if said || silence.noticed {
                continue;
            }
            let says = format!(
                "{}, and for {} after the first it neither said so nor opened another",
                silence.says,
                ms(patience)
            );
            let confirmed = fault.confirmed.map(|(event, _)| event.id);
            let ids = evidence([Some(silence.event), confirmed].into_iter().flatten());
            causes.push(of(
                owner,
                Finding::new(&LP013, Subject::Network, Truth::Yes, fault.cycle, says, ids),
            ));
        }
    }
    causes
}

/// Whom a fault of the network, or of what stands at its other end, is about.
fn met<'t, 'h>(timeline: &'t Timeline<'h>, fault: &Fault<'h>, found: &[Finding]) -> Vec<&'t Owner<'h>> {
    match fault.kind {
        FaultKind::IdleDrop | FaultKind::Blackhole | FaultKind::PauseParent => {
            let place = fault.owner().and_then(|name| timeline.owner(name));
            place.map(|place| &timeline.owners[place]).into_iter().collect()
        }
        // It meets all: the one that broke its promise is meant.
        FaultKind::PauseStore => {
            let broke = |owner: &&Owner<'_>| {
                found.iter().any(|it| {
                    it.class == Class::Breach
                        && it.cycle == fault.cycle
                        && it.owner.as_deref() == Some(owner.name.as_str())
                })
            };
            timeline.owners.iter().filter(broke).collect()
        }
        _ => Vec::new(),
    }
}

fn silence(owner: &Owner<'_>, fault: &Fault<'_>, patience: Duration) -> Option<Silence> {
    let began = fault.began()?;
    match fault.kind {
        FaultKind::PauseStore => unanswered(owner, began, fault.ended()?.earliest, patience),
        FaultKind::PauseParent => unread(owner, fault, began, fault.ended()?.earliest, patience),
        _ => swallowed(owner, began, patience),
    }
}

/// A connection of its own was opened after that, in time.
fn opened(owner: &Owner<'_>, from: usize, after: EventId, until: BootNanos) -> bool {
    owner.wires[from..]
        .iter()
        .take_while(|(event, _)| event.at.earliest <= until)
        .any(|(event, wire)| wire.seen == WireSeen::Opened && event.id > after)
}

/// By the relay's word its requests went nowhere.
fn swallowed(owner: &Owner<'_>, began: Moment, patience: Duration) -> Option<Silence> {
    let from = owner
        .wires
        .partition_point(|(event, _)| event.at.latest < began.earliest);
    let (event, _) = owner.wires[from..]
        .iter()
        .find(|(_, wire)| wire.seen == WireSeen::RequestSwallowed)?;
    Some(Silence {
        event: event.id,
        at: event.at,
        noticed: opened(owner, from, event.id, event.at.latest.plus(patience)),
        says: format!("the connection of {} swallowed its requests", owner.name),
    })
}

/// The server stood still, and what the owner sent got no answer as long as anybody should wait for one.
fn unanswered(owner: &Owner<'_>, began: Moment, ended: BootNanos, patience: Duration) -> Option<Silence> {
    let from = owner
        .wires
        .partition_point(|(event, _)| event.at.earliest <= began.latest);
    let (event, _) = owner.wires[from..]
        .iter()
        .find(|(_, wire)| wire.seen == WireSeen::Request)?;
    let until = event.at.latest.plus(patience);
    let answered = owner.wires[from..]
        .iter()
        .take_while(|(event, _)| event.at.earliest <= until)
        .any(|(_, wire)| wire.seen == WireSeen::Answer);
    (until <= ended && !answered).then(|| Silence {
        event: event.id,
        at: event.at,
        noticed: opened(owner, from, event.id, until),
        says: format!(
            "the store stood still and left the requests of {} unanswered",
            owner.name
        ),
    })
}

/// A part of the owner's own tree stood still, and a request of another part lay there unread for as long.
fn unread(
    owner: &Owner<'_>,
    fault: &Fault<'_>,
    began: Moment,
    ended: BootNanos,
    patience: Duration,
) -> Option<Silence> {
    let stopped = fault.confirmed.map(|(_, seen)| seen.processes.as_slice())?;
    let looks = || {
        owner
            .within
            .iter()
            .filter(|(event, within)| began.earliest <= event.at.latest && stopped.contains(&within.to))
    };
    let (event, first) = looks().find(|(_, within)| matches!(within.seen, WithinSeen::Unread(_)))?;
    let until = event.at.latest.plus(patience);
    let noticed = looks()
        .filter(|(later, _)| later.id > event.id && later.at.earliest <= until)
        .any(|(_, within)| match within.seen {
            WithinSeen::Opened => true,
            WithinSeen::Gone => within.connection == first.connection,
            WithinSeen::Stood | WithinSeen::Unread(_) => false,
        });
    (until <= ended).then(|| Silence {
        event: event.id,
        at: event.at,
        noticed,
        says: format!(
            "process {} of {} stood still and left the requests of process {} unread",
            first.to.pid, owner.name, first.from.pid
        ),
    })
}
