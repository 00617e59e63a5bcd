//! A budget whose margin doesn't hold: what is said, and the smallest change that would pass.

use leaseproof_model::budget::Budget;

/// Why the budget is refused (LP019); nothing where it holds.
///
/// A greater TTL is never the advice: it widens the window in which two owners can act.
#[must_use]
pub fn margin_refusal(budget: &Budget) -> Option<String> {
    if budget.holds() {
        return None;
    }
    let advice = match budget.heartbeat_that_holds() {
        Some(heartbeat) => format!(
            "the smallest change that passes: heartbeat = \"{}ms\"",
            heartbeat.as_millis()
        ),
        None => {
            "no heartbeat would be short enough: the worst pause itself must get shorter (a longer TTL would widen \
                 the window in which two owners can act)"
                .to_owned()
        }
    };
    let slack = if budget.early_slack.is_zero() {
        String::new()
    } else {
        format!(" - early_slack {:?}", budget.early_slack)
    };
    Some(format!(
        "LP019 budget-invalid: the margin is {:?} (ttl {:?} - heartbeat {:?} - renew_timeout {:?} - max_clock_drift {:?}{slack}), \
         and it must be greater than the worst pause of {:?}\n  {advice}",
        budget.margin(),
        budget.ttl,
        budget.heartbeat,
        budget.renew_timeout,
        budget.max_clock_drift,
        budget.worst_pause
    ))
}
