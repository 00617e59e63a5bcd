//! The incident as one story: a lane for the store, each owner, the resource, and what else stood still.
//!
//! It is for drawing and judges nothing: what is broken, and why, is said elsewhere, with the same lines.

use crate::story::Story;
use crate::story::act::ActKind;
use crate::story::grant::{EndKind, Grant, is_look};
use crate::story::loss::is_loss;
use crate::story::stop::{How, Stop, Who};
use crate::words::{clock, document, span};
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{Decision, OwnerSays, Says};
use leaseproof_evidence::when::{Interval, nanos};
use leaseproof_model::diagnosis::{Breach, Part, PartKind, Party, Picture, Span, StoryLane};
use std::time::Duration;

/// The most parts of one lane: those nearest to the loss are kept.
const MOST: usize = 400;

/// How long after the loss its consequences are looked for: an owner may go on for hours.
const AFTER: Duration = Duration::from_secs(60);

/// The picture.
#[must_use]
pub fn picture(story: &Story<'_>, breach: &Breach) -> Picture {
    let window = window(story, breach);
    let mut lanes = vec![lane(Party::Store, "the store", store(story), window)];
    for (index, owner) in story.owners.iter().enumerate() {
        lanes.push(lane(Party::Owner, &owner.name, of_owner(story, index), window));
    }
    lanes.push(lane(Party::Resource, "the resource", resource(story), window));
    let machine = stops(story, |who| who == Who::Machine);
    lanes.push(lane(Party::Other, "a machine", machine, window));
    let unknown = stops(story, |who| who == Who::Unknown);
    lanes.push(lane(Party::Other, "not known whose", unknown, window));
    lanes.retain(|lane| !lane.parts.is_empty());
    Picture { window, lanes }
}

fn lane(party: Party, name: &str, mut parts: Vec<Part>, window: Option<Span>) -> StoryLane {
    let all = parts.len();
    if all > MOST {
        let far = |part: &Part| {
            let (from, to) = (part.when.earliest, part.until.unwrap_or(part.when).latest);
            let near = window.map_or(0, |window| {
                window
                    .earliest
                    .saturating_sub(to)
                    .max(from.saturating_sub(window.latest))
            });
            (is_routine(part.kind), near.max(0))
        };
        parts.sort_by_key(far);
        parts.truncate(MOST);
    }
    parts.sort_by_key(|part| part.when.earliest);
    StoryLane {
        party,
        name: name.to_owned(),
        left_out: (all - parts.len()) as u64,
        parts,
    }
}

/// So common that it is left out first.
fn is_routine(kind: PartKind) -> bool {
    matches!(
        kind,
        PartKind::Renewed | PartKind::Write | PartKind::Waiting | PartKind::Refused
    )
}

/// From the last renewal to the loss, to its owner's word of it, and to the first moment of all that was broken, where
/// these came soon after it.
fn window(story: &Story<'_>, breach: &Breach) -> Option<Span> {
    let loss = story.loss.as_ref().and_then(|loss| loss.window(story));
    let told = story.loss.as_ref().and_then(|loss| story.at(loss.told?));
    let broken = breach
        .broken
        .iter()
        .filter_map(|it| it.when)
        .map(|when| Interval {
            earliest: when.earliest,
            latest: when.latest,
        })
        .chain(told)
        .filter(|when| loss.is_none_or(|loss| when.earliest <= loss.latest.saturating_add(nanos(AFTER))));
    loss.into_iter().chain(broken).reduce(Interval::hull).map(document)
}

fn part(story: &Story<'_>, kind: PartKind, owner: Option<usize>, record: &Record, says: String) -> Option<Part> {
    Some(Part {
        kind,
        owner: owner.map(|owner| story.owner_name(Some(owner))),
        when: document(story.at(record)?),
        until: None,
        says,
        lines: vec![story.cite(record)],
    })
}

