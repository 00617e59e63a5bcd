//! A budget whose margin doesn't hold: what is said, and the smallest change that would pass.

use leaseproof_model::budget::Budget;

/// Why the budget is refused (LP019); nothing where it holds.
#[must_use]
pub fn margin_refusal(budget: &Budget) -> Option<String> {
    budget.assert().err().map(|short| short.to_string())
}
