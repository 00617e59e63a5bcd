//! Events → one timeline: owners, faults, grants, acts, and what each act rests on.

mod act;
mod attribution;
mod coverage;
mod cycle;
mod ends;
mod failover;
mod fault;
mod freeze;
mod grant;
mod grants;
mod label;
mod owner;
mod reach;
mod same_value;
mod standing;
mod switch;

pub(crate) use act::{Act, ActKind, Standing, when};
pub(crate) use coverage::{StoreCoverage, answered_slowly};
pub(crate) use cycle::Cycle;
pub(crate) use fault::Fault;
pub(crate) use grant::{By, End, EndKind, Grant};
pub(crate) use grants::clock_stepped;
pub(crate) use owner::{Owner, Saying};
pub(crate) use reach::Reach;
pub(crate) use switch::Switch;

use freeze::{Freeze, Spans};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Coverage, Event, FaultKind, Fill, LabDeed, OwnerEvent, Reading, What, Write};
use leaseproof_model::history::History;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::OwnerName;
use leaseproof_model::scenario::{Ask, ScenarioId};
use owner::{Ended, WallCount};
use std::collections::HashMap;
use std::time::Duration;

/// A use of the store by the lab.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Deeded<'h> {
    pub(crate) event: &'h Event,
    pub(crate) deed: &'h LabDeed,
}

/// The record of one scenario run, put in order.
pub(crate) struct Timeline<'h> {
    pub(crate) history: &'h History,
    pub(crate) ask: &'h Ask,
    pub(crate) owners: Vec<Owner<'h>>,
    names: HashMap<&'h str, usize>,
    pub(crate) cycles: Vec<Cycle<'h>>,
    pub(crate) faults: Vec<Fault<'h>>,
    pub(crate) grants: Vec<Grant<'h>>,
    pub(crate) readings: Vec<(&'h Event, &'h Reading)>,
    /// In the resource's own order, replays included.
    pub(crate) writes: Vec<(&'h Event, &'h Write)>,
    pub(crate) held_writes: Vec<&'h Event>,
    /// Fills of the cache, in the resource's own order.
    pub(crate) fills: Vec<(&'h Event, &'h Fill)>,
    pub(crate) held_reads: Vec<&'h Event>,
    pub(crate) witness_restarts: Vec<&'h Event>,
    pub(crate) deeds: Vec<Deeded<'h>>,
    pub(crate) store: StoreCoverage,
    pub(crate) coverage: Vec<&'h Coverage>,
    /// The scenario ended before its cycles did, and why.
    pub(crate) abandoned: Option<(&'h Event, &'h str)>,

    /// The last moment on record.
    pub(crate) end: BootNanos,
}

impl<'h> Timeline<'h> {
    pub(crate) fn new(history: &'h History) -> Self {
        let mut timeline = Self {
            history,
            ask: &history.ask,
            owners: Vec::new(),
            names: HashMap::new(),
            cycles: Cycle::all(&history.events),
            faults: Vec::new(),
            grants: Vec::new(),
            readings: Vec::new(),
            writes: Vec::new(),
            held_writes: Vec::new(),
            fills: Vec::new(),
            held_reads: Vec::new(),
            witness_restarts: Vec::new(),
            deeds: Vec::new(),
            store: StoreCoverage::default(),
            coverage: Vec::new(),
            abandoned: None,

            end: BootNanos(0),
        };
        timeline.sort_events();
        timeline.freeze_owners();
        timeline.grants = grants::grants(&timeline.readings, history.ask.store.late_bound);
        same_value::part(&mut timeline.grants, &timeline.owners, &timeline.readings);
        attribution::attribute(&mut timeline.grants, &mut timeline.owners, &timeline.deeds);
        ends::explain(
            &mut timeline.grants,
            &timeline.owners,
            &timeline.deeds,
            &timeline.faults,
            history.ask.budget.ttl,
        );
        let budget = &history.ask.budget;
        ends::charge(
            &mut timeline.grants,
            &timeline.owners,
            &timeline.readings,
            &timeline.faults,
            budget,
        );
        timeline.collect_acts();
        let reach = Reach::new(budget, &timeline.cycles);
        for owner in &mut timeline.owners {
            standing::stand(owner, &timeline.grants, &timeline.store, &reach);
        }
        timeline
    }

