//! The store's leader stopped, and another led: by the words of the members themselves.

use super::fault::Phase;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, Roles};

/// What the members said, in order.
pub(crate) type Said<'h> = (&'h Event, &'h Roles);

/// A change of the leader.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Failover<'h> {
    /// Who led right before the fault; it is the one that stopped.
    pub(crate) led: &'h Event,
    /// Until when surely nobody led, so that nobody was granted anything.
    pub(crate) nobody_until: Option<BootNanos>,
    /// Another led, in a later term, while the first still stood.
    pub(crate) leads: Option<&'h Event>,
}

impl<'h> Failover<'h> {
    /// From the phases of the fault that stopped a leader, and from what the members said about that time.
    pub(crate) fn of(
        asked: Phase<'h>,
        confirmed: Phase<'h>,
        undone: Option<Phase<'h>>,
        said: &[Said<'h>],
    ) -> Option<Self> {
        let before = said.iter().rfind(|(event, _)| event.at.latest <= asked.0.at.latest)?;
        let (leader, term) = before.1.leader()?;
        let stopped = confirmed.1.processes.contains(&leader.process);
        let began = confirmed.0.at.latest;
        let ended = undone.map_or(BootNanos(u64::MAX), |(event, _)| event.at.earliest);
        let during = || {
            said.iter()
                .filter(|(event, _)| began <= event.at.earliest && event.at.latest <= ended)
        };
        let leads = during().find(|(_, roles)| {
            let next = roles.leader();
            next.is_some_and(|(next, later)| next.process != leader.process && later > term)
        });
        let until = leads.map_or(ended, |(event, _)| event.at.earliest);
        let nobody = during().rfind(|(event, roles)| {
            let others = roles.members.iter().filter(|member| member.process != leader.process);
            event.at.earliest <= until && others.into_iter().all(|it| it.role.is_some_and(|role| !role.leads))
        });
        stopped.then(|| Self {
            led: before.0,
            nobody_until: nobody.map(|(event, _)| event.at.earliest),
            leads: leads.map(|(event, _)| *event),
        })
    }
}
