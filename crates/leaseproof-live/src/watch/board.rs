//! All that is known: the leases, their owners' beliefs, the store, and the monitor itself.

use super::belief::{Belief, Report};
use super::clock::blind_from;
use super::divergence::{Judged, judge};
use super::key::Key;
use super::label::{OTHER, shortened};
use super::lease::{Change, Lease};
use super::notices::Notice;
use super::series::{Fold, OF_LEASES};
use super::states::{Own, StoreState};
use super::terms::Terms;
use leaseproof_model::clock::{BootNanos, Stamp};
use leaseproof_model::event::Reading;
use leaseproof_model::moment::Moment;
use leaseproof_store::{Listing, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// A lease's place on the board, for as long as it is there.
pub type Place = usize;

/// One lease on the board.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key, as the store has it.
    pub key: Key,
    /// What its series are labelled with; `None` counts as `other`.
    pub label: Option<Arc<str>>,
    /// Whether the plan names it; else it was found below a prefix.
    pub named: bool,
    /// What the store shows.
    pub lease: Lease,
    /// What its owner says, where the plan says how to ask.
    pub belief: Option<Box<Belief>>,
}

/// Everything.
#[derive(Debug)]
pub struct Board {
    /// What the leases are measured by.
    pub terms: Terms,
    /// The leases; a place that became free is used again.
    entries: Vec<Option<Entry>>,
    free: Vec<Place>,
    found: BTreeMap<Arc<str>, Place>,
    /// How many more leases may have a label.
    labels_left: usize,
    gone: Vec<f64>,
    /// The store.
    pub store: StoreState,
    /// The monitor.
    pub own: Own,
    /// Goes up with each step of the store's clock and each of its epochs.
    era: u32,
}

impl Board {
    /// An empty board on which at most `labels` leases get a label.
    #[must_use]
    pub fn new(terms: Terms, labels: usize) -> Self {
        Self {
            terms,
            entries: Vec::new(),
            free: Vec::new(),
            found: BTreeMap::new(),
            labels_left: labels,
            gone: vec![0.0; OF_LEASES.len()],
            store: StoreState::default(),
            own: Own::default(),
            era: 0,
        }
    }

    /// Puts a lease of the plan on the board.
    pub fn add_named(&mut self, key: impl Into<Key>, label: &str, belief: Option<Belief>) -> Place {
        let label = self.label(label);
        self.put(Entry {
            key: key.into(),
            label,
            named: true,
            lease: Lease::default(),
            belief: belief.map(Box::new),
        })
    }

    /// Takes in what was found below a prefix; gives back how many of it are left out beyond `max`. Where
    /// the listing is whole, leases of which the store has no trace any more are taken off.
    pub fn found(&mut self, prefix: &str, max: usize, listing: &Listing) -> u64 {
        let mut here: BTreeSet<Arc<str>> = self.below(prefix);
        if !listing.more {
            for key in here.clone() {
                if listing.keys.binary_search_by(|it| it.as_str().cmp(&key)).is_err() {
                    self.take_off(&key);
                    here.remove(&key);
                }
            }
        }
        let named = self.iter().filter(|(_, it)| it.named);
        let named: BTreeSet<&str> = named.filter_map(|(_, it)| it.key.text()).collect();
        let too_long = listing.keys.iter().filter(|key| key.len() > LONGEST_KEY).count();
        let new: Vec<Arc<str>> = listing
            .keys
            .iter()
            .filter(|key| key.len() <= LONGEST_KEY)
            .filter(|key| !self.found.contains_key(key.as_str()) && !named.contains(key.as_str()))
            .map(|key| Arc::from(key.as_str()))
            .collect();
        let room = max.saturating_sub(here.len());
        for key in new.iter().take(room) {
            let label = self.label(key);
            let place = self.put(Entry {
                key: Key::Text(Arc::clone(key)),
                label,
                named: false,
                lease: Lease::default(),
                belief: None,
            });
            self.found.insert(Arc::clone(key), place);
        }
        (new.len().saturating_sub(room) + too_long) as u64
    }

    fn below(&self, prefix: &str) -> BTreeSet<Arc<str>> {
        let from = self.found.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        from.map(|(key, _)| key)
            .take_while(|key| key.starts_with(prefix))
            .cloned()
            .collect()
    }