fn store(story: &Story<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    for grant in &story.grants {
        parts.extend(granted(story, grant));
        let renewals = grant.renewals.iter();
        parts.extend(renewals.filter_map(|record| {
            part(
                story,
                PartKind::Renewed,
                grant.owner,
                record,
                "renewal applied".to_owned(),
            )
        }));
    }
    parts.extend(stops(story, |who| who == Who::Store));
    parts
}

fn granted(story: &Story<'_>, grant: &Grant<'_>) -> Option<Part> {
    let mut begun = story.at(grant.begun)?;
    let unseen = grant.end.is_some_and(|end| end.by.place == grant.begun.place);
    if unseen {
        // Only its end is on record: it held for its TTL before, or nothing is known of it.
        begun.earliest = begun.earliest.saturating_sub(nanos(grant.ttl.unwrap_or_default()));
    }
    let holder = match (grant.owner, &grant.holder) {
        (Some(owner), _) => story.owner_name(Some(owner)),
        (None, Some(holder)) => holder.to_string(),
        (None, None) => "an unnamed holder".to_owned(),
    };
    let token = grant.token.map(|token| format!(", token {token}")).unwrap_or_default();
    let what = if grant.is_session { "session" } else { "lease" };
    let sure = if grant.sure {
        ""
    } else {
        "asked for, perhaps not granted: "
    };
    let end = match grant.end {
        None => "; no line shows its end".to_owned(),
        Some(end) => {
            let how = match end.kind {
                EndKind::Expired => "expired",
                EndKind::Released => "released",
                EndKind::Overtaken => "another has it from then on",
                EndKind::Deleted => "deleted",
            };
            match (end.at, story.at(end.by)) {
                (_, Some(seen)) if is_look(end.by) => format!("; {how} by {}, when somebody looked", clock(seen)),
                (Some(at), _) => format!("; {how} at {}", clock(at)),
                (None, _) => format!("; {how}"),
            }
        }
    };
    let from = match unseen {
        true => ", begun before".to_owned(),
        false => format!(" from {}", clock(begun)),
    };
    let mut lines = vec![story.cite(grant.begun)];
    lines.extend(grant.end.filter(|_| !unseen).map(|end| story.cite(end.by)));
    Some(Part {
        kind: PartKind::Grant,
        owner: Some(holder.clone()),
        when: document(begun),
        until: grant.end.and_then(|end| end.at).map(document),
        says: format!("{sure}{what} of {holder}{token}{from}{end}"),
        lines,
    })
}

fn of_owner(story: &Story<'_>, index: usize) -> Vec<Part> {
    let Some(owner) = story.owners.get(index) else {
        return Vec::new();
    };
    let mut parts = Vec::new();
    let mut held: Option<&Record> = None;
    let mut last: Option<&Record> = None;
    for record in &owner.says {
        let Says::Owner(said) = &record.says else { continue };
        let (kind, says) = match said {
            OwnerSays::Waiting { .. } => (PartKind::Waiting, "it waits"),
            OwnerSays::Acquired { .. } | OwnerSays::SessionOpened { .. } => (PartKind::Acquired, "acquired, it says"),
            OwnerSays::Renewed { .. } => (PartKind::Renewed, "renewed, it says"),
            OwnerSays::BelievesHeld { .. } => (PartKind::Renewed, "it says that it holds the lease"),
            OwnerSays::RenewalFailed { .. } => (PartKind::Failed, "a renewal failed, it says"),
            OwnerSays::Lost { .. } | OwnerSays::SessionLost { .. } => (PartKind::Lost, "lost, it says"),
            OwnerSays::Released { .. } => (PartKind::Released, "released, it says"),
            OwnerSays::Wrote { .. } => (PartKind::Write, "it wrote, it says"),
            OwnerSays::WriteRefused { .. } => (PartKind::Refused, "it refused to write"),
            OwnerSays::RenewSent { .. }
            | OwnerSays::HeardNothing { .. }
            | OwnerSays::Disconnected { .. }
            | OwnerSays::Reconnected => {
                last = Some(record);
                continue;
            }
        };
        parts.extend(part(story, kind, Some(index), record, says.to_owned()));
        let over = is_loss(record) || kind == PartKind::Released;
        if (over || kind == PartKind::Acquired)
            && let Some(from) = held.take()
        {
            parts.extend(belief(story, index, from, record, !over));
        }
        if kind == PartKind::Acquired {
            held = Some(record);
        }
        last = Some(record);
    }
    if let (Some(from), Some(to)) = (held, last) {
        parts.extend(belief(story, index, from, to, true));
    }
    parts.extend(stops(story, |who| who == Who::Owner(index)));
    parts
}

