//! A belief set against the grants that the store was seen to give. Pure, and never more certain than
//! its evidence: only a belief that was *reported after* its grant had ended counts, and the end is
//! taken at its latest, the report at its earliest.

use super::belief::{Belief, Claim, Report};
use super::lease::Lease;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use std::time::Duration;

/// What a belief comes to.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Judged {
    /// It is that of the store, or it claims nothing.
    Agrees,
    /// It was reported so long, at least, after its grant had ended.
    Diverged(Duration),
    /// No reading says enough about it (yet).
    #[default]
    CannotTell,
}

/// Judges the last report of `belief`.
#[must_use]
pub fn judge(belief: &Belief, lease: &Lease) -> Judged {
    let Some(report) = &belief.last else {
        return Judged::CannotTell;
    };
    match (report.claim, report.token) {
        (Claim::Free | Claim::Released, _) => Judged::Agrees,
        (Claim::Holds, Some(token)) if shows_tokens(lease) => by_token(belief, report, token, lease),
        // Whether this store's grants have tokens is not known before one is seen: another reading must
        // confirm what is said by the owner's token alone.
        (Claim::Holds, Some(_)) if lease.grant.is_none() && lease.ended.is_none() => match lease.looked {
            Some(looked) if looked.earliest > report.at.latest => unmet(belief, report),
            _ => Judged::CannotTell,
        },
        (Claim::Holds, _) => by_time(belief, report, lease),
    }
}

fn shows_tokens(lease: &Lease) -> bool {
    let granted = lease.grant.as_ref().map(|grant| grant.token);
    let ended = lease.ended.as_deref().map(|ended| ended.token);
    lease.counter.or(granted.flatten()).or(ended.flatten()).is_some()
}

/// A token names its grant, and a grant that ended never comes back.
fn by_token(belief: &Belief, report: &Report, token: Token, lease: &Lease) -> Judged {
    let grant = lease.grant.as_ref();
    if grant.is_some_and(|grant| grant.token == Some(token)) {
        return Judged::Agrees;
    }
    // A grant that its owner acquired later has a greater token, unless the store lost its data: then it is no old one,
    // and that the fence went back is told by the readings.
    let later = |than: Moment| report.since.is_some_and(|since| since.earliest > than.latest);
    let ended_before = lease
        .ended
        .as_deref()
        .is_some_and(|ended| ended.token >= Some(token) && later(ended.at));
    if ended_before || grant.is_some_and(|grant| grant.token > Some(token) && later(grant.began)) {
        return unmet(belief, report);
    }
    if let Some(ended) = lease.ended.as_deref().filter(|ended| ended.token >= Some(token)) {
        // Where a later grant ended, this one had ended before.
        return beyond(report, ended.at);
    }
    if let Some(grant) = grant.filter(|grant| grant.token > Some(token)) {
        return beyond(report, grant.began);
    }
    match (lease.free_since, lease.counter) {
        // It was given, since the counter has reached it, and it is not there.
        (Some(free), Some(counter)) if counter >= token => beyond(report, free),
        // It may have been given after the last reading.
        _ => unmet(belief, report),
    }
}

/// The owner claimed this token, then a reading showed nobody, then it claimed the same token: that grant was
/// over at the reading, whether it was ever seen or not. A first claim after the reading may be of a new grant.
fn unmet(belief: &Belief, report: &Report) -> Judged {
    match belief.unmet.map(|at| beyond(report, at)) {
        Some(Judged::Diverged(by)) => Judged::Diverged(by),
        _ => Judged::CannotTell,
    }
}

/// Without a token it is the grant that was there when the owner began to hold.
fn by_time(belief: &Belief, report: &Report, lease: &Lease) -> Judged {
    let (Some(since), Some(looked)) = (belief.holding_since, lease.looked) else {
        return Judged::CannotTell;
    };
    let says_when = report.since.is_some();
    // Who only ever says "I hold" may have acquired it anew after the last reading.
    let settled = says_when || looked.earliest > report.at.latest;
    match (&lease.grant, lease.free_since) {
        (Some(grant), _) => {
            let later = since.latest < grant.began.earliest;
            match belief.name.as_deref() {
                Some(name) if is_of(&grant.holder, name) => Judged::Agrees,
                // What it acquired is not this: it would have said that it acquired anew.
                _ if says_when && later => {
                    // The last end that was seen is its own only if that grant was seen after it began.
                    let ended = lease.ended.as_deref().map(|ended| ended.at);
                    let end = ended.filter(|end| end.earliest >= since.latest);
                    beyond(report, end.unwrap_or(grant.began))
                }
                // Another held it before the report and after.
                Some(_) if settled && later => beyond(report, grant.began),
                Some(_) => Judged::CannotTell,
                // Whose grant it is can't be seen, but it is there.
                None => Judged::Agrees,
            }
        }
        // It acquired it when the lease was seen to be free already: it had it between two readings.
        (None, Some(free)) if says_when && since.latest > free.earliest => match since.latest < looked.earliest {
            true => beyond(report, looked),
            false => Judged::CannotTell,
        },
        // A reading after it began to hold, and before this report, shows the lease free.
        (None, Some(free)) if settled && since.latest < looked.earliest => beyond(report, free.max(since)),
        (None, _) => Judged::CannotTell,
    }
}

/// Whether a grant is of the owner of this name.
pub(super) fn is_of(holder: &HolderId, name: &str) -> bool {
    holder.as_str() == name
        || holder
            .as_str()
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('#'))
}

fn beyond(report: &Report, end: Moment) -> Judged {
    if report.at.earliest > end.latest {
        Judged::Diverged(report.at.earliest.since(end.latest))
    } else {
        // It may have been said before the end.
        Judged::Agrees
    }
}
