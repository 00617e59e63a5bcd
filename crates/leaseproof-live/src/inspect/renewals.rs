//! Renewals placed, the TTL that they set, the gaps between them.
//!
//! A renewal lies between two readings. It is placed closer by what it left: its expiry less the TTL
//! that it set. Where the store does not state that TTL, each renewal bounds it, and where all bounds have a
//! common part the renewals are taken to set one TTL.

use super::sample::Sample;
use super::steps::{Jump, Steps};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::inspect::lease_view::{Gap, Renewal, Renewals};
use leaseproof_model::inspect::{Range, Shown, ms};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

/// So many renewals are kept.
const KEPT: usize = 10_000;

/// So many readings on either side of a renewal are looked at for the sharpest expiry.
const NEAR: usize = 8;

/// Between two readings further apart than this another renewal may hide.
const HOLE: Duration = Duration::from_millis(100);

/// Whole milliseconds of a store, and the microsecond to which it cuts its clock.
const ROUNDING: Duration = Duration::from_millis(1);

/// The TTL that renewals set.
#[derive(Clone, PartialEq, Debug)]
pub struct Ttl {
    /// What is known of it.
    pub range: Shown<Range>,
    /// Whether renewals set different ones.
    pub varies: bool,
    bounds: Option<(Duration, Duration)>,
}

impl Ttl {
    /// It is no shorter.
    fn least(&self) -> Duration {
        let millis = self.range.get().map_or(0.0, |range| range.at_least_ms);
        Duration::try_from_secs_f64(millis / 1000.0).unwrap_or_default()
    }
}

/// The TTL in force, by all readings of a span.
#[must_use]
pub fn ttl(samples: &[Sample], steps: &Steps, facts: &StoreFacts) -> Ttl {
    if let Some(bound) = samples.iter().rev().find_map(|sample| sample.held()?.bound) {
        if facts.is_only_the_most(bound) {
            return unknown(Shown::Withheld(format!(
                "the lease's own TTL may not be read here; the store grants {bound:?} at the most"
            )));
        }
        return Ttl {
            range: Shown::Is(Range::between(bound, bound)),
            varies: false,
            bounds: Some((bound, bound)),
        };
    }
    if !facts.shows_expiry {
        return unknown(Shown::NotByThisStore);
    }
    let stated: Vec<(Duration, Duration)> = samples
        .iter()
        .filter_map(|sample| sample.held()?.ttl)
        .map(|ttl| (ttl, ttl))
        .collect();
    // What the store says of its own is sharper than what is left of a TTL when its renewal is seen.
    let each: Vec<(Duration, Duration)> = if !stated.is_empty() {
        stated
    } else if facts.exact_moments {
        let exact = samples.iter().filter_map(|sample| {
            let span = sample.expires()?.latest.since(sample.held()?.renewed?);
            Some((span, span))
        });
        exact.collect()
    } else {
        steps.jumps.iter().filter_map(|jump| by_jump(samples, *jump)).collect()
    };
    let least = each.iter().map(|it| it.0).max();
    let most = each.iter().map(|it| it.1).min();
    let (Some(least), Some(most)) = (least, most) else {
        // Without a renewal: no less than what was seen to be left.
        let left = samples.iter().filter_map(left).map(|it| it.0).max();
        return match left {
            Some(left) => unknown(Shown::Is(Range::at_least(left))),
            None => unknown(Shown::Withheld("the key has no expiry, or nobody holds it".to_owned())),
        };
    };
    if least > most + ROUNDING {
        let low = each.iter().map(|it| it.0).min().unwrap_or(most);
        let high = each.iter().map(|it| it.1).max().unwrap_or(least);
        return Ttl {
            range: Shown::Is(Range::between(low, high)),
            varies: true,
            bounds: None,
        };
    }
    Ttl {
        range: Shown::Is(Range::between(least, most)),
        varies: false,
        bounds: Some((least.min(most), least.max(most))),
    }
}

fn unknown(range: Shown<Range>) -> Ttl {
    Ttl {
        range,
        varies: false,
        bounds: None,
    }
}