    fn take_off(&mut self, key: &str) {
        let Some(place) = self.found.remove(key) else { return };
        let Some(entry) = self.entries[place].take() else {
            return;
        };
        self.free.push(place);
        if entry.label.is_some() {
            self.labels_left += 1;
            return;
        }
        // A counter never goes down: what it counted stays in the sum of all others.
        let counted: Vec<f64> = OF_LEASES
            .iter()
            .map(|series| match series.fold {
                Fold::Sum => (series.of)(&entry, self, BootNanos(0)).unwrap_or(0.0),
                _ => 0.0,
            })
            .collect();
        for (sum, more) in self.gone.iter_mut().zip(counted) {
            *sum += more;
        }
    }

    /// What leases that were taken off had counted, by the order of the series.
    #[must_use]
    pub fn gone(&self) -> &[f64] {
        &self.gone
    }

    fn put(&mut self, entry: Entry) -> Place {
        match self.free.pop() {
            Some(place) => {
                self.entries[place] = Some(entry);
                place
            }
            None => {
                self.entries.push(Some(entry));
                self.entries.len() - 1
            }
        }
    }

    /// A label, while there are any left. `other` belongs to those that have none.
    fn label(&mut self, text: &str) -> Option<Arc<str>> {
        if self.labels_left == 0 || text == OTHER {
            return None;
        }
        self.labels_left -= 1;
        Some(shortened(text))
    }

    /// The leases, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = (Place, &Entry)> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(place, entry)| Some((place, entry.as_ref()?)))
    }

    /// How many leases there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The store's word on its clock and its epoch in a reading: to be told before the leases are.
    pub fn store_saw(&mut self, at: Moment, reading: &Reading, stamp: Stamp, notices: &mut Vec<Notice>) {
        if !self.store.up {
            self.store.up = true;
            self.store.refuses = false;
            if self.own.last_round.is_some() {
                notices.push(Notice::StoreBack);
            }
        }
        if self.store.time.saw(at, reading.server_ns, self.terms.clock, stamp) {
            self.era += 1;
            notices.push(Notice::StoreStepped);
        }
        if let Some(epoch) = &reading.epoch
            && self.store.epoch.as_deref() != Some(epoch)
        {
            if self.store.epoch.is_some() {
                self.era += 1;
                self.store.epoch_changes += 1;
                notices.push(Notice::StoreEpoch(epoch.clone()));
            }
            self.store.epoch = Some(Arc::from(epoch.as_str()));
        }
    }

    /// Whether what answered may be behind the store: to be told before its readings are.
    pub fn store_may_be_behind(&mut self, behind: bool) {
        self.store.may_be_behind = behind;
        self.store.was_behind |= behind;
    }

    /// A reading of a lease.
    pub fn lease_saw(&mut self, place: Place, at: Moment, reading: &Reading, notices: &mut Vec<Notice>) {
        self.lease_saw_expiry(place, at, None, reading, notices);
    }

    /// The same, of a reading whose expiry was looked at before: at `expiry`.
    pub fn lease_saw_expiry(
        &mut self,
        place: Place,
        at: Moment,
        expiry: Option<Moment>,
        reading: &Reading,
        notices: &mut Vec<Notice>,
    ) {
        let Some(Some(entry)) = self.entries.get_mut(place) else {
            return;
        };
        let changes = entry.lease.saw(at, expiry, reading, self.era, &self.terms);
        let released = given_back(entry, &self.terms);
        // Its owner has said how it ended.
        let told = |it: &Change| !(released && matches!(it, Change::Gone { .. }));
        for change in changes.into_iter().filter(told) {
            self.own.findings += u64::from(matches!(change, Change::FenceBack { .. }));
            notices.push(Notice::Changed {
                key: entry.key.shown(),
                change,
            });
        }
        // A replica that shows nobody may just not have heard of the grant.
        if let Some(belief) = &mut entry.belief
            && entry.lease.grant.is_none()
            && !self.store.may_be_behind
        {
            belief.nobody_at(at);
        }
        settle(entry, at.latest, &self.terms, &mut self.own, notices);
    }

    /// A key that can't be read: it is no lease, or is closed to this user.
    pub fn unreadable(&mut self, place: Place, error: &StoreError, notices: &mut Vec<Notice>) {
        let Some(Some(entry)) = self.entries.get_mut(place) else {
            return;
        };
        let why = error.to_string();
        if entry.lease.unreadable.is_none() {
            notices.push(Notice::Unreadable {
                key: entry.key.shown(),
                why: why.clone(),
            });
        }
        entry.lease.unreadable(&why, error.is_refusal());
    }

    /// A round was not answered, or refused.
    pub fn store_failed(&mut self, error: &StoreError, notices: &mut Vec<Notice>) {
        self.store.failures += 1;
        let refused = error.is_refusal();
        if refused {
            self.store.refusals += 1;
        }
        // That a server which answered nothing refuses now is news.
        let other = self.store.refuses != refused;
        self.store.refuses = refused;
        if std::mem::replace(&mut self.store.up, false) || other {
            let why = error.to_string();
            notices.push(match refused {
                true => Notice::StoreRefuses(why),
                false => Notice::StoreLost(why),
            });
        }
    }

    /// A report of an owner.
    pub fn reported(&mut self, place: Place, report: Report, notices: &mut Vec<Notice>) {
        let Some(Some(entry)) = self.entries.get_mut(place) else {
            return;
        };
        let Some(belief) = &mut entry.belief else { return };
        let now = report.at.latest;
        belief.reported(report);
        given_back(entry, &self.terms);
        settle(entry, now, &self.terms, &mut self.own, notices);
    }

    /// An owner could not be read.
    pub fn belief_failed(&mut self, place: Place, why: &str) {
        let Some(Some(entry)) = self.entries.get_mut(place) else {
            return;
        };
        if let Some(belief) = &mut entry.belief {
            belief.failed(why);
        }
    }

    /// A round that was due at `due` is over: those that were due meanwhile are missed.
    pub fn round_over(&mut self, due: BootNanos, took: Duration, now: BootNanos, notices: &mut Vec<Notice>) {
        self.own.round = took;
        let interval = self.terms.interval.max(Duration::from_millis(1));
        self.own.behind += now.since(due).saturating_sub(interval);
        let missed = u64::try_from(self.own.behind.as_nanos() / interval.as_nanos()).unwrap_or(u64::MAX);
        if missed == std::mem::replace(&mut self.own.missed, missed) {
            return;
        }
        // What the store's silence or this monitor's own stop cost is told as that.
        if took <= interval || !self.store.up {
            return;
        }
        // Once a minute, however many there are.
        if self.own.late_told.is_none_or(|told| now.since(told) >= LATE_AGAIN) {
            self.own.late_told = Some(now);
            notices.push(Notice::Late { took, interval });
        }
    }

    /// How late the monitor woke.
    pub fn woke(&mut self, late: Duration, now: BootNanos, notices: &mut Vec<Notice>) {
        self.own.lag = late;
        self.own.lag_worst.note(late.as_secs_f64(), now, self.terms.window);
        if late > blind_from(self.terms.interval) {
            self.own.blind += late;
            notices.push(Notice::Blind(late));
        }
    }
}

