//! What was seen beside what a plan says.

use crate::in_force::{TOLERANCE, differs, is_planned, of, real_budget, thin};
use leaseproof_model::budget::Budget;
use leaseproof_model::inspect::lease_view::{Change, LeaseView};
use leaseproof_model::inspect::plan_view::{Check, PlanView};
use leaseproof_model::inspect::{Range, Shown, ms};
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// Why a gap that is too long need not have been one.
const HIDDEN: &str = "but the TTL was shortened within the span, and a renewal that shortens it does not show as one";

/// A last reading that is older than this leaves room for what was not read.
const UNSEEN_MS: f64 = 100.0;

/// A store of sessions tells nobody when one was extended.
const NOT_SHOWN: &str = "renewals are not shown by this store";

/// The comparison.
#[must_use]
pub fn against(path: &str, budget: &Budget, lease: &LeaseView) -> PlanView {
    let ttl = ttl_check(budget, lease);
    let in_force = (ttl.holds == Truth::No).then(|| budget_check(budget, &ttl)).flatten();
    let cadence = cadence_check(budget, lease);
    let worst = worst_check(budget, lease);
    PlanView {
        path: path.to_owned(),
        margin_ms: ms(budget.margin()),
        checks: [Some(ttl), in_force, Some(cadence), Some(worst)]
            .into_iter()
            .flatten()
            .collect(),
    }
}

fn ttl_check(budget: &Budget, lease: &LeaseView) -> Check {
    let planned_ms = ms(budget.ttl);
    let seen = lease.granted_ttl.get().copied();
    let holds = seen.map_or(Truth::CannotTell, |seen| is_planned(budget, seen, lease.ttl_varies));
    let says = match (holds, seen) {
        (Truth::Yes, _) => "the TTL in force is the plan's".to_owned(),
        (Truth::No, Some(seen)) => differs(budget, seen),
        (_, Some(seen)) => format!(
            "no renewal was seen: the TTL in force is {}, and the plan says {planned_ms:.0} ms",
            of(seen)
        ),
        (_, None) => "the TTL in force was not seen".to_owned(),
    };
    Check {
        name: "ttl".to_owned(),
        planned_ms,
        seen,
        holds,
        weighs: false,
        says,
    }
}

/// Whether the plan's margin would still exceed its worst pause with the TTL that is in force.
fn budget_check(budget: &Budget, ttl: &Check) -> Option<Check> {
    let real = real_budget(budget, ttl.seen?)?;
    let margin_ms = ms(real.margin());
    let holds = || format!("with the TTL in force the margin is {margin_ms:.0} ms: the budget holds all the same");
    let says = thin(&real).unwrap_or_else(holds);
    Some(Check {
        name: "budget".to_owned(),
        planned_ms: ms(budget.worst_pause),
        seen: Some(Range::between(real.margin(), real.margin())),
        holds: Truth::from(real.holds()),
        weighs: true,
        says,
    })
}

/// Whether the TTL was shortened within the span.
pub(super) fn shortened(lease: &LeaseView) -> bool {
    lease.happened.iter().any(|it| it.what == Change::Shortened)
}

fn cadence_check(budget: &Budget, lease: &LeaseView) -> Check {
    let cadence = lease.renewals.get().and_then(|it| it.cadence);
    let shortened = shortened(lease);
    let planned_ms = ms(budget.heartbeat);
    let bound = ms(budget.heartbeat + budget.renew_timeout + TOLERANCE);
    let holds = match cadence {
        None => Truth::CannotTell,
        Some(seen) if seen.at_least_ms > bound && !shortened => Truth::No,
        Some(seen) if seen.at_least_ms > bound || seen.at_most_ms.is_some_and(|most| most > bound) => Truth::CannotTell,
        Some(_) => Truth::Yes,
    };
    let says = match (holds, cadence) {
        (_, None) if lease.renewals == Shown::NotByThisStore => NOT_SHOWN.to_owned(),
        (_, None) => "fewer than two renewals were seen: the cadence is not known".to_owned(),
        (Truth::No, Some(seen)) => format!(
            "it is renewed every {}, and the plan says every {planned_ms:.0} ms",
            of(seen)
        ),
        (Truth::Yes, Some(seen)) => format!("it is renewed every {}: the plan's heartbeat is kept", of(seen)),
        (_, Some(seen)) if shortened => format!(
            "a renewal shows every {}, and the plan says every {planned_ms:.0} ms, {HIDDEN}",
            of(seen)
        ),
        (_, Some(seen)) => format!(
            "it is renewed every {}: readings were too far apart to say whether that is the plan's {planned_ms:.0} ms",
            of(seen)
        ),
    };
    Check {
        name: "cadence".to_owned(),
        planned_ms,
        seen: cadence,
        holds,
        weighs: true,
        says,
    }
}

