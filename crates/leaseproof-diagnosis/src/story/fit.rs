//! Whether a stop explains the loss.

use super::Story;
use super::stop::{How, Stop, Who};
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{OwnerSays, Says, StoreSays};
use leaseproof_evidence::when::{Interval, nanos};
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// How a stop lies to the loss.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fit {
    /// Surely outside the span in which the lease ran out.
    Apart,
    /// It can't be laid on the timeline, or no loss is known.
    Unplaced,
    /// In that span, and too short to have cost the lease by itself.
    Partly,
    /// It filled the span between the last renewal and the end, but for what a healthy owner waits, too.
    Covers,
}

/// How a stop lies to the loss.
#[must_use]
pub fn fit(story: &Story<'_>, stop: &Stop<'_>) -> Fit {
    let Some(window) = story.loss.as_ref().and_then(|loss| loss.window(story)) else {
        return Fit::Unplaced;
    };
    let (Some(began), Some(ended)) = (stop.began, stop.ended) else {
        return Fit::Unplaced;
    };
    if let Some(back) = story.loss.as_ref().and_then(|loss| loss.may_reach_back(story))
        && !matches!(stop.how, How::Killed { .. })
    {
        return match ended.latest < back.earliest || began.earliest > back.latest {
            true => Fit::Apart,
            false => Fit::Partly,
        };
    }
    if ended.latest < window.earliest || began.earliest > window.latest {
        return Fit::Apart;
    }
    if matches!(stop.how, How::Killed { .. }) {
        return Fit::Covers;
    }
    let whole = window.latest.saturating_sub(window.earliest);
    let overlap = overlap(stop, began, ended, window);
    let heartbeat = story.numbers.heartbeat.as_ref().map_or(whole / 3, |it| nanos(it.value));
    let rest = story.numbers.renew_timeout.as_ref().map_or(0, |it| nanos(it.value));
    let healthy = (heartbeat.saturating_add(heartbeat / 2).saturating_add(rest)).max(whole / 5 * 2);
    if overlap > 0 && whole.saturating_sub(overlap) <= healthy {
        Fit::Covers
    } else {
        Fit::Partly
    }
}

/// Whether it fills the span even at its shortest, as far as the stamps of its two lines tell.
#[must_use]
pub fn surely_covers(story: &Story<'_>, stop: &Stop<'_>) -> bool {
    let (Some(began), Some(ended)) = (stop.began, stop.ended) else {
        return false;
    };
    let least = Stop {
        began: Some(Interval::exact(began.latest)),
        ended: Some(Interval::exact(ended.earliest)),
        ..stop.clone()
    };
    began.latest < ended.earliest && fit(story, &least) == Fit::Covers
}

/// A stop whose ends are wide apart (a look now and then) is taken at its greatest.
fn overlap(stop: &Stop<'_>, began: Interval, ended: Interval, window: Interval) -> i64 {
    let (from, to) = match stop.how {
        How::Gap { .. } | How::Paused { .. } => (began.earliest, ended.latest),
        _ => (began.middle(), ended.middle()),
    };
    to.min(window.latest).saturating_sub(from.max(window.earliest))
}

/// Lines of the same owner surely inside the stop: it ran, and the stop is another's or none.
#[must_use]
pub fn contradicted<'e>(story: &Story<'e>, stop: &Stop<'e>, owner: usize) -> Option<&'e Record> {
    let (began, ended) = (stop.began?, stop.ended?);
    signs_of(story, owner).find(|record| {
        story.at(record).is_some_and(|at| {
            // Half a stop may be a matter of clocks: a line must be well inside.
            let well = Duration::from_nanos((ended.earliest.saturating_sub(began.latest).max(0) / 10).unsigned_abs());
            let at = at.widened(well);
            began.before(at) == Truth::Yes && at.before(ended) == Truth::Yes
        })
    })
}