fn by_jump(samples: &[Sample], jump: Jump) -> Option<(Duration, Duration)> {
    let expires = sharpest(samples, jump.after..jump.after + NEAR)?;
    let (before, after) = (&samples[jump.before], &samples[jump.after]);
    Some((
        expires.earliest.since(after.at.latest),
        expires.latest.since(before.at.earliest),
    ))
}

/// The expiry of the grant as the sharpest of these readings shows it, as long as it stays the same.
fn sharpest(samples: &[Sample], range: std::ops::Range<usize>) -> Option<Moment> {
    let range = range.start..range.end.min(samples.len());
    let mut best: Option<Moment> = None;
    for sample in samples.get(range)? {
        let Some(expires) = sample.expires() else { continue };
        match best {
            Some(known) if expires.earliest > known.latest || expires.latest < known.earliest => break,
            Some(known) if known.uncertainty() <= expires.uncertainty() => {}
            _ => best = Some(expires),
        }
    }
    best
}

/// The expiry just before a reading, as the sharpest reading shows it.
fn sharpest_until(samples: &[Sample], last: usize) -> Option<Moment> {
    let mut best = samples.get(last)?.expires()?;
    for sample in samples[..last].iter().rev().take(NEAR) {
        let Some(expires) = sample.expires() else { continue };
        if expires.earliest > best.latest || expires.latest < best.earliest {
            break;
        }
        if expires.uncertainty() < best.uncertainty() {
            best = expires;
        }
    }
    Some(best)
}

/// What is left of the TTL in a reading: at least, at most.
#[must_use]
pub fn left(sample: &Sample) -> Option<(Duration, Duration)> {
    let expires = sample.expires()?;
    Some((
        expires.earliest.since(sample.at.latest),
        expires.latest.since(sample.at.earliest),
    ))
}

/// A renewal's moment: between its two readings, and as its expiry and the TTL place it.
fn place(samples: &[Sample], jump: Jump, ttl: &Ttl) -> Moment {
    if let Some(exact) = jump.exact {
        return Moment::exact(exact);
    }
    let bracket = Moment::between(samples[jump.before].at.earliest, samples[jump.after].at.latest);
    let (Some((least, most)), Some(expires)) = (ttl.bounds, sharpest(samples, jump.after..jump.after + NEAR)) else {
        return bracket;
    };
    let earliest = bracket.earliest.max(expires.earliest.minus(most));
    let latest = bracket.latest.min(expires.latest.minus(least));
    if earliest <= latest {
        Moment { earliest, latest }
    } else {
        bracket
    }
}

/// The moments of all renewals, placed.
#[must_use]
pub fn moments(samples: &[Sample], steps: &Steps, ttl: &Ttl) -> Vec<Moment> {
    steps.jumps.iter().map(|jump| place(samples, *jump, ttl)).collect()
}

