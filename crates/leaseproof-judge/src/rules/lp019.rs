//! The margin does not exceed the worst pause.

use super::Facts;
use crate::words::ms;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP019;
use leaseproof_model::truth::Truth;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let budget = &facts.timeline.ask.budget;
    if budget.holds() {
        return Vec::new();
    }
    let advice = match budget.heartbeat_that_holds() {
        Some(heartbeat) => format!("; a heartbeat of {} would do", ms(heartbeat)),
        None => String::new(),
    };
    let says = format!(
        "the margin is {} and must be greater than the worst pause of {}{advice}",
        ms(budget.margin()),
        ms(budget.worst_pause),
    );
    vec![Finding::new(
        &LP019,
        Subject::Configuration,
        Truth::Yes,
        0,
        says,
        Vec::new(),
    )]
}