/// Whether the stop is the losing owner's: by its name, or since that owner's own silence begins and ends with it.
#[must_use]
pub fn is_the_losers(story: &Story<'_>, stop: &Stop<'_>) -> Truth {
    let Some(loser) = story.loss.as_ref().and_then(|loss| loss.owner) else {
        return match stop.who {
            Who::Store => Truth::No,
            _ => Truth::CannotTell,
        };
    };
    match stop.who {
        Who::Owner(index) => Truth::from(index == loser),
        Who::Store => Truth::No,
        Who::Machine | Who::Unknown => {
            // A quota lets it run in slices.
            let in_slices = matches!(stop.how, How::Throttled { .. });
            if !in_slices && contradicted(story, stop, loser).is_some() {
                return Truth::No;
            }
            if !in_slices && is_of_another_process(story, stop, loser) {
                return Truth::No;
            }
            if coincides(story, stop, loser) || (in_slices && alone_slowed(story, stop, loser)) {
                Truth::Yes
            } else {
                Truth::CannotTell
            }
        }
    }
}

/// The same writer tells of another long stop, in which the owner gave signs: it is no writer of the owner's.
fn is_of_another_process(story: &Story<'_>, stop: &Stop<'_>, owner: usize) -> bool {
    let writer = |stop: &Stop<'_>| stop.lines.first().map(|line| line.author.clone());
    story.stops.iter().any(|other| {
        other.file == stop.file
            && std::mem::discriminant(&other.how) == std::mem::discriminant(&stop.how)
            && writer(other) == writer(stop)
            && other.took >= LONG
            && contradicted(story, other, owner).is_some()
    })
}

/// A stop as long as this is seen in the lines of an owner that works.
const LONG: Duration = Duration::from_secs(1);

/// The owner gave far fewer signs within the span than before it, and no other owner did.
fn alone_slowed(story: &Story<'_>, stop: &Stop<'_>, owner: usize) -> bool {
    let Some(span) = stop.span() else { return false };
    let slowed = |index: usize| {
        let moments: Vec<i64> = signs_of(story, index)
            .filter_map(|record| Some(story.at(record)?.middle()))
            .collect();
        let before = moments.iter().filter(|at| **at < span.earliest);
        let (count, Some(first)) = (before.clone().count(), before.min()) else {
            return false;
        };
        let within = moments
            .iter()
            .filter(|at| **at >= span.earliest && **at <= span.latest)
            .count();
        let usual = u128::from(span.earliest.saturating_sub(*first).max(1).unsigned_abs());
        let length = u128::from(span.latest.saturating_sub(span.earliest).max(1).unsigned_abs());
        // Fewer than half of what its habit lets one expect.
        count >= 8 && (within as u128).saturating_mul(2).saturating_mul(usual) < (count as u128).saturating_mul(length)
    };
    slowed(owner) && (0..story.owners.len()).all(|index| index == owner || !slowed(index))
}

/// The owner was silent over just this span, and no other owner was.
fn coincides(story: &Story<'_>, stop: &Stop<'_>, owner: usize) -> bool {
    let silent = |index: usize| {
        story.stops.iter().any(|gap| {
            matches!(gap.how, How::Gap { .. }) && gap.who == Who::Owner(index) && {
                match (gap.span(), stop.span()) {
                    (Some(gap_at), Some(at)) => {
                        let slack = nanos(gap.took / 4);
                        // From its last sign to the stop, and from there to its next one, is what its rhythm lets expect.
                        let rhythm = gap.began.and_then(|began| super::asking::rhythm(story, index, began));
                        let beyond = rhythm
                            .map_or(i64::MAX, |it| it.saturating_mul(3))
                            .min(nanos(gap.took / 3));
                        gap_at.earliest <= at.earliest.saturating_add(slack)
                            && gap_at.latest >= at.latest.saturating_sub(slack)
                            && nanos(gap.took) < nanos(stop.took).saturating_add(beyond)
                    }
                    _ => false,
                }
            }
        })
    };
    silent(owner) && (0..story.owners.len()).all(|index| index == owner || !silent(index))
}

/// A sign that the store worked while the lease ran out: it did something for somebody else, or for this grant.
#[must_use]
pub fn store_worked<'e>(story: &Story<'e>) -> Option<&'e Record> {
    let loss = story.loss.as_ref()?;
    let window = loss.window(story)?;
    let inside = |record: &&Record| {
        story.at(record).is_some_and(|at| {
            at.earliest
                > window
                    .earliest
                    .saturating_add(window.latest.saturating_sub(window.earliest) / 4)
                && at.earliest <= window.latest
        })
    };
    story
        .of(SourceKind::Store)
        .filter(|record| is_work(record))
        .find(inside)
}