/// The longest gap that the budget allows: a renewal that was due, after the worst pause, at the end of
/// its time-out.
#[must_use]
pub fn longest_allowed(budget: &Budget) -> Duration {
    budget.heartbeat + budget.worst_pause + budget.renew_timeout
}

/// Why a gap was perhaps longer than what was seen of it.
fn open_end(lease: &LeaseView) -> Option<String> {
    if lease.watched.unseen_at_end_ms > UNSEEN_MS {
        let unseen = lease.watched.unseen_at_end_ms;
        return Some(format!("of the last {unseen:.0} ms nothing was read"));
    }
    // Whoever lost the lease had not renewed it by then, for how long nobody knows; a TTL that runs out is a gap of all of it.
    let lost = |what: Change| matches!(what, Change::Expired | Change::Ended | Change::Taken);
    let ended = lease.happened.iter().find(|it| lost(it.what));
    ended.map(|_| {
        "the lease ended within the span, and how long it had not been renewed by then is not known".to_owned()
    })
}

fn worst_check(budget: &Budget, lease: &LeaseView) -> Check {
    let planned_ms = ms(longest_allowed(budget));
    let renewals = lease.renewals.get();
    let seen = renewals.and_then(|it| it.worst_gap.as_ref()).map(|gap| gap.length);
    let perhaps = renewals.and_then(|it| it.perhaps_gap_ms);
    let most = seen
        .and_then(|seen| seen.at_most_ms)
        .into_iter()
        .chain(perhaps)
        .reduce(f64::max);
    let shortened = shortened(lease);
    let any = renewals.is_some_and(|it| !it.seen.is_empty());
    let open = open_end(lease);
    let holds = match seen {
        Some(seen) if seen.at_least_ms > planned_ms && !shortened => Truth::No,
        Some(seen) if seen.at_least_ms > planned_ms || most.is_some_and(|most| most > planned_ms) => Truth::CannotTell,
        Some(_) if open.is_some() => Truth::CannotTell,
        Some(_) if any => Truth::Yes,
        _ => Truth::CannotTell,
    };
    let says = match (holds, seen) {
        (Truth::No, Some(seen)) => format!(
            "the worst gap is {}: more than heartbeat, worst pause and renewal time-out together, {planned_ms:.0} ms",
            of(seen)
        ),
        (Truth::Yes, Some(seen)) => format!("the worst gap is {}: the budget allows {planned_ms:.0} ms", of(seen)),
        (_, Some(seen)) if any && shortened => format!(
            "the worst gap that shows is {}, and the budget allows {planned_ms:.0} ms, {HIDDEN}",
            of(seen)
        ),
        (_, Some(seen)) if any => match (perhaps.filter(|most| *most > planned_ms), open) {
            (None, Some(why)) => format!(
                "the worst gap that was seen is {}, and the budget allows {planned_ms:.0} ms, but {why}",
                of(seen)
            ),
            (Some(other), _) => format!(
                "the worst gap is {}, and the budget allows {planned_ms:.0} ms: of another no more is known than that it was \
                 at most {other:.0} ms",
                of(seen)
            ),
            (None, None) => format!(
                "the worst gap is {}, and the budget allows {planned_ms:.0} ms: its begin and end are not known well enough \
                 to say",
                of(seen)
            ),
        },
        _ if lease.renewals == Shown::NotByThisStore => NOT_SHOWN.to_owned(),
        _ => "no renewal was seen: the worst gap is not known".to_owned(),
    };
    Check {
        name: "worst-gap".to_owned(),
        planned_ms,
        seen,
        holds,
        weighs: true,
        says,
    }
}
