//! One cycle as the premises see it: who was the target, what was done to it, what it held.

use crate::timeline::{ActKind, By, Cycle, Fault, Grant, Owner, Standing, Timeline};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Deed, EventId, FaultKind};
use leaseproof_model::moment::Moment;
use leaseproof_model::truth::Truth;
use std::collections::BTreeMap;

/// What was seen of a premise.
pub(crate) struct Seen {
    pub(crate) holds: Truth,
    pub(crate) says: String,
    pub(crate) evidence: Vec<EventId>,
}

impl Seen {
    pub(crate) fn yes(says: impl Into<String>, evidence: impl IntoIterator<Item = EventId>) -> Self {
        Self {
            holds: Truth::Yes,
            says: says.into(),
            evidence: evidence.into_iter().collect(),
        }
    }

    pub(crate) fn no(says: impl Into<String>, evidence: impl IntoIterator<Item = EventId>) -> Self {
        Self {
            holds: Truth::No,
            says: says.into(),
            evidence: evidence.into_iter().collect(),
        }
    }

    pub(crate) fn unknown(says: impl Into<String>, evidence: impl IntoIterator<Item = EventId>) -> Self {
        Self {
            holds: Truth::CannotTell,
            says: says.into(),
            evidence: evidence.into_iter().collect(),
        }
    }
}

/// The writes of one grant as the witness saw them: the first, and the last. An owner's own word for a
/// write shows no work.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Work {
    pub(crate) first: EventId,
    pub(crate) last: (Moment, EventId),
}

/// What all cycles share.
pub(crate) struct Stage<'t, 'h> {
    pub(crate) timeline: &'t Timeline<'h>,
    /// For each grant the writes that rest on it.
    pub(crate) work: Vec<Option<Work>>,
    faults: BTreeMap<u32, Vec<usize>>,
}

impl<'t, 'h> Stage<'t, 'h> {
    pub(crate) fn new(timeline: &'t Timeline<'h>) -> Self {
        let mut work: Vec<Option<Work>> = vec![None; timeline.grants.len()];
        for owner in &timeline.owners {
            for act in owner.acts.iter().filter(|act| act.kind == ActKind::Write) {
                let Standing::Granted(grant) = act.standing else {
                    continue;
                };
                let last = (act.at, act.event.id);
                let first = work[grant].map_or(act.event.id, |work| work.first);
                work[grant] = Some(Work { first, last });
            }
        }
        let mut faults: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (place, fault) in timeline.faults.iter().enumerate() {
            faults.entry(fault.cycle).or_default().push(place);
        }
        Self { timeline, work, faults }
    }

    pub(crate) fn scene(&self, cycle: &'t Cycle<'h>) -> Scene<'_, 't, 'h> {
        let timeline = self.timeline;
        let target = timeline.owner(cycle.target.as_str());
        let places = self.faults.get(&cycle.number).map_or(&[][..], Vec::as_slice);
        let faults: Vec<&Fault<'h>> = places.iter().map(|place| &timeline.faults[*place]).collect();
        let pauses = || faults.iter().copied().filter(|fault| fault.pauses());
        let pause = pauses()
            .rfind(|fault| fault.confirmed.is_some())
            .or_else(|| pauses().next_back());
        let deeds = timeline
            .deeds
            .partition_point(|it| it.event.at.latest < cycle.began.at.earliest);
        let struck = timeline.deeds[deeds..]
            .iter()
            .take_while(|it| it.event.cycle == cycle.number)
            .find(|it| matches!(it.deed.deed, Deed::Deleted | Deed::Stole))
            .map(|it| it.event.at);
        // The unstepped twin has no step: its target's wall reads are counted at the same place.
        let counted = target
            .filter(|_| timeline.ask.twin)
            .and_then(|target| timeline.owners[target].wall_in(cycle.number).first())
            .map(|it| it.at);
        let start = faults
            .iter()
            .filter(|fault| fault.failed.is_none() || fault.confirmed.is_some())
            .filter_map(|fault| fault.began().or(fault.asked.map(|(event, _)| event.at)))
            .chain(struck)
            .chain(counted)
            .min_by_key(|at| at.earliest);
        // The owner runs on with a stepped clock, so that a step ends nothing but the time before it.
        let end = faults
            .iter()
            .filter_map(|fault| {
                if fault.kind == FaultKind::ClockStep {
                    fault.began()
                } else {
                    fault.ended()
                }
            })
            .max_by_key(|at| at.latest)
            .or(struck)
            .or(start);
        let held = target
            .zip(start)
            .and_then(|(target, start)| timeline.grant_at(target, start));
        Scene {
            stage: self,
            timeline,
            cycle,
            target,
            faults,
            pause,
            start,
            end,
            held,
        }
    }
}