/// The renewals of a span.
#[must_use]
pub fn renewals(samples: &[Sample], steps: &Steps, ttl: &Ttl, facts: &StoreFacts) -> Shown<Renewals> {
    if !facts.shows_renewals {
        return Shown::NotByThisStore;
    }
    let Some(first) = samples.iter().find(|sample| sample.reading().is_some()) else {
        return Shown::Withheld("there was no reading".to_owned());
    };
    if steps.jumps.is_empty() && !facts.renewals_apart.is_zero() && held_up(samples, first, steps, facts) {
        return Shown::Withheld(format!(
            "there were some, closer together than the {:?} in which this store's expiries are shown",
            facts.renewals_apart
        ));
    }
    let origin = samples[0].at.earliest;
    let placed = moments(samples, steps, ttl);
    let seen = placed.iter().zip(&steps.jumps).take(KEPT).map(|(at, jump)| {
        let middle = at.earliest.plus(at.uncertainty() / 2);
        Renewal {
            at_ms: ms(middle.since(origin)),
            plus_minus_ms: ms(at.uncertainty()) / 2.0,
            unix_ms: wall_ms(&samples[jump.after], middle),
            left_before: left_before(samples, *jump, *at),
        }
    });
    let before = before(samples, first, steps, ttl);
    let mut gaps = gaps(samples, steps, &placed, before, ttl.least());
    // A lease that was held throughout was renewed before its TTL was over.
    if let Some((_, most)) = ttl.bounds {
        let most = ms(most);
        for gap in &mut gaps {
            gap.length.at_most_ms = gap
                .length
                .at_most_ms
                .map(|own| own.min(most.max(gap.length.at_least_ms)));
        }
    }
    let mut closed: Vec<Range> = gaps
        .iter()
        .map(|gap| gap.length)
        .filter(|it| it.at_most_ms.is_some())
        .collect();
    closed.sort_by(|a, b| a.middle_ms().total_cmp(&b.middle_ms()));
    // Renewals may hide in a silence of the store: what the worst one is at the most is another gap's word.
    let most = gaps.iter().filter_map(|gap| gap.length.at_most_ms).reduce(f64::max);
    let worst = gaps.into_iter().reduce(|worst, gap| {
        if gap.length.at_least_ms > worst.length.at_least_ms {
            gap
        } else {
            worst
        }
    });
    let own = worst
        .as_ref()
        .map(|gap| gap.length.at_most_ms.unwrap_or(gap.length.at_least_ms));
    let perhaps = most.filter(|most| own.is_some_and(|own| *most > own + ms(HOLE)));
    Shown::Is(Renewals {
        seen: seen.collect(),
        before_ms_ago: before.map(|at| range_between(first.at, at)),
        cadence: closed.get(closed.len() / 2).copied(),
        worst_gap: worst,
        perhaps_gap_ms: perhaps,
    })
}

/// Whether what is left of the TTL fell by less than the time that passed, though no renewal could be placed.
fn held_up(samples: &[Sample], first: &Sample, steps: &Steps, facts: &StoreFacts) -> bool {
    let Some(last) = samples.iter().rev().find(|sample| sample.reading().is_some()) else {
        return false;
    };
    let (Some(from), Some(to)) = (left(first), left(last)) else {
        return false;
    };
    let passed = last.at.earliest.since(first.at.latest);
    steps.new_grants.is_empty() && to.0 + passed > from.1 + facts.renewals_apart
}

/// The renewal (or grant) before the first reading.
fn before(samples: &[Sample], first: &Sample, steps: &Steps, ttl: &Ttl) -> Option<Moment> {
    let held = first.held()?;
    if let Some(renewed) = held.renewed {
        return Some(Moment::exact(renewed));
    }
    let (least, most) = ttl.bounds.filter(|_| held.bound.is_none())?;
    let until = steps.jumps.first().map_or(NEAR, |jump| jump.after.min(NEAR));
    let expires = sharpest(samples, 0..until)?;
    let at = Moment {
        earliest: expires.earliest.minus(most),
        latest: expires.latest.minus(least).min(first.at.latest),
    };
    (at.earliest <= at.latest && at.latest.0 > 0).then_some(at)
}

