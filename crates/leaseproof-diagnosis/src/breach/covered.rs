//! What the files cover, and what keeps "no breach is on record" from being "nothing wrong".

use crate::story::Story;
use crate::story::act::ActKind;
use crate::story::early::{after_a_grant, ended_early};
use crate::story::grant::takeovers;
use crate::story::loss::{is_loss, late_acts};
use crate::story::mixed::nobodys_lines;
use crate::words::clock;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::SourceKind;
use leaseproof_evidence::says::{Decision, MoveKind, OwnerSays, Says, StoreSays};
use leaseproof_evidence::when::{Interval, nanos};
use leaseproof_model::diagnosis::Covered;
use leaseproof_model::truth::Truth;
use std::collections::BTreeSet;

/// Which files cover which party.
pub fn covered(story: &Story<'_>) -> Covered {
    let names = |kinds: &[SourceKind]| story.files_of(kinds).into_iter().map(|file| story.name(file)).collect();
    let store: BTreeSet<FileId> = story
        .grants
        .iter()
        .flat_map(|grant| [Some(grant.begun.place.file), grant.end.map(|end| end.by.place.file)])
        .flatten()
        .collect();
    Covered {
        owner: names(&[SourceKind::Owner]),
        store: store.into_iter().map(|file| story.name(file)).collect(),
        resource: names(&[SourceKind::Resource]),
    }
}

/// What keeps "no breach is on record" from being "nothing wrong": the files show a loss that they do not explain to
/// its end.
pub fn no_doubt(story: &Story<'_>) -> Result<(), String> {
    let restart = story.evidence.records.iter().find(|record| {
        let moved = matches!(
            record.says,
            Says::Store(StoreSays::Moved {
                kind: MoveKind::Started | MoveKind::Flush | MoveKind::Failover | MoveKind::WritesDropped,
                ..
            })
        );
        moved && after_a_grant(story, record)
    });
    if let Some(record) = restart {
        return Err(format!(
            "the store may have forgotten what it had granted ({})",
            story.evidence.show(record.place)
        ));
    }
    for (index, grant) in story.grants.iter().enumerate().filter(|(_, grant)| grant.was_lost()) {
        let followed = story
            .grants
            .iter()
            .skip(index + 1)
            .any(|next| next.key == grant.key && next.holder != grant.holder);
        if grant.owner.is_none() && followed {
            return Err(format!(
                "whose lease it was that {} had is not on record",
                grant.holder.as_deref().unwrap_or("somebody")
            ));
        }
        // One act may be under way at the end. More of them, or any after an end that nobody could foresee, leave a doubt.
        let early = story.loss.as_ref().is_some_and(|loss| loss.grant == Some(index)) && ended_early(story).is_yes();
        let acts = late_acts(story, index)
            .filter(|(act, _)| matches!(act.kind, ActKind::WriteSeen(_) | ActKind::WriteSaid))
            .count();
        if acts > usize::from(!early) {
            return Err(format!(
                "{acts} writes of {} came after the end of its lease, or at it, and may have been checked before",
                story.owner_name(grant.owner)
            ));
        }
    }
    strangers(story)?;
    unclaimed(story)?;
    if crate::causes::renewals_unapplied(story) {
        return Err("an owner logs renewals that the store's record does not have".to_owned());
    }
    for it in takeovers(story) {
        let again = story.owners.get(it.loser).is_some_and(|owner| {
            owner.says.iter().any(|record| {
                matches!(record.says, Says::Owner(OwnerSays::Acquired { .. }))
                    && story.before(it.taken, record) == Truth::Yes
            })
        });
        let on = story.acts.iter().filter(|act| {
            act.owner == Some(it.loser)
                && act.kind != ActKind::WriteSeen(Decision::Rejected)
                && story.before(it.taken, act.by) == Truth::Yes
        });
        if !again && on.count() > 1 {
            return Err(format!(
                "{} went on as the holder after another had acquired the lease, by the owners' own words",
                story.owner_name(Some(it.loser))
            ));
        }
    }
    Ok(())
}

