//! Validity counted from the answer: a renewal claimed for longer than a TTL from its request, and for no longer than
//! one from its answer.

use super::{Facts, evidence, of};
use crate::timeline::{Owner, Saying, Timeline};
use crate::words::{count, ms};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{EventId, OwnerEvent};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP008;
use leaseproof_model::truth::Truth;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// What two readings of one expiry, and a clock of whole milliseconds, may differ by.
const ROUNDING: Duration = Duration::from_millis(20);

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut found = Vec::new();
    for (place, owner) in timeline.owners.iter().enumerate() {
        let mut beyond: BTreeMap<u32, Vec<Claim<'_>>> = BTreeMap::new();
        for claim in claims(timeline, place, owner) {
            if claim.is_from_answer(timeline) {
                beyond.entry(claim.saying.event.cycle).or_default().push(claim);
            }
        }
        for (cycle, claims) in beyond {
            let first = &claims[0];
            let says = format!(
                "{} claimed {} for longer than its request allows: the first by {}, as if it counted from the answer",
                owner.name,
                count(claims.len(), "renewal"),
                ms(first.until.since(first.allowed)),
            );
            let ids = claims
                .iter()
                .take(4)
                .flat_map(|claim| [claim.basis, claim.saying.event.id]);
            found.push(of(
                owner,
                Finding::new(&LP008, Subject::Owner, Truth::Yes, cycle, says, evidence(ids)),
            ));
        }
    }
    found
}

/// A renewal that its owner claims, until when it does, and until when its request allows.
struct Claim<'h> {
    saying: Saying<'h>,
    until: BootNanos,
    allowed: BootNanos,
    /// The event that says what is allowed.
    basis: EventId,
}

impl Claim<'_> {
    /// Beyond a TTL from the request, and within one from the answer: a longer one is of another TTL, and says
    /// nothing of where it is counted from.
    fn is_from_answer(&self, timeline: &Timeline<'_>) -> bool {
        let answered = self.saying.at.latest.max(self.saying.event.at.latest);
        self.allowed.plus(ROUNDING) < self.until && self.until <= answered.plus(timeline.ask.budget.ttl + ROUNDING)
    }
}

/// Each renewal that an owner claims with its end and with the moment of sending.
fn claims<'t, 'h>(
    timeline: &'t Timeline<'h>,
    place: usize,
    owner: &'t Owner<'h>,
) -> impl Iterator<Item = Claim<'h>> + use<'t, 'h> {
    let mut sent: HashMap<u64, (BootNanos, EventId)> = HashMap::new();
    owner.said.iter().filter_map(move |saying| {
        let attempt = saying.said.attempt?;
        if saying.is(OwnerEvent::RenewSent) {
            sent.insert(attempt, (saying.at.latest, saying.event.id));
        }
        let until = saying.said.valid_until.filter(|_| saying.is(OwnerEvent::Renewed))?;
        let (sent, basis) = *sent.get(&attempt)?;
        let allowed = sent.plus(timeline.ask.budget.ttl);
        Some(Claim {
            saying: *saying,
            until,
            allowed: allowed.max(granted(timeline, place, saying, sent)),
            basis,
        })
    })
}

/// What the store itself granted by then, where it shows that: an owner may ask for a longer TTL than the plan's.
fn granted(timeline: &Timeline<'_>, place: usize, saying: &Saying<'_>, sent: BootNanos) -> BootNanos {
    let mine = &timeline.owners[place].grants;
    let begun = mine.partition_point(|grant| timeline.grants[*grant].begin.earliest <= saying.at.latest);
    let Some(grant) = mine[..begun].last().map(|grant| &timeline.grants[*grant]) else {
        return sent;
    };
    let applied = grant.extensions.iter().filter(|it| it.at.earliest <= saying.at.latest);
    let shown = applied.map(|it| it.expires).chain(grant.first_expiry);
    let bound = grant.bound.map(|ttl| sent.plus(ttl));
    shown.map(|it| it.latest).chain(bound).max().unwrap_or(sent)
}
