//! A plan meets a store: floors, ceilings, steps, and how far apart renewals must be to be seen.

use super::margin::margin_refusal;
use leaseproof_model::budget::Budget;
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

/// A heartbeat is this many times what the store needs to show two renewals as two: a heartbeat that comes
/// a little early must still be far enough from the last.
const CLEARLY_APART: f64 = 1.3;

/// The budget that is in force on a store, and what people should be told about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Fitted {
    /// The budget, with the store's slack counted in.
    pub budget: Budget,
    /// One sentence, where it is not what the plan says or shows less than it could.
    pub says: Option<String>,
}

/// Fits `budget` to a store. With `chosen` its TTL or heartbeat were named by somebody, who may have an owner
/// that does just that: then only a floor changes them.
///
/// # Errors
/// What does not fit, and what to do.
pub fn fit(budget: Budget, chosen: bool, facts: &StoreFacts) -> Result<Fitted, String> {
    let kind = &facts.kind;
    let mut budget = Budget {
        early_slack: facts.early_slack,
        ..budget
    };
    let mut says = None;
    let apart = facts.renewals_apart.mul_f64(CLEARLY_APART);
    if let Some(floor) = facts.ttl_floor.filter(|&floor| floor > budget.ttl) {
        let factor = floor.as_secs_f64() / budget.ttl.as_secs_f64();
        scale(&mut budget, floor, factor);
        says = Some(format!(
            "{kind} grants no TTL below {floor:?}: the plan is scaled by {factor:.2}"
        ));
    }
    if budget.heartbeat < apart {
        let room = facts.renewals_apart;
        if chosen {
            says = says.or_else(|| {
                Some(format!(
                    "{kind} shows two renewals less than {room:?} apart as one: findings about renewals are sharper \
                     with a heartbeat of {apart:?}"
                ))
            });
        } else {
            let factor = apart.as_secs_f64() / budget.heartbeat.as_secs_f64();
            let ttl = up(budget.ttl.mul_f64(factor), facts.ttl_step);
            scale(&mut budget, ttl, factor);
            budget.heartbeat = apart;
            says = Some(format!(
                "{kind} shows two renewals less than {room:?} apart as one: the plan is scaled to a TTL of {ttl:?}, a \
                 heartbeat of {apart:?}"
            ));
        }
    }
    if let Some(ceiling) = facts.ttl_ceiling.filter(|&ceiling| ceiling < budget.ttl) {
        return Err(format!(
            "{kind} grants no TTL above {ceiling:?}, and the plan has {:?}\n  take a shorter TTL, or raise the server's limit",
            budget.ttl
        ));
    }
    match margin_refusal(&budget) {
        None => Ok(Fitted { budget, says }),
        Some(says) => Err(says),
    }
}

fn scale(budget: &mut Budget, ttl: Duration, factor: f64) {
    budget.ttl = ttl;
    budget.heartbeat = budget.heartbeat.mul_f64(factor);
    budget.worst_pause = budget.worst_pause.mul_f64(factor);
}

/// Rounded up to a multiple of `step`.
fn up(span: Duration, step: Duration) -> Duration {
    match step.as_nanos() {
        0 => span,
        step_ns => step * u32::try_from(span.as_nanos().div_ceil(step_ns)).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(floor: u64, apart: u64, step: u64) -> StoreFacts {
        StoreFacts {
            early_slack: Duration::from_millis(1),
            ttl_floor: (floor > 0).then(|| Duration::from_millis(floor)),
            ttl_ceiling: Some(Duration::from_secs(60)),
            renewals_apart: Duration::from_millis(apart),
            ttl_step: Duration::from_millis(step),
            ..StoreFacts::of("store")
        }
    }

    #[test]
    fn plans_fit_ok() {
        // Floor, apart, step, whether the plan was chosen; TTL, heartbeat, worst pause; what is said.
        for (floor, apart, step, chosen, ttl, heartbeat, pause, says) in [
            (0, 0, 0, false, 3000, 1000, 1500, None),
            (2000, 0, 1000, true, 3000, 1000, 1500, None),
            (0, 1000, 1000, false, 4000, 1300, 1950, Some("scaled to a TTL of 4s")),
            (
                0,
                1000,
                1000,
                true,
                3000,
                1000,
                1500,
                Some("are sharper with a heartbeat of 1.3s"),
            ),
            (9000, 1000, 1000, false, 9000, 3000, 4500, Some("no TTL below 9s")),
        ] {
            let fitted = fit(Budget::standard(), chosen, &facts(floor, apart, step)).expect("it fits");
            let budget = fitted.budget;
            let seen = [budget.ttl, budget.heartbeat, budget.worst_pause].map(|it| it.as_millis());
            assert_eq!(seen, [ttl, heartbeat, pause]);
            assert_eq!(budget.early_slack, Duration::from_millis(1));
            match (says, &fitted.says) {
                (None, None) => {}
                (Some(part), Some(text)) => assert!(text.contains(part), "{text}"),
                (wanted, got) => panic!("{wanted:?}, {got:?}"),
            }
        }
    }

    #[test]
    fn plans_fit_bad() {
        let budget = Budget {
            ttl: Duration::from_secs(90),
            ..Budget::standard()
        };
        let says = fit(budget, true, &facts(0, 0, 0)).expect_err("above the ceiling");
        assert!(says.contains("no TTL above 60s"), "{says}");
        let tight = Budget {
            worst_pause: Duration::from_millis(1750),
            ..Budget::standard()
        };
        assert!(fit(tight, true, &facts(0, 0, 0)).is_err());
    }
}
