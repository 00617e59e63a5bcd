//! The smallest change that passes. The heartbeat first; the TTL last, and with what it costs.

use crate::report::{Change, ms};
use crate::subject::{Knob, Subject};
use leaseproof_model::budget::{Budget, above, below};
use std::time::Duration;

/// What a longer TTL costs.
const COST: &str =
    "it widens by as much the time for which nobody works after a crash, and in which two owners can act";

/// Changes that make this budget hold, the smallest first; none where it holds.
pub(crate) fn changes(subject: &Subject, budget: &Budget) -> Vec<Change> {
    if budget.holds() {
        return Vec::new();
    }
    let knobs = &subject.knobs;
    // Two renewals of a plan must not overlap: the library refuses that. Other systems have rules of their own.
    let apart = subject.kind == "plan";
    let shorter = |knob: &Option<Knob>, now: Duration, fits: &dyn Fn(Duration) -> bool| {
        let knob = knob.as_ref()?;
        let rest = budget.reserved() - now + budget.worst_pause;
        let to = below(budget.ttl.checked_sub(rest)?, knob.step);
        (to >= knob.least && !to.is_zero() && fits(to)).then(|| change(knob, to, None))
    };
    // Where neither is enough alone: a quarter of the room for the renewal, the rest between two.
    let both = || {
        let (heartbeat, timeout) = (knobs.heartbeat.as_ref()?, knobs.renew_timeout.as_ref()?);
        let rest = budget.max_clock_drift + budget.early_slack + budget.worst_pause;
        let room = budget.ttl.checked_sub(rest)?;
        let to = below(room / 4, timeout.step).min(budget.renew_timeout);
        let between = below(room.checked_sub(to)?, heartbeat.step).min(budget.heartbeat);
        (to >= timeout.least && between >= heartbeat.least).then(|| Change {
            key: format!("{} and {}", heartbeat.key, timeout.key),
            to_ms: ms(between),
            write: format!("{} and {}", heartbeat.written(between), timeout.written(to)),
            cost: None,
        })
    };
    let pause = || {
        let room = below(budget.ttl.checked_sub(budget.reserved())?, Duration::from_millis(1));
        (!room.is_zero()).then(|| Change {
            key: "the pause itself".to_owned(),
            to_ms: ms(room),
            write: format!("a worst pause of {room:?} or less"),
            cost: None,
        })
    };
    let longer = || {
        let (knob, (part, of)) = knobs.ttl.as_ref()?;
        // What does not grow with the TTL must fit into the parts that are left of it.
        let fixed = (budget.reserved() + budget.worst_pause).saturating_sub(budget.ttl * *part / *of);
        let to = above(fixed * *of / (of - part), knob.step).max(knob.least);
        Some(change(knob, to, Some(COST.to_owned())))
    };
    let alone = [
        shorter(&knobs.heartbeat, budget.heartbeat, &|to| {
            !apart || to > budget.renew_timeout
        }),
        shorter(&knobs.renew_timeout, budget.renew_timeout, &|to| {
            !apart || to < budget.heartbeat
        }),
    ];
    let both = match alone {
        [None, None] => both(),
        _ => None,
    };
    let [heartbeat, timeout] = alone;
    [heartbeat, timeout, both, pause(), longer()]
        .into_iter()
        .flatten()
        .collect()
}

fn change(knob: &Knob, to: Duration, cost: Option<String>) -> Change {
    Change {
        key: knob.key.clone(),
        to_ms: ms(to),
        write: knob.written(to),
        cost,
    }
}

/// The first change as a sentence, and why where it is not the heartbeat.
pub(crate) fn advice(changes: &[Change], subject: &Subject) -> String {
    let Some(first) = changes.first() else {
        return String::new();
    };
    let is_heartbeat = subject
        .knobs
        .heartbeat
        .as_ref()
        .is_some_and(|knob| knob.key == first.key);
    let why = match (is_heartbeat, &subject.knobs.heartbeat) {
        (true, _) => String::new(),
        (false, Some(knob)) => format!(" (no {} alone would be short enough)", knob.key),
        (false, None) => String::new(),
    };
    match &first.cost {
        None => format!("the smallest change that passes: {}{why}", first.write),
        Some(cost) => format!("only a longer TTL passes: {} ({cost})", first.write),
    }
}
