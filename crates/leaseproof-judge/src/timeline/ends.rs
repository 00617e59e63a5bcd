//! Who ended each grant, and from when its owner's acts are charged.

use super::grant::{By, End, EndKind, Grant};
use super::grants::JITTER;
use super::owner::Owner;
use super::{Deeded, Fault, answered_slowly};
use leaseproof_model::budget::Budget;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Deed, Event, FaultKind, Outcome, OwnerEvent, Reading, Wire, WireSeen};
use leaseproof_model::moment::Moment;
use std::collections::HashMap;
use std::time::Duration;

/// How long before its exit a process that says nothing may have released.
const EXIT: Duration = Duration::from_millis(500);

/// How long before its effect a request was sent, at the most, by an owner that stands still since.
const ON_ITS_WAY: Duration = Duration::from_millis(500);

/// Refines the ends that readings alone gave.
pub(crate) fn explain(
    grants: &mut [Grant<'_>],
    owners: &[Owner<'_>],
    deeds: &[Deeded<'_>],
    faults: &[Fault<'_>],
    ttl: Duration,
) {
    let asked: HashMap<&str, BootNanos> = faults
        .iter()
        .rev()
        .filter(|fault| fault.kind == FaultKind::Terminate)
        .filter_map(|fault| Some((fault.owner()?, fault.earliest()?)))
        .collect();
    for index in 0..grants.len() {
        let next = grants.get(index + 1).map(|next| (next.first.id, next.begin));
        let grant = &mut grants[index];
        let Some(mut end) = grant.end else { continue };
        if end.kind == EndKind::LostByStore {
            continue;
        }
        let reached = |owner: usize| !was_cut_off(&owners[owner], end.seen, faults);
        let surely_early = |at: Moment| {
            grant
                .expiry
                .is_none_or(|expiry| at.latest.plus(JITTER) < expiry.earliest)
        };
        if let Some((first, begin)) = next
            && first == end.event
            // Where no expiry shows, one that can have come is not early.
            && match end.kind {
                EndKind::Expired => grant.expiry.is_some(),
                kind => kind == EndKind::Overwritten,
            }
            && surely_early(begin)
        {
            // The next grant's begin may be known better than the bracket of the readings.
            end.kind = EndKind::Overwritten;
            end.at = begin;
        }
        if let Some(at) = lab_ended(grant.by, end.seen, deeds)
            && surely_early(at)
        {
            end.kind = EndKind::ByLab;
            end.at = both(end.seen, at);
        } else if let Some(at) = lab_released(grant.by, end.seen, deeds) {
            end.kind = EndKind::Released;
            end.at = both(end.seen, at);
        } else if let By::Owner(owner) = grant.by
            && reached(owner)
            && (end.kind != EndKind::Expired
                || grant.expiry.map_or(grant.bound.is_some(), |expiry| {
                    end.seen.earliest.plus(JITTER) < expiry.earliest
                }))
            && let Some(sent) = said_released(&owners[owner], end.seen).or_else(|| {
                let may_leave = end.kind != EndKind::Expired || grant.bound.is_some();
                left(&owners[owner], end.seen, &asked).filter(|_| may_leave)
            })
        {
            end.kind = EndKind::Released;
            end.at = Moment {
                earliest: not_before(sent, end.seen, faults, ttl),
                latest: end.seen.latest,
            };
        }
        grant.end = Some(end);
    }
}

/// What both intervals allow; the first where they exclude each other.
fn both(seen: Moment, at: Moment) -> Moment {
    let joined = Moment {
        earliest: seen.earliest.max(at.earliest),
        latest: seen.latest.min(at.latest),
    };
    if joined.earliest <= joined.latest { joined } else { seen }
}

/// The deeds that may have fallen into `seen`, in order.
fn deeds_in<'d, 'h>(deeds: &'d [Deeded<'h>], seen: Moment) -> impl Iterator<Item = &'d Deeded<'h>> {
    let from = deeds.partition_point(|it| it.event.at.latest < seen.earliest);
    deeds[from..]
        .iter()
        .take_while(move |it| it.event.at.earliest <= seen.latest)
        .filter(|it| it.deed.outcome != Outcome::NotApplied)
}

fn lab_ended(by: By, seen: Moment, deeds: &[Deeded<'_>]) -> Option<Moment> {
    if by == By::Lab {
        return None;
    }
    deeds_in(deeds, seen)
        .find(|it| matches!(it.deed.deed, Deed::Deleted | Deed::Stole))
        .map(|it| it.event.at)
}

fn lab_released(by: By, seen: Moment, deeds: &[Deeded<'_>]) -> Option<Moment> {
    if by != By::Lab {
        return None;
    }
    deeds_in(deeds, seen)
        .find(|it| matches!(it.deed.deed, Deed::Released | Deed::Deleted))
        .map(|it| it.event.at)
}

/// Who stood still then, and for longer than a request is on its way, released nothing, whatever it says or does later.
fn stood_still(owner: &Owner<'_>, seen: Moment) -> bool {
    owner.frozen.contain(seen.earliest.minus(ON_ITS_WAY), seen.latest)
}

/// Whose every byte to the store was swallowed then, and for longer than a request is on its way, released nothing.
fn was_cut_off(owner: &Owner<'_>, seen: Moment, faults: &[Fault<'_>]) -> bool {
    faults
        .iter()
        .filter(|fault| fault.kind == FaultKind::Blackhole && fault.owner() == Some(owner.name.as_str()))
        .any(|fault| {
            let Some(began) = fault.began() else { return false };
            let lasted = began.latest <= seen.earliest.minus(ON_ITS_WAY)
                && fault.ended().is_none_or(|ended| seen.latest <= ended.earliest);
            // One that sent nothing this way may know another.
            let swallowed = |(event, wire): &(&Event, &Wire)| {
                wire.seen == WireSeen::RequestSwallowed
                    && began.earliest <= event.at.latest
                    && event.at.earliest <= seen.latest
            };
            lasted && owner.wires.iter().any(swallowed)
        })
}

/// From when on its holder may have sent the release that it said was applied.
fn said_released(owner: &Owner<'_>, seen: Moment) -> Option<BootNanos> {
    if stood_still(owner, seen) {
        return None;
    }
    let from = owner.said.partition_point(|saying| saying.at.latest < seen.earliest);
    // The release came after what it said before, at the earliest.
    let mut before = owner.said[..from]
        .iter()
        .rev()
        .find(|before| before.is_protocol())
        .map(|before| before.at.earliest);
    for saying in owner.said[from..].iter().filter(|saying| saying.is_protocol()) {
        let sent = before.map_or(saying.at.earliest, |before| before.min(saying.at.earliest));
        if sent > seen.latest {
            return None;
        }
        if saying.is(OwnerEvent::Released) {
            return Some(sent);
        }
        before = Some(saying.at.earliest);
    }
    None
}

/// From when on its holder may have sent a release, where it was asked to end, or exited, just then.
fn left(owner: &Owner<'_>, seen: Moment, asked: &HashMap<&str, BootNanos>) -> Option<BootNanos> {
    let asked = asked
        .get(owner.name.as_str())
        .copied()
        .filter(|asked| *asked <= seen.latest && owner.ended.is_none_or(|ended| seen.earliest <= ended.at.latest));
    let exited = owner.ended.filter(|ended| {
        !ended.by_lab
            && !stood_still(owner, seen)
            && seen.earliest <= ended.at.latest
            && ended.at.earliest.since(seen.latest) <= EXIT
    });
    asked.or(exited.map(|ended| ended.at.earliest.minus(EXIT)))
}

/// Before when a release that was sent from `sent` on was not applied. A server that stands still takes none: one sent
/// after it stopped is applied at its going on, if at all. A TTL after it stopped the grant was over for its holder in any
/// case.
fn not_before(sent: BootNanos, seen: Moment, faults: &[Fault<'_>], ttl: Duration) -> BootNanos {
    let bound = faults.iter().filter(|fault| fault.stops_store()).find_map(|fault| {
        let (stopped, resumed) = (fault.began()?, fault.ended()?);
        let while_stopped = stopped.latest <= sent && sent <= resumed.latest;
        while_stopped.then(|| resumed.earliest.min(stopped.latest.plus(ttl)))
    });
    bound.map_or(seen.earliest, |bound| bound.clamp(seen.earliest, seen.latest))
}

/// A server that stopped may have extended a grant right before, and no look shows it: until a TTL after its
/// last moment the grant may have stood. Nobody else can have held it meanwhile.
fn unseen_extension(grant: &Grant<'_>, faults: &[Fault<'_>], ttl: Duration) -> Option<BootNanos> {
    let met = |fault: &&Fault<'_>| {
        let began = fault.began().filter(|_| fault.meets_store());
        began.is_some_and(|began| grant.may_cover(began))
    };
    let fault = faults.iter().rfind(met)?;
    let until = fault.last_extension()?.plus(ttl);
    // Once it was seen to be gone, what is left is what the one that stopped may have given.
    let gone = grant.end.map(|end| {
        end.seen
            .latest
            .max(fault.began().map_or(end.seen.latest, |at| at.latest.plus(ttl)))
    });
    Some(gone.map_or(until, |gone| gone.min(until)))
}

/// A renewal that was answered after the last look at the grant, and before it was seen to be gone, may have been applied
/// between the two: then it stood until a TTL after, and no look shows it.
fn hidden_extension(end: End, owner: &Owner<'_>, ttl: Duration) -> Option<BootNanos> {
    let answered = owner
        .said_since(end.seen.earliest)
        .iter()
        .take_while(|saying| saying.at.earliest <= end.seen.latest)
        .filter(|saying| saying.is(OwnerEvent::Renewed))
        .last()?;
    Some(answered.at.latest.min(end.seen.latest).plus(ttl))
}

/// Says of each grant from when acts are charged to its owner.
pub(crate) fn charge(
    grants: &mut [Grant<'_>],
    owners: &[Owner<'_>],
    readings: &[(&Event, &Reading)],
    faults: &[Fault<'_>],
    budget: &Budget,
) {
    for grant in grants.iter_mut() {
        let unseen = unseen_extension(grant, faults, budget.ttl);
        let expiry = grant.expiry.map(|expiry| match unseen {
            Some(until) if until > expiry.latest => Moment::exact(until),
            _ => expiry,
        });
        let (due, for_writes) = match (grant.end, grant.by) {
            (Some(end), By::Owner(owner)) if end.kind.is_early() => {
                let owner = &owners[owner];
                let hidden = hidden_extension(end, owner, budget.ttl);
                let expiry = expiry.map(|expiry| Moment {
                    latest: hidden.map_or(expiry.latest, |until| until.max(expiry.latest)),
                    ..expiry
                });
                let noticed = owner.after_running(end.at, budget.heartbeat + budget.renew_timeout);
                let told = || {
                    let since = owner.said_since(end.at.earliest).iter();
                    since.take_while(|saying| saying.at.earliest <= noticed.latest)
                };
                let refused = told()
                    .find(|saying| saying.is_definite_refusal())
                    .map(|saying| saying.at);
                // An owner that asked and got no answer can't know: then the store is at fault up to
                // the expiry, as in the time before.
                let unanswered =
                    told().any(|saying| saying.is(OwnerEvent::RenewFailed) && !saying.is_definite_refusal());
                let slow = || answered_slowly(readings, end.at.earliest, noticed.latest, budget);
                let noticed = if unanswered || slow() {
                    let over = expiry.or(unseen.map(Moment::exact));
                    over.unwrap_or(noticed).max(noticed)
                } else {
                    noticed
                };
                let due = [expiry, refused].into_iter().flatten().fold(noticed, Moment::min);
                (Some(due), Some(due))
            }
            (Some(end), By::Owner(owner)) if end.kind == EndKind::Released => {
                let said = owners[owner]
                    .said_since(end.seen.earliest)
                    .iter()
                    .take_while(|saying| !saying.is(OwnerEvent::Acquired))
                    .find(|saying| saying.is(OwnerEvent::Released))
                    .map(|saying| saying.at.latest)
                    .filter(|said| expiry.is_none_or(|expiry| *said <= expiry.latest));
                let release = Moment {
                    earliest: end.at.earliest,
                    latest: said.map_or(end.at.latest, |said| said.max(end.at.latest)),
                };
                (
                    Some(expiry.map_or(release, |expiry| expiry.max(release))),
                    Some(release),
                )
            }
            (Some(end), _) if expiry.is_none() => {
                // Nor does a look show whether a session was extended right before.
                let not_before = |at: BootNanos| unseen.map_or(at, |until| at.max(until));
                let due = Some(Moment {
                    earliest: not_before(end.at.earliest),
                    latest: not_before(end.at.latest),
                });
                (due, due)
            }
            _ => (expiry, expiry),
        };
        grant.due = due;
        grant.due_for_writes = for_writes;
    }
}