    /// Each event to its source, each source in its own order.
    fn sort_events(&mut self) {
        let (mut phases, mut roles) = (Vec::new(), Vec::new());
        for event in &self.history.events {
            self.end = self.end.max(event.at.latest);
            let owner = match &event.owner {
                Some(name) if !name.is_lab() => Some(self.owner_named(name)),
                _ => None,
            };
            match &event.what {
                What::LabDid(deed) => self.deeds.push(Deeded { event, deed }),
                What::Coverage(coverage) => self.coverage.push(coverage),
                What::Abandoned { why } => self.abandoned = Some((event, why)),
                What::Fault(fault) => phases.push((event, fault)),
                What::Roles(said) => roles.push((event, said)),
                What::Reading(reading) => self.readings.push((event, reading)),
                What::Write(write) => {
                    if let Some(owner) = owner.filter(|_| !write.replay) {
                        self.owners[owner].writes.push(self.writes.len());
                    }
                    self.writes.push((event, write));
                }
                What::WriteHeld { .. } => self.held_writes.push(event),
                What::Fill(fill) => self.fills.push((event, fill)),
                What::ReadHeld { .. } => self.held_reads.push(event),
                What::WitnessRestarted { .. } => self.witness_restarts.push(event),
                _ => {}
            }

            if let Some(owner) = owner {
                self.owners[owner].take(event);
            }
        }
        phases.sort_by_key(|(event, _)| event.seq);
        self.readings.sort_by_key(|(event, _)| event.seq);
        self.deeds.sort_by_key(|it| it.event.at.latest);
        if !self.writes.is_sorted_by_key(|(_, write)| write.serial) {
            self.sort_writes();
        }
        for owner in &mut self.owners {
            owner.order_sayings();
        }
        roles.sort_by_key(|(event, _)| event.at.latest);
        self.faults = Fault::join(&phases, &roles);
        // What the lab itself bears between two looks.
        let edge = (self.ask.budget.heartbeat / 2).max(Duration::from_millis(150));
        self.store = StoreCoverage::new(&self.coverage, &self.readings, &self.faults, edge);
    }

    fn sort_writes(&mut self) {
        self.writes.sort_by_key(|(_, write)| write.serial);
        for owner in &mut self.owners {
            owner.writes.clear();
        }
        for (place, (event, write)) in self.writes.iter().enumerate() {
            if let Some(owner) = event.owner.as_ref().and_then(|name| self.names.get(name.as_str()))
                && !write.replay
            {
                self.owners[*owner].writes.push(place);
            }
        }
    }

    fn owner_named(&mut self, name: &'h OwnerName) -> usize {
        if let Some(place) = self.names.get(name.as_str()) {
            return *place;
        }
        self.owners.push(Owner::new(name));
        self.names.insert(name.as_str(), self.owners.len() - 1);
        self.owners.len() - 1
    }