fn gaps(samples: &[Sample], steps: &Steps, placed: &[Moment], before: Option<Moment>, ttl_least: Duration) -> Vec<Gap> {
    let origin = samples[0].at.earliest;
    let mut gaps = Vec::new();
    // Where the span of one grant begins again, a gap does not reach across.
    let same = |from: usize, to: usize| !steps.new_grants.iter().any(|at| (from + 1..=to).contains(at));
    let mut last: Option<(usize, Moment)> = before.map(|at| (0, at));
    for (jump, at) in steps.jumps.iter().zip(placed) {
        if let Some((_, begin)) = last.filter(|(from, _)| same(*from, jump.after)) {
            let mut least = at.earliest.since(begin.latest);
            let reading = &samples[jump.before];
            if hides(samples, *jump) {
                least = least.min(reading.at.earliest.since(begin.latest));
            }
            let least = least.min(longest_piece(samples, steps, begin, *at));
            let least = least.min(after_hidden(reading, at.earliest, ttl_least));
            gaps.push(Gap {
                length: Range::between(least, at.latest.since(begin.earliest)),
                from_ms: signed_ms(begin.earliest, origin),
                left_at_end: left_before(samples, *jump, *at),
            });
        }
        last = Some((jump.after, *at));
    }
    // A gap that no renewal ended: it was open when the lease ended, or still is at the last reading.
    let last_reading = samples.iter().rposition(|sample| sample.reading().is_some());
    let still_held = last_reading.filter(|end| samples[*end].held().is_some());
    for end in steps.ended.iter().copied().chain(still_held) {
        let begin_of_grant = steps.new_grants.iter().rev().find(|at| **at <= end);
        let renewed = steps.jumps.iter().zip(placed).rev().find(|(jump, _)| jump.after <= end);
        let begin = match (begin_of_grant, renewed) {
            (Some(grant), Some((jump, at))) if jump.after > *grant => *at,
            (Some(grant), _) => samples[*grant].at,
            (None, Some((_, at))) => *at,
            (None, None) => before.unwrap_or(samples[0].at),
        };
        let least = longest_piece(samples, steps, begin, samples[end].at);
        gaps.push(Gap {
            length: Range::at_least(least.min(after_hidden(&samples[end], samples[end].at.earliest, ttl_least))),
            from_ms: signed_ms(begin.earliest, origin),
            left_at_end: left(&samples[end]).map(|(least, most)| Range::between(least, most)),
        });
    }
    gaps
}

/// Whether another renewal may hide before this one, since nothing was read for long.
fn hides(samples: &[Sample], jump: Jump) -> bool {
    samples[jump.after].at.latest.since(samples[jump.before].at.earliest) > HOLE
}

/// What was left of the TTL just before a renewal at `at`: no less, where another may have hidden before it.
fn left_before(samples: &[Sample], jump: Jump, at: Moment) -> Option<Range> {
    let left = range_between(sharpest_until(samples, jump.before)?, at);
    Some(match hides(samples, jump) {
        true => Range {
            at_most_ms: None,
            ..left
        },
        false => left,
    })
}

/// How long before `until` the last renewal was at least that a reading leaves room for: it came no later than its
/// expiry less the TTL. Where the store shows whole seconds one may hide in what is not known of either, and where
/// the expiry happens to be known well at last, those before it were not.
fn after_hidden(reading: &Sample, until: BootNanos, ttl_least: Duration) -> Duration {
    match reading.expires().filter(|_| !ttl_least.is_zero()) {
        Some(expires) => until.since(expires.latest.minus(ttl_least)),
        None => Duration::MAX,
    }
}

/// The longest part of a gap that holds no shortening: each may be a renewal with a shorter TTL.
fn longest_piece(samples: &[Sample], steps: &Steps, begin: Moment, end: Moment) -> Duration {
    let (mut longest, mut from) = (Duration::ZERO, begin.latest);
    for &(before, after) in &steps.shortened {
        let (until, then) = (samples[before].at.earliest, samples[after].at.latest);
        if until >= begin.latest && then <= end.earliest {
            longest = longest.max(until.since(from));
            from = then;
        }
    }
    longest.max(end.earliest.since(from))
}

/// From `earlier` to `later`, both moments.
fn range_between(later: Moment, earlier: Moment) -> Range {
    Range::between(
        later.earliest.since(earlier.latest),
        later.latest.since(earlier.earliest),
    )
}

fn signed_ms(at: BootNanos, origin: BootNanos) -> f64 {
    ms(at.since(origin)) - ms(origin.since(at))
}

/// A moment of the boot clock on this host's wall clock, by the clocks at a reading.
#[expect(clippy::cast_precision_loss, reason = "to a microsecond, until the year 2255")]
fn wall_ms(sample: &Sample, at: BootNanos) -> f64 {
    let ahead = i128::from(sample.stamp.wall.0) - i128::from(sample.stamp.boot.0);
    ((i128::from(at.0) + ahead) / 1000) as f64 / 1000.0
}