/// So often it is told that rounds take longer than their interval.
const LATE_AGAIN: Duration = Duration::from_secs(60);

/// A longer key below a prefix is left out: it costs memory, and is nobody's lease.
const LONGEST_KEY: usize = 1024;

/// Takes its owner's word for an end that the store does not explain; whether that explains it.
fn given_back(entry: &mut Entry, terms: &Terms) -> bool {
    match entry.belief.as_ref().and_then(|belief| belief.released.as_ref()) {
        Some(word) => entry.lease.was_released(word.at, word.token, terms),
        None => false,
    }
}

/// What the last report comes to by what is known now.
fn settle(entry: &mut Entry, now: BootNanos, terms: &Terms, own: &mut Own, notices: &mut Vec<Notice>) {
    let Some(belief) = &mut entry.belief else { return };
    let before = belief.judged;
    let judged = judge(belief, &entry.lease);
    belief.judged = match (before, judged) {
        // Until the next reading says more, what was shown stands: it is a least.
        (Judged::Diverged(by), Judged::CannotTell) => Judged::Diverged(by),
        (_, judged) => judged,
    };
    let Judged::Diverged(by) = judged else { return };
    belief.worst.note(by.as_secs_f64(), now, terms.window);
    if !matches!(before, Judged::Diverged(_)) {
        belief.divergences += 1;
        own.findings += 1;
        notices.push(Notice::Diverged {
            key: entry.key.shown(),
            by,
            never_held: entry.lease.was_never_held(),
        });
    }
}
