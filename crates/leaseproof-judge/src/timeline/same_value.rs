//! Owners that all write one value under the key: without a token the store does not show where one's lease ends
//! and the next one's begins.

use super::grant::{Change, End, EndKind, Grant};
use super::owner::{Owner, Saying};
use leaseproof_model::event::{Event, OwnerEvent, Reading};
use leaseproof_model::moment::Moment;
use std::time::Duration;

/// How long after a grant's begin its owner may say `acquired`, and how far from its end `released`.
const SOON: Duration = Duration::from_millis(250);

/// Where an expiry moved on as it had come or as its owner had released it, and another owner than the one that had
/// acquired the lease says then that it acquired it, a grant ended and another began.
pub(crate) fn part<'h>(grants: &mut Vec<Grant<'h>>, owners: &[Owner<'h>], readings: &[(&'h Event, &'h Reading)]) {
    let mut place = 0;
    while place < grants.len() {
        if let Some(at) = taken_anew(&grants[place], owners)
            && let Some(first) = reading(readings, grants[place].extensions[at])
        {
            let next = grants[place].part_at(at, first, place);
            for grant in &mut grants[place + 1..] {
                grant.revives = grant.revives.map(|it| if it > place { it + 1 } else { it });
            }
            grants.insert(place + 1, next);
        }
        place += 1;
    }
}

/// The place of the extension that is a grant of its own.
fn taken_anew(grant: &Grant<'_>, owners: &[Owner<'_>]) -> Option<usize> {
    let names = |owner: &Owner<'_>| grant.holder.as_str().contains(owner.name.as_str());
    if grant.token.is_some() || grant.renewed.is_some() || owners.iter().any(names) {
        return None;
    }
    let first = sole_claimant(owners, grant.begin)?;
    (0..grant.extensions.len()).find(|at| {
        let change = grant.extensions[*at];
        let ended = grant.was_over(*at) || let_go(&owners[first], change);
        ended && sole_claimant(owners, change.at).is_some_and(|next| next != first)
    })
}

/// The one owner that says that it acquired the lease about then.
fn sole_claimant(owners: &[Owner<'_>], at: Moment) -> Option<usize> {
    let fits = |saying: &Saying<'_>| {
        saying.is(OwnerEvent::Acquired) && at.earliest <= saying.at.latest && saying.at.earliest <= at.latest.plus(SOON)
    };
    let mut claimants = (0..owners.len()).filter(|place| owners[*place].said.iter().any(&fits));
    let first = claimants.next()?;
    claimants.next().is_none().then_some(first)
}

/// Whether this owner says that it released its lease about when that changed.
fn let_go(owner: &Owner<'_>, change: Change) -> bool {
    owner.said.iter().any(|saying| {
        saying.is(OwnerEvent::Released)
            && change.since.minus(SOON) <= saying.at.latest
            && saying.at.earliest <= change.at.latest
    })
}

/// The reading that showed a change.
fn reading<'h>(readings: &[(&'h Event, &'h Reading)], change: Change) -> Option<&'h Event> {
    let shown = readings.iter().find(|(event, _)| event.id == change.event);
    shown.map(|(event, _)| *event)
}

impl<'h> Grant<'h> {
    fn expiry_before(&self, extension: usize) -> Option<Moment> {
        match extension.checked_sub(1) {
            Some(before) => Some(self.extensions[before].expires),
            None => self.first_expiry,
        }
    }

    /// Whether it may have been over when it was extended.
    fn was_over(&self, extension: usize) -> bool {
        let change = self.extensions[extension];
        self.expiry_before(extension)
            .is_some_and(|it| it.earliest <= change.at.latest)
    }

    /// Ends this grant before an extension, which begins the one that is returned.
    fn part_at(&mut self, extension: usize, first: &'h Event, place: usize) -> Self {
        let over = self.expiry_before(extension).filter(|_| self.was_over(extension));
        let expiry = self.expiry_before(extension);
        let mut next = self.clone();
        let change = self.extensions[extension];
        let begin = Moment {
            earliest: over.map_or(change.at.earliest, |over| over.earliest.max(change.at.earliest)),
            latest: change.at.latest,
        };
        next.begin = begin;
        next.first = first;
        next.first_expiry = Some(change.expires);
        next.extensions.drain(..=extension);
        next.revives = Some(place);
        self.extensions.truncate(extension);
        self.expiry = expiry;
        self.end = Some(End {
            at: over.unwrap_or(begin),
            seen: change.at,
            kind: over.map_or(EndKind::Vanished, |_| EndKind::Expired),
            event: change.event,
        });
        let before = |at: Moment| at.latest <= begin.latest;
        self.shrinks.retain(|it| before(it.at));
        next.shrinks.retain(|it| !before(it.at));
        self.moved.retain(|it| before(it.to.at));
        next.moved.retain(|it| !before(it.to.at));
        next
    }
}