    /// Which owners did not run when, and which were asked to end, from the faults.
    fn freeze_owners(&mut self) {
        const FOREVER: BootNanos = BootNanos(u64::MAX);
        for fault in self.faults.iter().filter(|fault| fault.pauses()) {
            let Some(owner) = fault.owner().and_then(|name| self.names.get(name)) else {
                continue;
            };
            let Some(from) = fault.earliest() else { continue };
            let thaw = fault.ended().or(fault.failed.map(|(event, _)| event.at));
            let sure = fault
                .began()
                .map(|began| (began.latest, thaw.map_or(FOREVER, |thaw| thaw.earliest)));
            self.owners[*owner].freezes.push(Freeze {
                kind: fault.kind,
                possible: (from, thaw.map_or(FOREVER, |thaw| thaw.latest)),
                sure,
                thaw,
                threads: fault.confirmed.and_then(|(_, seen)| seen.threads).map(|(_, of)| of),
            });
        }
        for fault in self.faults.iter().filter(|fault| fault.kind == FaultKind::Terminate) {
            if let Some(owner) = fault.owner().and_then(|name| self.names.get(name))
                && let Some((event, _)) = fault.confirmed
            {
                self.owners[*owner].terminated.push(event);
            }
        }
        for owner in &mut self.owners {
            owner.freezes.sort_by_key(|freeze| freeze.possible.0);
            // While only the parent is stopped its children run, and their acts count. While only the
            // children are stopped the parent may act, so that nobody is surely idle.
            let stopped = |kinds: &[FaultKind]| -> Vec<Freeze> {
                owner
                    .freezes
                    .iter()
                    .filter(|freeze| kinds.contains(&freeze.kind))
                    .cloned()
                    .collect()
            };
            let sure = stopped(&[FaultKind::PauseTree])
                .iter()
                .filter_map(|freeze| freeze.sure)
                .collect();
            let possible = stopped(&[FaultKind::PauseTree, FaultKind::PauseChild]);
            owner.frozen = Spans::new(sure);
            owner.may_be_frozen = Spans::new(possible.iter().map(|freeze| freeze.possible).collect());
        }
    }

    /// What each owner did as the holder, in order. Its own word for a write counts only where the
    /// witness saw none of its writes: no write is counted twice.
    fn collect_acts(&mut self) {
        for owner in &mut self.owners {
            let mut acts: Vec<Act<'h>> = Vec::with_capacity(owner.writes.len() + owner.said.len());
            for place in &owner.writes {
                let (event, write) = self.writes[*place];
                acts.push(Act {
                    kind: ActKind::Write,
                    event,
                    at: act::when(event, write),
                    token: write.token,
                    thread: None,
                    write: Some((*place, write)),
                    says_from: write.claims_owner.as_deref().filter(|it| self.names.contains_key(it)),
                    standing: Standing::Ungranted,
                });
            }
            for saying in &owner.said {
                let kind = match saying.said.event {
                    OwnerEvent::Renewed => ActKind::Renewed,
                    OwnerEvent::Write if owner.writes.is_empty() => ActKind::SaidWrite,
                    _ => continue,
                };
                acts.push(Act {
                    kind,
                    event: saying.event,
                    at: saying.at,
                    token: saying.said.token,
                    thread: saying.said.thread.as_deref(),
                    write: None,
                    says_from: None,
                    standing: Standing::Ungranted,
                });
            }
            acts.sort_by_key(|act| act.at.latest);
            owner.acts = acts;
        }
    }