fn belief(story: &Story<'_>, index: usize, from: &Record, to: &Record, silent: bool) -> Option<Part> {
    let end = if silent {
        "to its last word"
    } else {
        "until it says otherwise"
    };
    Some(Part {
        until: Some(document(story.at(to)?)),
        ..part(
            story,
            PartKind::Belief,
            Some(index),
            from,
            format!("{} says that it holds the lease, {end}", story.owner_name(Some(index))),
        )?
    })
}

fn resource(story: &Story<'_>) -> Vec<Part> {
    let of_act = |act: &crate::story::act::Act<'_>| {
        let ActKind::WriteSeen(decision) = act.kind else {
            return None;
        };
        let (kind, word) = match decision {
            Decision::Accepted => (PartKind::Write, "accepted"),
            Decision::Rejected => (PartKind::Refused, "rejected"),
            Decision::Unknown => (PartKind::Write, "seen"),
        };
        let token = act
            .token
            .map_or_else(|| "no token".to_owned(), |token| format!("token {token}"));
        let of = act.owner.map(|owner| format!(" of {}", story.owner_name(Some(owner))));
        let says = format!("write{} {word}, {token}", of.unwrap_or_default());
        part(story, kind, act.owner, act.by, says)
    };
    story.acts.iter().filter_map(of_act).collect()
}

fn stops(story: &Story<'_>, is_of: impl Fn(Who) -> bool + Clone) -> Vec<Part> {
    let is_gap = |stop: &Stop<'_>| matches!(stop.how, How::Gap { .. });
    let found = story.stops.iter().filter(|stop| is_of(stop.who));
    // The usual gaps of a quiet file tell nothing beside a long one.
    let longest = found.clone().filter(|stop| is_gap(stop)).map(|stop| stop.took).max();
    let found = found.filter(|stop| !is_gap(stop) || Some(stop.took * 3) >= longest);
    found.filter_map(|stop| stopped(story, stop)).collect()
}

fn stopped(story: &Story<'_>, stop: &Stop<'_>) -> Option<Part> {
    let (kind, says) = match &stop.how {
        How::Runtime { operation, .. } => (PartKind::Stop, format!("{operation}, by its own runtime's word")),
        How::AllocationStall => (PartKind::Stop, "a thread waited for memory".to_owned()),
        How::Paused { how } => (PartKind::Stop, how.to_string()),
        How::Suspended => (PartKind::Stop, "the machine slept".to_owned()),
        How::MachineStalled { what } | How::WokeLate { what } | How::StoreLate { what } | How::Unanswered { what } => {
            (PartKind::Stop, crate::redact::shown(what))
        }
        How::Throttled { share } => (
            PartKind::Stop,
            format!("held back by its CPU quota for {:.0} % of it", share * 100.0),
        ),
        How::Killed { why, .. } => (PartKind::Stop, crate::redact::shown(why)),
        How::Unheard { clients, .. } => (
            PartKind::Silence,
            format!("it took no request, and all {clients} that ask often were back at once"),
        ),
        How::Gap { usual } => (
            PartKind::Silence,
            format!(
                "{} says nothing; its usual gap is at most {}",
                story.name(stop.file),
                span(*usual)
            ),
        ),
    };
    let lasted = (!stop.took.is_zero()).then(|| format!("{}: ", span(stop.took)));
    Some(Part {
        kind,
        owner: None,
        when: document(stop.began?),
        until: stop.ended.map(document),
        says: format!("{}{says}", lasted.unwrap_or_default()),
        lines: stop.lines.iter().map(|record| story.cite(record)).collect(),
    })
}
