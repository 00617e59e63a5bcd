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
        (Claim::Free, _) => Judged::Agrees,
        (Claim::Holds, Some(token)) if shows_tokens(lease) => by_token(report, token, lease),
        (Claim::Holds, _) => by_time(belief, report, lease),
    }
}

fn shows_tokens(lease: &Lease) -> bool {
    let granted = lease.grant.as_ref().map(|grant| grant.token);
    let ended = lease.ended.as_deref().map(|ended| ended.token);
    lease.counter.or(granted.flatten()).or(ended.flatten()).is_some()
}

/// A token names its grant, and a grant that ended never comes back.
fn by_token(report: &Report, token: Token, lease: &Lease) -> Judged {
    let grant = lease.grant.as_ref();
    if grant.is_some_and(|grant| grant.token == Some(token)) {
        return Judged::Agrees;
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
        _ => Judged::CannotTell,
    }
}

/// Without a token it is the grant that was there when the owner began to hold.
fn by_time(belief: &Belief, report: &Report, lease: &Lease) -> Judged {
    let Some(since) = belief.holding_since else {
        return Judged::CannotTell;
    };
    let Some(looked) = lease.looked else {
        return Judged::CannotTell;
    };
    // Who only ever says "I hold" may have acquired it anew after the last reading.
    let settled = report.since.is_some() || looked.earliest > report.at.latest;
    match (&lease.grant, lease.free_since) {
        (Some(grant), _) => match belief.name.as_deref() {
            Some(name) if is_of(&grant.holder, name) => Judged::Agrees,
            // Another holds it, and this owner has believed since before that, without a break.
            _ if settled && since.latest < grant.began.earliest => {
                let end = lease.ended.as_deref().map_or(grant.began, |ended| ended.at);
                beyond(report, end.max(since))
            }
            // Whose grant it is can't be seen, but it is there.
            None if since.latest >= grant.began.earliest => Judged::Agrees,
            _ => Judged::CannotTell,
        },
        // A reading after it began to hold, and before this report, shows the lease free.
        (None, Some(free)) if settled && since.latest < looked.earliest => beyond(report, free.max(since)),
        (None, _) => Judged::CannotTell,
    }
}

fn is_of(holder: &HolderId, name: &str) -> bool {
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
