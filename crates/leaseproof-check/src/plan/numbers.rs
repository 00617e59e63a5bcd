//! The numbers of `[budget]`, with their defaults and the checks that need no other number.

use super::complaint::{Place, PlanError};
use super::file::{BudgetTable, Text};
use leaseproof_model::budget::Budget;
use leaseproof_model::duration::parse_duration;
use std::ops::Range;
use std::time::Duration;

impl Place<'_> {
    /// The duration of a key, or its default.
    ///
    /// # Errors
    /// When the text is no duration.
    pub fn duration(&self, name: &str, value: Option<&Text>, default: Duration) -> Result<Duration, PlanError> {
        match value {
            None => Ok(default),
            Some(text) => {
                parse_duration(text.get_ref()).map_err(|says| self.at(text.span(), &format!("{name}: {says}")))
            }
        }
    }

    /// The numbers of `[budget]`. Whether the margin holds is another question.
    ///
    /// # Errors
    /// When one is no duration, or none that a lease can have.
    pub fn numbers(&self, table: &BudgetTable) -> Result<Budget, PlanError> {
        let standard = Budget::standard();
        let duration = |name, value: &Option<Text>, default| self.duration(name, value.as_ref(), default);
        let budget = Budget {
            ttl: duration("ttl", &table.ttl, standard.ttl)?,
            heartbeat: duration("heartbeat", &table.heartbeat, standard.heartbeat)?,
            worst_pause: duration("worst_pause", &table.worst_pause, standard.worst_pause)?,
            max_clock_drift: duration("max_clock_drift", &table.max_clock_drift, standard.max_clock_drift)?,
            renew_timeout: duration("renew_timeout", &table.renew_timeout, standard.renew_timeout)?,
            early_slack: Duration::ZERO,
        };
        if budget.ttl < Duration::from_millis(100) {
            return Err(self.at(
                span(&table.ttl),
                &format!("ttl: {:?} is too short to be measured: use 100ms or more", budget.ttl),
            ));
        }
        if budget.heartbeat < Budget::LEAST_HEARTBEAT {
            return Err(self.at(
                span(&table.heartbeat),
                &format!("heartbeat: {:?} is too short: use 10ms or more", budget.heartbeat),
            ));
        }
        if budget.heartbeat >= budget.ttl {
            return Err(self.at(
                span(&table.heartbeat),
                &format!(
                    "heartbeat: {:?} is not below the TTL of {:?}, so the lease ends before its first renewal: use a third of the TTL",
                    budget.heartbeat, budget.ttl
                ),
            ));
        }
        Ok(budget)
    }

    /// Where a complaint about the whole budget belongs: its first number that is written down.
    #[must_use]
    pub fn of_budget(&self, table: &BudgetTable) -> Range<usize> {
        let guilty = [&table.heartbeat, &table.worst_pause, &table.ttl, &table.renew_timeout];
        guilty
            .into_iter()
            .map(span)
            .find(|span| !span.is_empty())
            .unwrap_or(0..0)
    }
}

fn span(value: &Option<Text>) -> Range<usize> {
    value.as_ref().map_or(0..0, toml::Spanned::span)
}