/// A sign that the store worked after the owner's next renewal was due, by its own record, or since it answered another
/// owner; the next owner's grant right after the end counts.
#[must_use]
pub fn store_answered_others<'e>(story: &Story<'e>) -> Option<&'e Record> {
    let loss = story.loss.as_ref()?;
    let window = loss.window(story)?;
    let heartbeat = nanos(story.numbers.heartbeat.as_ref()?.value);
    let due = loss
        .renewed
        .map_or(window.earliest, |at| at.latest)
        .saturating_add(heartbeat);
    store_worked_within(story, due, window.latest.saturating_add(nanos(SOON)))
}

/// The first sign within a span that the store worked for others than the losing owner.
#[must_use]
pub fn store_worked_within<'e>(story: &Story<'e>, from: i64, to: i64) -> Option<&'e Record> {
    let loser = story.loss.as_ref().and_then(|loss| loss.owner);
    let others = story
        .owners
        .iter()
        .enumerate()
        .filter(|(index, _)| loser.is_some_and(|loser| loser != *index))
        .flat_map(|(_, owner)| owner.says.iter().copied())
        .filter(|record| {
            matches!(
                record.says,
                Says::Owner(OwnerSays::Acquired { .. } | OwnerSays::Renewed { .. })
            )
        });
    story
        .of(SourceKind::Store)
        .filter(|record| is_work(record))
        .chain(others)
        .find(|record| story.at(record).is_some_and(|at| at.earliest > from && at.latest <= to))
}

/// The next owner's grant comes a little after the end of the one before.
const SOON: Duration = Duration::from_millis(500);

fn is_work(record: &Record) -> bool {
    matches!(
        record.says,
        Says::Store(
            StoreSays::Granted { .. }
                | StoreSays::RenewalApplied { .. }
                | StoreSays::Held { .. }
                | StoreSays::Expired { .. }
                | StoreSays::SessionOpened { .. }
                | StoreSays::SessionExpired { .. }
                | StoreSays::Asked { .. }
                | StoreSays::Deleted { .. }
        )
    )
}

/// Every sign of an owner's life: what it says, and what the resource got from it.
pub fn signs_of<'s, 'e>(story: &'s Story<'e>, owner: usize) -> impl Iterator<Item = &'e Record> + use<'s, 'e> {
    let of_owner = story.owners.get(owner).into_iter();
    let says = of_owner.flat_map(|owner| owner.says.iter().chain(&owner.others));
    let writes = story
        .acts
        .iter()
        .filter(move |act| act.owner == Some(owner) && matches!(act.kind, super::act::ActKind::WriteSeen(_)));
    says.copied().chain(writes.map(|act| act.by))
}

/// By how much the lease outlived its TTL: a store that runs ends it in time, so it did not run itself, or the
/// renewals that got no answer were applied all the same.
#[must_use]
pub fn overdue(story: &Story<'_>) -> Option<Duration> {
    let ttl = story.numbers.ttl.as_ref()?.value;
    // Stores look at their deadlines now and then: half a TTL and a second are ordinary.
    outlived(story).filter(|over| *over > ttl / 2 + Duration::from_secs(1))
}

/// By how much at least the lease lived longer than a TTL after its last renewal.
#[must_use]
pub fn outlived(story: &Story<'_>) -> Option<Duration> {
    let loss = story.loss.as_ref()?;
    let ttl = story.numbers.ttl.as_ref()?.value;
    let (renewed, ended) = (loss.renewed?, loss.ended?);
    let lived = Duration::from_nanos(ended.earliest.saturating_sub(renewed.latest).max(0).unsigned_abs());
    lived.checked_sub(ttl)
}

/// A sign that the owner ran while its lease ran out: it wrote something in the middle of the window.
#[must_use]
pub fn owner_ran<'e>(story: &Story<'e>) -> Vec<&'e Record> {
    let Some(loss) = story.loss.as_ref() else {
        return Vec::new();
    };
    let (Some(window), Some(owner)) = (loss.window(story), loss.owner) else {
        return Vec::new();
    };
    let fifth = window.latest.saturating_sub(window.earliest) / 5;
    signs_of(story, owner)
        .filter(|record| {
            story.at(record).is_some_and(|at| {
                at.earliest > window.earliest.saturating_add(fifth) && at.latest < window.latest.saturating_sub(fifth)
            })
        })
        .filter(|record| !matches!(record.says, Says::Owner(OwnerSays::HeardNothing { .. })))
        .collect()
}