/// Writes behind a loss, of which nothing says whose they are: they may be those of who lost it.
fn strangers(story: &Story<'_>) -> Result<(), String> {
    let ended = story
        .grants
        .iter()
        .filter(|grant| grant.was_lost())
        .filter_map(|grant| grant.end?.at);
    let taken = takeovers(story).into_iter().filter_map(|it| story.at(it.taken));
    let Some(from) = ended.chain(taken).map(|at| at.earliest).min() else {
        return Ok(());
    };
    let after = story.acts.iter().filter(|act| {
        act.owner.is_none()
            && matches!(act.kind, ActKind::WriteSeen(Decision::Accepted | Decision::Unknown))
            && story.at(act.by).is_none_or(|at| at.latest >= from)
    });
    match after.count() {
        0 => Ok(()),
        count => Err(format!(
            "whose {count} writes are that the resource took after a loss is not on record"
        )),
    }
}

/// Lines that count for nobody may be of one that acts on what it has lost.
fn unclaimed(story: &Story<'_>) -> Result<(), String> {
    let files = story.files_of(&[SourceKind::Owner]).into_iter();
    let acts = files.flat_map(|file| nobodys_lines(story, file)).filter(|record| {
        is_loss(record)
            || matches!(
                record.says,
                Says::Owner(OwnerSays::Wrote { .. } | OwnerSays::Renewed { .. } | OwnerSays::BelievesHeld { .. })
            )
    });
    match acts.count() {
        0 => Ok(()),
        count => Err(format!("whose {count} of the owners' lines are is not on record")),
    }
}

/// The order across the files is no guess.
pub fn one_clock(story: &Story<'_>) -> Result<(), String> {
    if let Some(says) = story.concord.contradiction() {
        return Err(says.to_owned());
    }
    let loose: Vec<String> = story.concord.loose().into_iter().map(|file| story.name(file)).collect();
    if loose.is_empty() {
        return Ok(());
    }
    Err(format!(
        "nothing shows that the clock of {} is that of the others",
        loose.join(", ")
    ))
}

/// Owner, store and resource are covered for the window, or what is missing of them.
pub fn covers_all(story: &Story<'_>, covered: &Covered) -> Result<(), String> {
    for (files, what) in [
        (&covered.owner, "no file says what the owner believed"),
        (&covered.store, "no file says whom the store granted the lease"),
        (&covered.resource, "no file says which writes the resource took"),
    ] {
        if files.is_empty() {
            return Err(what.to_owned());
        }
    }
    let acts: Vec<Interval> = story
        .owners
        .iter()
        .flat_map(|owner| &owner.says)
        .filter_map(|record| story.at(record))
        .collect();
    let (Some(first), Some(last)) = (
        acts.iter().map(|at| at.earliest).min(),
        acts.iter().map(|at| at.latest).max(),
    ) else {
        return Err("the owner's lines have no moment".to_owned());
    };
    let window = story
        .loss
        .as_ref()
        .and_then(|loss| loss.window(story))
        .map_or((first, last), |window| {
            (
                window.earliest,
                window.latest.max(
                    story
                        .loss
                        .as_ref()
                        .and_then(|loss| story.at(loss.told?))
                        .map_or(i64::MIN, |at| at.latest),
                ),
            )
        });
    for name in covered.owner.iter().chain(&covered.store).chain(&covered.resource) {
        let Some(file) = story.evidence.files.iter().find(|file| *file.name == **name) else {
            continue;
        };
        if file.cut {
            return Err(format!("{name} is cut off"));
        }
    }
    // A log ends with its last line, and not with the end of its watch: a heartbeat more or less says nothing.
    let heartbeat = story.numbers.heartbeat.as_ref().map_or(0, |it| nanos(it.value));
    let slack = heartbeat.max(1_000_000_000);
    for (files, who) in [(&covered.store, "store"), (&covered.resource, "resource")] {
        let spans: Vec<Interval> = story
            .evidence
            .files
            .iter()
            .filter(|file| files.contains(&file.name.to_string()))
            .filter_map(|file| file.covers)
            .collect();
        let whole = spans
            .iter()
            .map(|it| it.earliest)
            .min()
            .is_some_and(|from| from <= window.0.saturating_add(slack))
            && spans
                .iter()
                .map(|it| it.latest)
                .max()
                .is_some_and(|to| to >= window.1.saturating_sub(slack));
        if !whole {
            return Err(format!(
                "the {who}'s files do not span the window from {} to {}",
                clock(Interval::exact(window.0)),
                clock(Interval::exact(window.1))
            ));
        }
    }
    Ok(())
}