/// One cycle.
pub(crate) struct Scene<'s, 't, 'h> {
    pub(crate) stage: &'s Stage<'t, 'h>,
    pub(crate) timeline: &'t Timeline<'h>,
    pub(crate) cycle: &'t Cycle<'h>,
    pub(crate) target: Option<usize>,
    pub(crate) faults: Vec<&'t Fault<'h>>,
    pub(crate) pause: Option<&'t Fault<'h>>,
    /// When the first fault of the cycle was in force.
    pub(crate) start: Option<Moment>,
    /// When the last fault of the cycle was undone.
    pub(crate) end: Option<Moment>,
    /// The grant that the target had when the first fault met it.
    pub(crate) held: Option<usize>,
}

impl<'t, 'h> Scene<'_, 't, 'h> {
    pub(crate) fn owner(&self) -> Option<&'t Owner<'h>> {
        self.target.map(|target| &self.timeline.owners[target])
    }

    pub(crate) fn grant(&self) -> Option<&'t Grant<'h>> {
        self.held.map(|held| &self.timeline.grants[held])
    }

    pub(crate) fn fault(&self, kind: FaultKind) -> Option<&'t Fault<'h>> {
        let of_kind = || self.faults.iter().copied().filter(|fault| fault.kind == kind);
        of_kind()
            .rfind(|fault| fault.confirmed.is_some())
            .or_else(|| of_kind().next_back())
    }

    /// The moment until which the premise about the store must have come true: the thaw where there
    /// is a pause, else the end of the fault, else the end of the cycle.
    pub(crate) fn until(&self) -> BootNanos {
        let thaw = self.pause.and_then(Fault::ended);
        let healed = self
            .faults
            .iter()
            .filter(|fault| fault.kind != FaultKind::ClockStep)
            .filter_map(|fault| fault.ended())
            .max_by_key(|at| at.latest);
        thaw.or(healed)
            .or(self.cycle.end())
            .map_or(self.timeline.end, |at| at.latest)
    }

    /// Until when the cycle was looked at.
    pub(crate) fn over(&self) -> BootNanos {
        self.cycle.end().map_or(self.timeline.end, |at| at.latest)
    }

    /// The first grant of another holder after the one that the target had.
    pub(crate) fn successor(&self) -> Option<usize> {
        let next = self.timeline.successor(self.held?, self.target?)?;
        (self.timeline.grants[next].holder != self.grant()?.holder).then_some(next)
    }

    /// That grant, where it is another's and has the value that the target's had.
    pub(crate) fn successor_of_same_value(&self) -> Option<&'t Grant<'h>> {
        let next = self.timeline.successor(self.held?, self.target?)?;
        let next = &self.timeline.grants[next];
        (next.by != By::Lab && next.holder == self.grant()?.holder).then_some(next)
    }

    /// The lab's own grant in this cycle.
    pub(crate) fn lab_grant(&self) -> Option<&'t Grant<'h>> {
        let from = self.timeline.last_begun(self.cycle.began.at.earliest).unwrap_or(0);
        self.timeline.grants[from..]
            .iter()
            .take_while(|grant| grant.first.cycle <= self.cycle.number)
            .find(|grant| grant.by == By::Lab && grant.first.cycle == self.cycle.number)
    }
}
