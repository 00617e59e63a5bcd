//! A fault: one interval in the record, put together from its phases.

use super::failover::{Failover, Said};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, FaultEvent, FaultKind, FaultPhase};
use leaseproof_model::moment::Moment;
use std::collections::BTreeMap;

/// One phase as recorded.
pub(crate) type Phase<'h> = (&'h Event, &'h FaultEvent);

/// One fault.
#[derive(Clone, Debug)]
pub(crate) struct Fault<'h> {
    pub(crate) kind: FaultKind,
    pub(crate) cycle: u32,
    pub(crate) asked: Option<Phase<'h>>,
    pub(crate) confirmed: Option<Phase<'h>>,
    pub(crate) due: Option<Phase<'h>>,
    pub(crate) undone: Option<Phase<'h>>,
    pub(crate) failed: Option<Phase<'h>>,
    /// Where it stopped the store's leader: who led before and after.
    pub(crate) failover: Option<Failover<'h>>,
    owner: Option<&'h str>,
}

impl<'h> Fault<'h> {
    /// Joins the phases by the fault's number, in the order in which faults began. `said` is what the members of
    /// the store said of their roles.
    pub(crate) fn join(phases: &[Phase<'h>], said: &[Said<'h>]) -> Vec<Self> {
        let mut place: BTreeMap<u64, usize> = BTreeMap::new();
        let mut faults: Vec<Self> = Vec::new();
        for (event, fault) in phases {
            let at = *place.entry(fault.fault).or_insert_with(|| {
                faults.push(Self {
                    kind: fault.kind,
                    cycle: event.cycle,
                    asked: None,
                    confirmed: None,
                    due: None,
                    undone: None,
                    failed: None,
                    failover: None,
                    owner: None,
                });
                faults.len() - 1
            });
            let joined = &mut faults[at];
            if joined.owner.is_none() {
                joined.owner = event.owner.as_ref().map(|owner| owner.as_str());
            }
            let slot = match fault.phase {
                FaultPhase::Asked => &mut joined.asked,
                FaultPhase::Confirmed => &mut joined.confirmed,
                FaultPhase::Due => &mut joined.due,
                FaultPhase::Undone => &mut joined.undone,
                FaultPhase::Failed => &mut joined.failed,
            };
            *slot = Some((event, fault));
        }
        for fault in faults.iter_mut().filter(|fault| fault.kind == FaultKind::PauseLeader) {
            if let (Some(asked), Some(confirmed)) = (fault.asked, fault.confirmed) {
                fault.failover = Failover::of(asked, confirmed, fault.undone, said);
            }
        }
        faults
    }

    /// The owner that it was aimed at, if it was at one.
    pub(crate) fn owner(&self) -> Option<&'h str> {
        self.owner
    }

    /// Whether it stops processes.
    pub(crate) fn pauses(&self) -> bool {
        matches!(
            self.kind,
            FaultKind::PauseTree | FaultKind::PauseParent | FaultKind::PauseChild
        )
    }

    /// Whether it keeps the store's server from doing anything.
    pub(crate) fn stops_store(&self) -> bool {
        matches!(
            self.kind,
            FaultKind::PauseStore | FaultKind::RestartStore | FaultKind::EmptyStore
        )
    }

    /// Whether it meets the store's server, or one of its members.
    pub(crate) fn meets_store(&self) -> bool {
        self.stops_store() || self.kind == FaultKind::PauseLeader
    }

    /// The last moment at which the store may have extended a lease, before which no look shows it.
    pub(crate) fn last_extension(&self) -> Option<BootNanos> {
        if self.stops_store() {
            return self.began().map(|began| began.latest);
        }
        // The next leader gives every lease its whole time again.
        let leads = self.failover?.leads.map(|event| event.at.latest);
        leads.or(self.ended().map(|ended| ended.latest))
    }

    /// From when it may have been in force.
    pub(crate) fn earliest(&self) -> Option<BootNanos> {
        let first = [self.asked, self.confirmed, self.failed, self.undone]
            .into_iter()
            .flatten()
            .next()?;
        Some(first.0.at.earliest)
    }

    /// When it was in force, by the kernel's word.
    pub(crate) fn began(&self) -> Option<Moment> {
        self.confirmed.map(|(event, _)| event.at)
    }

    /// When it was undone, by the kernel's word.
    pub(crate) fn ended(&self) -> Option<Moment> {
        self.undone.map(|(event, _)| event.at)
    }

    /// The events that it consists of.
    pub(crate) fn events(&self) -> impl Iterator<Item = &'h Event> {
        [self.asked, self.confirmed, self.due, self.undone, self.failed]
            .into_iter()
            .flatten()
            .map(|(event, _)| event)
    }
}
