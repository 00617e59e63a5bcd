//! Was there a breach: by the same definitions as the rules of `verify`, on what the files show.
//!
//! An act that may have been checked before its grant was over is never charged to its owner: the first one after the
//! end or after a stop, and those within a heartbeat of it. At the resource such a write still counts, where it was
//! accepted after a write with a greater token.

use crate::story::Story;
use crate::story::act::{Act, ActKind};
use crate::story::early::{after_a_grant, ended_early};
use crate::story::grant::takeovers;
use crate::story::loss::{is_loss, late_acts};
use crate::story::stop::Who;
use crate::words::{clock, document, span};
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{Decision, MoveKind, OwnerSays, ResourceSays, Says, StoreSays};
use leaseproof_evidence::when::{Interval, nanos};
use leaseproof_model::diagnosis::{Breach, BreachSeen, Covered, Seen};
use leaseproof_model::name::Token;
use leaseproof_model::rule::{self, Rule};
use leaseproof_model::truth::Truth;
use std::collections::{BTreeMap, BTreeSet};

/// The most lines that one broken promise names.
const MOST: usize = 8;

/// Was there a breach.
#[must_use]
pub fn breach(story: &Story<'_>) -> Breach {
    let mut broken = Vec::new();
    stale_writes(story, &mut broken);
    tokens_go_back(story, &mut broken);
    for index in 0..story.grants.len() {
        late(story, index, &mut broken);
    }
    swallowed(story, &mut broken);
    two_believers_by_word(story, &mut broken);
    broken.sort_by_key(|it: &BreachSeen| (it.seen, it.rule.clone()));
    let covered = covered(story);
    let whole = covers_all(story, &covered).and_then(|()| no_doubt(story));
    let seen = match broken.first().map(|it| it.seen) {
        Some(Seen::Certainly) => Seen::Certainly,
        Some(_) => Seen::Possibly,
        None if whole.is_ok() => Seen::NoneSeen,
        None => Seen::CannotTell,
    };
    let says = match (seen, broken.first()) {
        (Seen::Certainly, Some(first)) => first.says.clone(),
        (Seen::Possibly, Some(first)) => format!("it may be that {}", first.says),
        (Seen::NoneSeen, _) => {
            "nobody acted on a lease that was over, as far as owner, store and resource show".to_owned()
        }
        _ => format!(
            "no breach is on record, and that says little: {}",
            whole.err().unwrap_or_default()
        ),
    };
    Breach {
        seen,
        says,
        broken,
        covered,
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of one sentence")]
fn add(
    story: &Story<'_>,
    broken: &mut Vec<BreachSeen>,
    rule: &Rule,
    seen: Seen,
    says: String,
    when: Option<Interval>,
    (tokens, owners): (BTreeSet<Token>, BTreeSet<String>),
    lines: &[&Record],
) {
    broken.push(BreachSeen {
        rule: rule.code.to_owned(),
        name: rule.name.to_owned(),
        seen,
        says,
        when: when.map(document),
        tokens: tokens.into_iter().map(|token| token.0).collect(),
        owners: owners.into_iter().collect(),
        evidence: lines.iter().take(MOST).map(|record| story.cite(record)).collect(),
    });
}

/// LP002: in the resource's own order, an accepted write after one with a greater token.
fn stale_writes(story: &Story<'_>, broken: &mut Vec<BreachSeen>) {
    let mut greatest: BTreeMap<FileId, (Token, &Record)> = BTreeMap::new();
    type Stale<'e> = Vec<(&'e Record, &'e Record, Decision)>;
    let mut found: BTreeMap<(Token, Token), Stale<'_>> = BTreeMap::new();
    let known = |token: Token| {
        story.grants.iter().any(|grant| grant.token == Some(token))
            || story.owners.iter().any(|owner| owner.tokens.contains(&token))
    };
    let several_keys = {
        let keys: BTreeSet<&str> = story
            .grants
            .iter()
            .filter(|grant| !grant.is_session)
            .map(|grant| &*grant.key)
            .collect();
        keys.len() > 1
    };
    for record in story.of(SourceKind::Resource) {
        let Says::Resource(ResourceSays::Write {
            token: Some(token),
            decision,
            ..
        }) = &record.says
        else {
            continue;
        };
        // Tokens of two leases have no order.
        if several_keys && !known(*token) {
            continue;
        }
        match greatest.get(&record.place.file) {
            Some((most, first)) if token < most => {
                if *decision != Decision::Rejected {
                    found
                        .entry((*token, *most))
                        .or_default()
                        .push((first, record, *decision));
                }
            }
            Some((most, _)) if token == most => {}
            _ => {
                greatest.insert(record.place.file, (*token, record));
            }
        }
    }
    for ((token, most), writes) in found {
        let accepted: Vec<_> = writes
            .iter()
            .filter(|(.., decision)| *decision == Decision::Accepted)
            .collect();
        let seen = if accepted.is_empty() {
            Seen::Possibly
        } else {
            Seen::Certainly
        };
        let Some((first, record, _)) = accepted.first().copied().or(writes.first()) else {
            continue;
        };
        let count = if accepted.is_empty() {
            writes.len()
        } else {
            accepted.len()
        };
        let says = format!(
            "the resource {} {} with token {token} after one with token {most}",
            if seen == Seen::Certainly { "accepted" } else { "got" },
            if count == 1 {
                "a write".to_owned()
            } else {
                format!("{count} writes")
            },
        );
        let mut lines = vec![*first];
        lines.extend(writes.iter().map(|(_, record, _)| *record));
        let owners = [token, most]
            .iter()
            .filter_map(|token| owner_of_token(story, *token))
            .collect();
        let tokens = [token, most].into_iter().collect();
        add(
            story,
            broken,
            &rule::LP002,
            seen,
            says,
            story.at(record),
            (tokens, owners),
            &lines,
        );
    }
}

fn owner_of_token(story: &Story<'_>, token: Token) -> Option<String> {
    let by_word = story.owners.iter().position(|owner| owner.tokens.contains(&token));
    let index = by_word.or_else(|| story.grants.iter().find(|grant| grant.token == Some(token))?.owner)?;
    Some(story.owner_name(Some(index)))
}

/// LP003: a later grant of the key whose token is not greater.
fn tokens_go_back(story: &Story<'_>, broken: &mut Vec<BreachSeen>) {
    for (index, grant) in story.grants.iter().enumerate() {
        let Some(token) = grant.token.filter(|_| grant.sure) else {
            continue;
        };
        let before = story
            .grants
            .get(..index)
            .unwrap_or_default()
            .iter()
            .rev()
            .find(|it| it.key == grant.key && it.sure && it.token.is_some());
        let Some((before, old)) = before.and_then(|before| Some((before, before.token?))) else {
            continue;
        };
        if token > old || (token == old && grant.holder == before.holder) {
            continue;
        }
        let seen = match story.before(before.begun, grant.begun) {
            Truth::Yes => Seen::Certainly,
            _ => Seen::Possibly,
        };
        let says = format!(
            "the store granted `{}` with token {token} after it had granted it with token {old}",
            grant.key
        );
        let owners = [before.owner, grant.owner]
            .into_iter()
            .flatten()
            .map(|owner| story.owner_name(Some(owner)))
            .collect();
        add(
            story,
            broken,
            &rule::LP003,
            seen,
            says,
            story.at(grant.begun),
            ([token, old].into_iter().collect(), owners),
            &[before.begun, grant.begun],
        );
    }
}

/// LP001 and LP004: acts after a grant's end that were not begun before it.
fn late(story: &Story<'_>, index: usize, broken: &mut Vec<BreachSeen>) {
    let Some(grant) = story.grants.get(index).filter(|grant| grant.was_lost()) else {
        return;
    };
    let Some(end) = grant.end else { return };
    let mut late: Vec<(&Act<'_>, Truth)> = late_acts(story, index).collect();
    late.sort_by_key(|(act, _)| (story.at(act.by).map(|at| at.earliest), act.by.place));
    let acts: Vec<&Act<'_>> = late.iter().map(|(act, _)| *act).collect();
    let charged: Vec<&(&Act<'_>, Truth)> = late
        .iter()
        .filter(|(act, _)| is_charged(story, grant.owner, act, &acts, end.at))
        .collect();
    let sure: Vec<&Act<'_>> = charged
        .iter()
        .filter(|(_, after)| after.is_yes())
        .map(|(act, _)| *act)
        .collect();
    let (acts, seen) = if sure.is_empty() {
        // What is only possible needs an act that may be late at all.
        let maybe: Vec<&Act<'_>> = charged.iter().map(|(act, _)| *act).collect();
        (maybe, Seen::Possibly)
    } else {
        (sure, if grant.sure { Seen::Certainly } else { Seen::Possibly })
    };
    let Some(first) = acts.first() else { return };
    let name = story.owner_name(grant.owner);
    let next = story
        .grants
        .iter()
        .skip(index + 1)
        .find(|next| next.key == grant.key && next.sure && next.owner != grant.owner);
    let after_next = next.and_then(|next| {
        let order = |act: &&&Act<'_>| {
            story.before(next.begun, act.by) == Truth::Yes
                && next.end.is_none_or(|end| story.before(end.by, act.by) != Truth::Yes)
        };
        acts.iter()
            .filter(|act| !matches!(act.kind, ActKind::Believes))
            .find(order)
            .map(|act| (next, *act))
    });
    let mut lines = vec![grant.begun, end.by];
    lines.extend(acts.iter().map(|act| act.by));
    let owners: BTreeSet<String> = [name.clone()].into_iter().collect();
    let tokens: BTreeSet<Token> = grant.token.into_iter().collect();
    if let Some((next, act)) = after_next {
        let mut both = owners.clone();
        both.extend(next.owner.map(|owner| story.owner_name(Some(owner))));
        let mut all = tokens.clone();
        all.extend(next.token);
        let says = format!(
            "{name} {} at {} on a lease that had ended, while {} held it",
            did(act.kind),
            moment(story, act.by),
            next.owner.map_or_else(
                || next.holder.as_deref().unwrap_or("another").to_owned(),
                |owner| story.owner_name(Some(owner))
            ),
        );
        add(
            story,
            broken,
            &rule::LP001,
            seen,
            says,
            story.at(act.by),
            (all, both),
            &[grant.begun, end.by, next.begun, act.by],
        );
    }
    let late_by = end.at.zip(story.at(first.by)).map(|(end, at)| {
        span(std::time::Duration::from_nanos(
            at.middle().saturating_sub(end.middle()).max(0).unsigned_abs(),
        ))
    });
    let says = format!(
        "{name} {} {}{} after its lease had ended, without acquiring anew",
        did(first.kind),
        late_by.unwrap_or_default(),
        if acts.len() > 1 {
            format!(" (and {} times more)", acts.len() - 1)
        } else {
            String::new()
        },
    );
    add(
        story,
        broken,
        &rule::LP004,
        seen,
        says,
        story.at(first.by),
        (tokens, owners),
        &lines,
    );
}

/// The first act after the end or the stop may have been checked before; so may those within a heartbeat of it. `acts` are
/// the candidates in order: a write that the owner tells of and the resource, too, is not two.
fn is_charged(
    story: &Story<'_>,
    owner: Option<usize>,
    act: &Act<'_>,
    acts: &[&Act<'_>],
    end: Option<Interval>,
) -> bool {
    let same_kind = |other: &Act<'_>| std::mem::discriminant(&other.kind) == std::mem::discriminant(&act.kind);
    let Some(at) = story.at(act.by) else {
        // No clock: the order of the lines alone.
        return acts
            .iter()
            .filter(|other| same_kind(other) && other.by.place < act.by.place)
            .count()
            >= 2;
    };
    let thaw = story
        .stops
        .iter()
        .filter(|stop| owner.is_some_and(|owner| stop.who == Who::Owner(owner)))
        .filter_map(|stop| stop.ended)
        .filter(|ended| ended.earliest <= at.latest)
        .map(|ended| ended.earliest)
        .max();
    let from = [thaw, end.map(|end| end.latest)].into_iter().flatten().max();
    let after = |other: &&&Act<'_>| {
        same_kind(other)
            && story
                .at(other.by)
                .is_some_and(|other| other.earliest < at.earliest && from.is_none_or(|from| other.latest >= from))
    };
    let before = acts.iter().filter(after).count();
    let heartbeat = story.numbers.heartbeat.as_ref().map_or(0, |it| nanos(it.value));
    let outlived = heartbeat > 0 && from.is_some_and(|from| at.earliest > from.saturating_add(heartbeat));
    before >= 2 || (before >= 1 && outlived)
}

fn did(kind: ActKind) -> &'static str {
    match kind {
        ActKind::WriteSeen(Decision::Rejected) => "wrote (and was rejected)",
        ActKind::WriteSeen(_) | ActKind::WriteSaid => "wrote",
        ActKind::Renewed => "claimed a renewal",
        ActKind::Believes => "said that it held the lease,",
    }
}

fn moment(story: &Story<'_>, record: &Record) -> String {
    story
        .at(record)
        .map_or_else(|| story.evidence.show(record.place), clock)
}

/// LP006: it was told, and went on: two acts or more after a refusal, in its own log, without acquiring anew.
fn swallowed(story: &Story<'_>, broken: &mut Vec<BreachSeen>) {
    for (index, owner) in story.owners.iter().enumerate() {
        let mut told: Option<&Record> = None;
        let mut after: Vec<&Record> = Vec::new();
        let mut over: Vec<(&Record, Vec<&Record>)> = Vec::new();
        for record in &owner.says {
            let Says::Owner(said) = &record.says else { continue };
            match said {
                _ if is_loss(record) && told.is_none() => {
                    told = Some(record);
                    after.clear();
                }
                OwnerSays::Acquired { .. } | OwnerSays::Waiting { .. } => {
                    over.extend(told.take().map(|told| (told, std::mem::take(&mut after))));
                }
                OwnerSays::Wrote { .. } | OwnerSays::Renewed { .. } | OwnerSays::BelievesHeld { .. }
                    if told.is_some() =>
                {
                    after.push(record)
                }
                _ => {}
            }
        }
        over.extend(told.map(|told| (told, after)));
        for (told, after) in over.into_iter().filter(|(_, after)| after.len() >= 2) {
            let name = story.owner_name(Some(index));
            let says = format!(
                "{name} was told that its lease was over, and went on as the holder ({} times)",
                after.len()
            );
            let mut lines = vec![told];
            lines.extend(after.iter().copied());
            let tokens = owner.tokens.iter().copied().collect();
            let when = after.first().and_then(|record| story.at(record));
            add(
                story,
                broken,
                &rule::LP006,
                Seen::Certainly,
                says,
                when,
                (tokens, [name].into_iter().collect()),
                &lines,
            );
        }
    }
}

/// LP001 without the store's record: one owner says that it acquired with a greater token, and the one before it acts on.
fn two_believers_by_word(story: &Story<'_>, broken: &mut Vec<BreachSeen>) {
    if broken.iter().any(|it| it.rule == rule::LP001.code) {
        return;
    }
    for (index, owner) in story.owners.iter().enumerate() {
        for (other, next) in story.owners.iter().enumerate().filter(|(other, _)| *other != index) {
            for acquired in &next.says {
                let Says::Owner(OwnerSays::Acquired {
                    token: Some(greater),
                    key,
                    ..
                }) = &acquired.says
                else {
                    continue;
                };
                if let Some(key) = key
                    && !crate::story::grant::is_key(story, key)
                {
                    continue;
                }
                let Some(own) = owner.tokens.iter().rfind(|token| *token < greater) else {
                    continue;
                };
                // What it did with its own, smaller token; the first may have been checked before.
                let mut acts = story
                    .acts
                    .iter()
                    .filter(|act| act.owner == Some(index) && act.token == Some(*own));
                let after: Vec<&Act<'_>> = acts
                    .by_ref()
                    .filter(|act| story.before(acquired, act.by) == Truth::Yes)
                    .collect();
                let charged: Vec<&Act<'_>> = after
                    .iter()
                    .filter(|act| is_charged(story, Some(index), act, &after, story.at(acquired)))
                    .copied()
                    .collect();
                let Some(first) = charged.first() else { continue };
                let (name, others) = (story.owner_name(Some(index)), story.owner_name(Some(other)));
                let says = format!(
                    "{name} {} with token {own} at {}, after {others} had acquired the lease with token {greater}",
                    did(first.kind),
                    moment(story, first.by)
                );
                let mut lines = vec![*acquired];
                lines.extend(charged.iter().map(|act| act.by));
                add(
                    story,
                    broken,
                    &rule::LP001,
                    Seen::Certainly,
                    says,
                    story.at(first.by),
                    (
                        [*own, *greater].into_iter().collect(),
                        [name, others].into_iter().collect(),
                    ),
                    &lines,
                );
                return;
            }
        }
    }
}

/// Which files cover which party.
fn covered(story: &Story<'_>) -> Covered {
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
fn no_doubt(story: &Story<'_>) -> Result<(), String> {
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

/// Owner, store and resource are covered for the window, or what is missing of them.
fn covers_all(story: &Story<'_>, covered: &Covered) -> Result<(), String> {
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
