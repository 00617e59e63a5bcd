//! The TTL in force set against the plan's: one judgement for `inspect` and `watch`.

use leaseproof_model::budget::Budget;
use leaseproof_model::inspect::{Range, ms};
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// Rounding of stores that count in milliseconds, and of a renewal's place.
pub const TOLERANCE: Duration = Duration::from_millis(25);

/// Whether the TTL in force is the plan's, as far as it is known (LP022): no, where none that was seen can be; `varies`
/// where renewals set different ones.
#[must_use]
pub fn is_planned(budget: &Budget, seen: Range, varies: bool) -> Truth {
    let (planned, slack) = (ms(budget.ttl), ms(TOLERANCE + budget.early_slack));
    if seen.at_least_ms > planned + slack {
        return Truth::No;
    }
    match seen.at_most_ms {
        Some(most) if most + slack < planned || varies => Truth::No,
        Some(_) => Truth::Yes,
        None => Truth::CannotTell,
    }
}

/// The plan's budget with the longest TTL that may be in force in the place of its own; none where that is not known.
#[must_use]
pub fn real_budget(budget: &Budget, seen: Range) -> Option<Budget> {
    let ttl = Duration::try_from_secs_f64(seen.at_most_ms? / 1000.0).ok()?;
    Some(Budget { ttl, ..*budget })
}

/// That it is another, in words.
#[must_use]
pub fn differs(budget: &Budget, seen: Range) -> String {
    format!(
        "the TTL in force is {}, and the plan says {:.0} ms",
        of(seen),
        ms(budget.ttl)
    )
}

/// What is left of the margin with the TTL in force, where that is not enough, in words.
#[must_use]
pub fn thin(real: &Budget) -> Option<String> {
    (!real.holds()).then(|| {
        format!(
            "with the TTL in force the margin is {:.0} ms, which is not above the worst pause of {:.0} ms",
            ms(real.margin()),
            ms(real.worst_pause)
        )
    })
}

/// A range in words.
#[must_use]
pub fn of(range: Range) -> String {
    match range.at_most_ms {
        None => format!("at least {:.0} ms", range.at_least_ms),
        Some(most) if most - range.at_least_ms < 2.0 => format!("{:.0} ms", range.middle_ms()),
        Some(most) => format!("{:.0} to {most:.0} ms", range.at_least_ms),
    }
}