    /// The place of the owner with this name.
    pub(crate) fn owner(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// The grant that `owner` had at `at`, possibly. A grant that an owner acquires anew right after
    /// its lease was removed may, by its bracket, have begun before that: the one that surely stood
    /// comes first.
    pub(crate) fn grant_at(&self, owner: usize, at: Moment) -> Option<usize> {
        let mine = &self.owners[owner].grants;
        let begun = mine.partition_point(|index| self.grants[*index].begin.earliest <= at.latest);
        let covering = |index: &usize| self.grants[*index].may_cover(at);
        // Grants follow one another: those before the last that surely had begun were over by then.
        let stood = mine[..begun]
            .iter()
            .rev()
            .find(|index| self.grants[**index].begin.latest < at.earliest);
        let last = mine[..begun].last();
        stood
            .filter(|it| covering(it))
            .or(last.filter(|it| covering(it)))
            .copied()
    }

    /// The place of the last grant of anybody that may have begun by `at`.
    pub(crate) fn last_begun(&self, at: BootNanos) -> Option<usize> {
        self.grants
            .partition_point(|grant| grant.begin.earliest <= at)
            .checked_sub(1)
    }

    /// Whether a grant surely isn't this owner's.
    pub(crate) fn is_not_of(&self, grant: usize, owner: usize) -> bool {
        match self.grants[grant].by {
            By::Owner(by) => by != owner,
            By::Lab => true,
            By::Unknown => self.owners[owner].surely_idle(self.grants[grant].begin),
        }
    }

    /// Whether a cycle was watched from begin to end: the store without a gap, and nothing dropped of
    /// what any source saw by then. The rig's self-check needs no store.
    pub(crate) fn watched(&self, cycle: &Cycle<'_>) -> bool {
        let until = cycle.end().map_or(self.end, |at| at.earliest);
        let dropped = self.coverage.iter().any(|it| it.dropped > 0 && it.from <= until);
        let store = self.ask.scenario == ScenarioId::StaleToken || self.store.covers(cycle.began.at.latest, until);
        store && !dropped
    }

    /// The number of the cycle in which something happened; 0 before the first.
    pub(crate) fn cycle_at(&self, at: Moment) -> u32 {
        let begun = self
            .cycles
            .partition_point(|cycle| cycle.began.at.earliest <= at.latest);
        begun.checked_sub(1).map_or(0, |place| self.cycles[place].number)
    }

    /// The first grant after `grant` that belongs to another than `owner`, for sure or possibly.
    pub(crate) fn successor(&self, grant: usize, owner: usize) -> Option<usize> {
        (grant + 1..self.grants.len()).find(|next| self.grants[*next].by != By::Owner(owner))
    }
}

impl<'h> Owner<'h> {
    /// Puts what it said in order of time. Its output is one stream: what it says later arrives later,
    /// however widely an arrival is known.
    fn order_sayings(&mut self) {
        self.said.sort_by_key(|saying| saying.event.seq);
        // A clock of whole seconds shows the begin of each.
        let second = Duration::from_secs(1);
        let whole = |saying: &&Saying<'_>| u128::from(saying.at.earliest.0).is_multiple_of(second.as_nanos());
        let stamped = || self.said.iter().filter(|saying| saying.is_stamped());
        if stamped().next().is_some() && stamped().all(|saying| whole(&saying)) {
            for saying in self.said.iter_mut().filter(|saying| saying.is_stamped()) {
                saying.at.latest = saying.at.earliest.plus(second).min(saying.event.at.latest);
            }
        }
        let mut arrived = BootNanos(u64::MAX);
        let mut stamped: HashMap<Option<&str>, BootNanos> = HashMap::new();
        for saying in self.said.iter_mut().rev() {
            arrived = arrived.min(saying.event.at.latest);
            let later = stamped.entry(saying.said.thread.as_deref()).or_insert(arrived);
            if !saying.is_stamped() {
                saying.at.latest = arrived.min(*later).max(saying.at.earliest);
            }
            *later = saying.at.latest.min(*later);
        }
        self.said.sort_by_key(|saying| saying.at.latest);
    }

    /// Files an event that is about this owner.
    fn take(&mut self, event: &'h Event) {
        match &event.what {
            What::Started { slot, .. } => {
                self.started = Some(event);
                self.slot = Some(slot);
            }
            What::Ended { by_lab, .. } => {
                self.ended = Some(Ended {
                    at: event.at,
                    event: event.id,
                    by_lab: *by_lab,
                });
            }
            What::Said(said) => self.said.push(Saying::new(event, said, self.started)),
            What::Wire(wire) => self.wires.push((event, wire)),
            What::Within(within) => self.within.push((event, within)),
            What::WallReads {
                count,
                offset_ns,
                mapped,
            } => self.wall.push(WallCount {
                at: event.at,
                event: event.id,
                cycle: event.cycle,
                count: *count,
                offset_ns: *offset_ns,
                mapped: *mapped,
            }),
            _ => {}
        }
    }
}
