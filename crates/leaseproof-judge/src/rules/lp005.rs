//! A renewal claimed, and no extension applied between its *sent* and its *answered*.
//!
//! Without attempt ids *sent* may be as early as the previous word of the protocol by that thread, or
//! by the owner where threads aren't known.

use super::{Facts, evidence, of};
use crate::timeline::{By, EndKind, Owner, Saying, Timeline};
use crate::words::{count, ms};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{EventId, OwnerEvent};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::moment::Moment;
use leaseproof_model::rule::LP005;
use leaseproof_model::truth::Truth;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// How much of a TTL a store may round away.
const ROUNDING: Duration = Duration::from_millis(20);

/// How long an owner may take to say that it gave the lease up, once the store has done it.
const GIVING_UP: Duration = Duration::from_millis(500);

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    if timeline.store.is_empty() {
        return Vec::new();
    }
    let applied = Applied::of(timeline);
    let mut found = Vec::new();
    for (index, owner) in timeline.owners.iter().enumerate() {
        let mut unapplied: BTreeMap<u32, Vec<(Saying<'_>, Moment)>> = BTreeMap::new();
        for (saying, sent) in attempts(owner, lag(timeline, owner)) {
            // Its own stamp may be that of sending: it had the answer when it said so, at the latest.
            let attempt = Moment {
                earliest: sent,
                latest: saying.at.latest.max(saying.event.at.latest),
            };
            let watched = timeline
                .store
                .covers(sent, attempt.latest.plus(timeline.store.longest_gap));
            let unsupported = watched
                && if timeline.ask.store.shows_renewals {
                    !applied.supports(attempt, timeline) && applied.contradicts(attempt, saying.at.latest, timeline)
                } else {
                    ended_too_soon(By::Owner(index), owner, attempt, timeline)
                };
            // Gone after the answer, perhaps: a renewal that removes its key is believed in, a release is not.
            let released = applied
                .gone_during(attempt)
                .is_some_and(|gone| gone.latest > attempt.latest && !went_on(owner, gone.latest));
            if unsupported && !released {
                unapplied.entry(saying.event.cycle).or_default().push((saying, attempt));
            }
        }
        for (cycle, claims) in unapplied {
            let (first, attempt) = claims[0];
            let says = format!(
                "{} claimed {}, and the store extended nothing between sending and answer (the first attempt took at most {})",
                owner.name,
                count(claims.len(), "renewal"),
                ms(attempt.uncertainty()),
            );
            let mut ids: Vec<EventId> = claims.iter().take(6).map(|(saying, _)| saying.event.id).collect();
            ids.extend(around(timeline, first.at));
            found.push(of(
                owner,
                Finding::new(&LP005, Subject::Owner, Truth::Yes, cycle, says, evidence(ids)),
            ));
        }
    }
    found
}

/// How late this owner's lines came, at most, where they carry no stamp: its `acquired` after the grant that it is
/// about. A program may hold its lines back, and its renewals are then as late.
fn lag(timeline: &Timeline<'_>, owner: &Owner<'_>) -> Duration {
    let grants = owner.grants.iter().map(|index| &timeline.grants[*index]);
    grants
        .filter_map(|grant| Some(grant.acquired?.at.earliest.since(grant.begin.latest)))
        .max()
        .unwrap_or_default()
}

/// Lines that arrive this close to each other may have been written in one go, whenever they were said.
const BURST: Duration = Duration::from_millis(20);

/// The last word of a thread, or of the owner, and the one before its burst.
#[derive(Copy, Clone)]
struct Spoken {
    arrived: BootNanos,
    last: BootNanos,
    before_burst: Option<BootNanos>,
}

impl Spoken {
    /// The earliest moment at which what is said next can have been sent: after the last word, and where
    /// neither stamp nor time tells them apart, after the one before the burst.
    fn bound(before: Option<Self>, saying: &Saying<'_>, lag: Duration) -> Option<BootNanos> {
        let before = before?;
        if saying.is_stamped() {
            return Some(before.last);
        }
        let apart = before.arrived.plus(BURST) < saying.event.at.earliest;
        let word = if apart { Some(before.last) } else { before.before_burst };
        word.map(|word| word.minus(lag))
    }

    fn next(before: Option<Self>, saying: &Saying<'_>) -> Self {
        let apart = before.is_some_and(|it| it.arrived.plus(BURST) < saying.event.at.earliest);
        Self {
            arrived: saying.event.at.latest,
            last: saying.at.earliest,
            before_burst: before.and_then(|it| if apart { Some(it.last) } else { it.before_burst }),
        }
    }
}

