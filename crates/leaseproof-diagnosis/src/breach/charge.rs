//! Which late act is charged to its owner, and how it is told of.

use crate::story::Story;
use crate::story::act::{Act, ActKind};
use crate::story::stop::Who;
use crate::words::clock;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::Decision;
use leaseproof_evidence::when::{Interval, nanos};

/// The first act after the end or the stop may have been checked before; so may those within a heartbeat of it. `acts` are
/// the candidates in order: a write that the owner tells of and the resource, too, is not two.
pub fn is_charged(
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

pub fn did(kind: ActKind) -> &'static str {
    match kind {
        ActKind::WriteSeen(Decision::Rejected) => "wrote (and was rejected)",
        ActKind::WriteSeen(_) | ActKind::WriteSaid => "wrote",
        ActKind::Renewed => "claimed a renewal",
        ActKind::Believes => "said that it held the lease,",
    }
}

pub fn moment(story: &Story<'_>, record: &Record) -> String {
    story
        .at(record)
        .map_or_else(|| story.evidence.show(record.place), clock)
}
