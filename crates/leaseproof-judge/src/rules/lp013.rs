//! The connection was gone and nobody noticed. Said only where it explains a breach, or a loss that
//! availability asked about.

use super::{Facts, evidence, of};
use crate::words::ms;
use leaseproof_model::event::{FaultKind, OwnerEvent, WireSeen};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::{Class, LP013};
use leaseproof_model::truth::Truth;
use std::collections::BTreeSet;

pub(super) fn explain(facts: &Facts<'_, '_>, found: &[Finding], lost: &[u32]) -> Vec<Finding> {
    let timeline = facts.timeline;
    let budget = &timeline.ask.budget;
    let mut explained: BTreeSet<u32> = lost.iter().copied().collect();
    explained.extend(found.iter().filter(|it| it.class == Class::Breach).map(|it| it.cycle));
    let mut causes = Vec::new();
    let kinds = [FaultKind::IdleDrop, FaultKind::Blackhole];
    for fault in timeline
        .faults
        .iter()
        .filter(|it| kinds.contains(&it.kind) && explained.contains(&it.cycle))
    {
        let (Some(began), Some(place)) = (fault.began(), fault.owner().and_then(|name| timeline.owner(name))) else {
            continue;
        };
        let owner = &timeline.owners[place];
        let from = owner
            .wires
            .partition_point(|(event, _)| event.at.latest < began.earliest);
        let swallowed = owner.wires[from..]
            .iter()
            .find(|(_, wire)| wire.seen == WireSeen::RequestSwallowed);
        let Some((swallowed, _)) = swallowed else { continue };
        // It notices when it says that a renewal failed or the lease is lost, or opens another connection.
        let patience = swallowed.at.latest.plus(budget.heartbeat + budget.renew_timeout);
        let said = owner.said_since(swallowed.at.earliest).iter().any(|saying| {
            matches!(saying.said.event, OwnerEvent::RenewFailed | OwnerEvent::Lost) && saying.at.earliest <= patience
        });
        let opened = owner.wires[from..]
            .iter()
            .take_while(|(event, _)| event.at.earliest <= patience)
            .any(|(event, wire)| wire.seen == WireSeen::Opened && event.id > swallowed.id);
        if said || opened {
            continue;
        }
        let says = format!(
            "the connection of {} swallowed its requests, and for {} after the first it neither said so nor opened another",
            owner.name,
            ms(budget.heartbeat + budget.renew_timeout),
        );
        let ids = evidence(
            [Some(swallowed.id), fault.confirmed.map(|(event, _)| event.id)]
                .into_iter()
                .flatten(),
        );
        causes.push(of(
            owner,
            Finding::new(&LP013, Subject::Network, Truth::Yes, fault.cycle, says, ids),
        ));
    }
    causes
}