/// Each claimed renewal with the earliest moment at which it can have been sent.
fn attempts<'t, 'h>(owner: &'t Owner<'h>, lag: Duration) -> impl Iterator<Item = (Saying<'h>, BootNanos)> + 't {
    let mut sent: HashMap<u64, BootNanos> = HashMap::new();
    let mut by_thread: HashMap<&str, Spoken> = HashMap::new();
    let mut anybody: Option<Spoken> = None;
    owner.said.iter().filter_map(move |saying| {
        if !saying.is_protocol() {
            return None;
        }
        let thread = saying.said.thread.as_deref();
        let known = saying.said.attempt.and_then(|attempt| sent.get(&attempt).copied());
        if saying.is(OwnerEvent::RenewSent)
            && let Some(attempt) = saying.said.attempt
        {
            sent.insert(attempt, saying.at.earliest);
        }
        let before = match thread {
            Some(thread) => {
                let before = by_thread.get(thread).copied();
                by_thread.insert(thread, Spoken::next(before, saying));
                before
            }
            None => anybody,
        };
        anybody = Some(Spoken::next(anybody, saying));
        let claim = saying.is(OwnerEvent::Renewed);
        claim.then(|| {
            let sent = known.or_else(|| Spoken::bound(before, saying, lag));
            (*saying, sent.unwrap_or(BootNanos(0)).min(saying.at.earliest))
        })
    })
}

/// All that was applied to the key, each in order of the latest moment.
struct Applied {
    /// Extensions, revivals, and ends that somebody is on record for: an extension right before one of
    /// those shows in no reading.
    extended: Vec<Moment>,
    /// Expiries, each from the moment on at which it was in force.
    expiries: Vec<(Moment, Moment)>,
    /// Ends that nobody is on record for.
    vanished: Vec<Moment>,
}

impl Applied {
    fn of(timeline: &Timeline<'_>) -> Self {
        let (mut extended, mut expiries, mut vanished) = (Vec::new(), Vec::new(), Vec::new());
        for grant in &timeline.grants {
            expiries.extend(grant.first_expiry.map(|expires| (grant.begin, expires)));
            // A renewal moves the expiry back where the store's clock had stepped back before it.
            let moved = grant.moved.iter().map(|moved| &moved.to);
            let changes = grant.extensions.iter().chain(&grant.shrinks).chain(moved.clone());
            expiries.extend(changes.map(|change| (change.at, change.expires)));
            extended.extend(grant.revives.map(|_| grant.begin));
            // Of several extensions between two readings only the last shows.
            extended.extend(grant.extensions.iter().chain(moved).map(|change| Moment {
                earliest: change.since.min(change.at.earliest),
                latest: change.at.latest,
            }));
            match grant.end {
                Some(end) if end.kind == EndKind::Vanished => vanished.push(end.seen),
                Some(end) => extended.push(end.seen),
                None => {}
            }
        }
        extended.sort_by_key(|at| at.latest);
        expiries.sort_by_key(|(at, _)| at.latest);
        vanished.sort_by_key(|at| at.latest);
        Self {
            extended,
            expiries,
            vanished,
        }
    }

    /// An end that nobody is on record for, about when the attempt was made.
    fn gone_during(&self, attempt: Moment) -> Option<Moment> {
        first_in(&self.vanished, attempt)
    }

    /// Whether an extension was applied during the attempt, possibly.
    fn supports(&self, attempt: Moment, timeline: &Timeline<'_>) -> bool {
        first_in(&self.extended, attempt).is_some()
            || (first_in(&self.vanished, attempt).is_none() && self.as_late_as_extended(attempt, timeline))
    }

    /// Whether the next look after the answer shows that nothing was applied: the key gone, or an expiry
    /// that is too early. A change of the expiry that no reading shows accuses nobody.
    fn contradicts(&self, attempt: Moment, stamped: BootNanos, timeline: &Timeline<'_>) -> bool {
        if first_in(&self.vanished, attempt).is_some() {
            return true;
        }
        // From its stamp on no look may show it, up to the first that was surely taken after the answer.
        let from = timeline
            .readings
            .partition_point(|(event, _)| event.at.earliest < stamped);
        for (event, reading) in &timeline.readings[from..] {
            let ends = match &reading.held {
                // It should have been gone long ago, and lives: of its expiry nothing is known.
                Some(held)
                    if !held.expired
                        && held
                            .expires
                            .is_some_and(|it| it.latest.plus(timeline.ask.store.late_bound) < event.at.earliest) =>
                {
                    return false;
                }
                Some(held) if !held.expired => held.expires.map(|expires| expires.latest),
                _ => Some(event.at.latest),
            };
            let short =
                |ends: BootNanos| ends.plus(tolerance(timeline)) < attempt.earliest.plus(timeline.ask.budget.ttl);
            if !ends.is_some_and(short) {
                return false;
            }
            if attempt.latest <= event.at.earliest {
                return true;
            }
        }
        false
    }

    /// The expiry in force is as late as one applied during the attempt would be: a renewal right
    /// after another moves it by less than a reading can show.
    fn as_late_as_extended(&self, attempt: Moment, timeline: &Timeline<'_>) -> bool {
        let budget = &timeline.ask.budget;
        let last = self.expiries.partition_point(|(at, _)| at.latest < attempt.latest);
        // The last one before the answer, and those that a reading right after it shows.
        self.expiries[last.saturating_sub(1)..]
            .iter()
            .take_while(|(at, _)| at.earliest <= attempt.latest)
            .any(|(_, expires)| expires.latest.plus(tolerance(timeline)) >= attempt.earliest.plus(budget.ttl))
    }
}

/// Where no renewal shows: whether the grant was over, by itself, before a TTL after the earliest moment of
/// the attempt. Had it been applied, the grant would have lasted for so long.
fn ended_too_soon(by: By, owner: &Owner<'_>, attempt: Moment, timeline: &Timeline<'_>) -> bool {
    let grant = timeline
        .grants
        .iter()
        .rfind(|grant| grant.by == by && grant.begin.earliest <= attempt.latest);
    grant.is_some_and(|grant| match (grant.end, grant.bound) {
        (Some(end), Some(ttl)) => {
            matches!(end.kind, EndKind::Expired | EndKind::Vanished)
                && end.seen.latest.plus(tolerance(timeline)) < attempt.earliest.plus(ttl)
                && !gave_up(owner, attempt.latest, end.seen.latest)
        }
        _ => false,
    })
}

/// Whether the owner was done with the lease when it was gone: what it removed itself is no sign of what its
/// renewals came to. It may say so late, after a time-out and another try.
fn gave_up(owner: &Owner<'_>, since: BootNanos, gone: BootNanos) -> bool {
    let until = gone.plus(GIVING_UP);
    owner.ended.is_some_and(|ended| ended.at.earliest <= until)
        || owner
            .said_since(since)
            .iter()
            .take_while(|saying| saying.at.earliest <= until)
            .any(|saying| saying.is(OwnerEvent::Lost) || saying.is(OwnerEvent::Released))
}

/// Whether the owner acted as the holder after `at`, without acquiring anew.
fn went_on(owner: &Owner<'_>, at: BootNanos) -> bool {
    let anew = owner
        .said_since(at)
        .iter()
        .find(|saying| saying.is(OwnerEvent::Acquired))
        .map(|saying| saying.at.earliest);
    let from = owner.acts.partition_point(|act| act.at.latest <= at);
    owner.acts[from..]
        .iter()
        .take_while(|act| anew.is_none_or(|anew| act.at.latest < anew))
        .any(|act| at < act.at.earliest)
}

/// How much earlier than a whole TTL an extension may show.
fn tolerance(timeline: &Timeline<'_>) -> Duration {
    ROUNDING.min(timeline.ask.budget.heartbeat / 2) + timeline.ask.store.early_slack
}

/// The first of these moments that may fall into the attempt.
fn first_in(moments: &[Moment], attempt: Moment) -> Option<Moment> {
    let from = moments.partition_point(|at| at.latest < attempt.earliest);
    // The brackets of an end and of the next change overlap: a few are looked at.
    moments[from..]
        .iter()
        .take(4)
        .find(|at| at.earliest <= attempt.latest)
        .copied()
}

/// The readings on both sides of a moment.
fn around(timeline: &Timeline<'_>, at: Moment) -> Vec<EventId> {
    let next = timeline
        .readings
        .partition_point(|(event, _)| event.at.latest < at.latest);
    [next.checked_sub(1), Some(next)]
        .into_iter()
        .flatten()
        .filter_map(|place| timeline.readings.get(place))
        .map(|(event, _)| event.id)
        .collect()
}
