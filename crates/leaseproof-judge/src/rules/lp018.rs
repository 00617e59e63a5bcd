//! A clock stepped that should not: the store's, or the wall clock of this host. (The steps that the lab gives an
//! owner are LP009's.)

use super::{Facts, evidence};
use crate::timeline::{Grant, clock_stepped};
use crate::words::ms;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP018;
use leaseproof_model::truth::Truth;
use std::collections::BTreeSet;
use std::time::Duration;

/// A wall clock that is slewed moves less than this between two events.
const STEP: Duration = Duration::from_millis(50);

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut found = Vec::new();
    let mut cycles = BTreeSet::new();
    let pairs = timeline.readings.windows(2);
    for pair in pairs.filter(|pair| clock_stepped(pair[0], pair[1])) {
        let cycle = pair[1].0.cycle;
        // Once a cycle: a clock that was set back and forth in one is one thing to know.
        if cycles.insert(cycle) {
            let says = "the store's clock stepped against this host's between two readings".to_owned();
            let ids = evidence([pair[0].0.id, pair[1].0.id]);
            found.push(Finding::new(&LP018, Subject::Store, Truth::Yes, cycle, says, ids));
        }
    }
    let over = |grant: &'_ Grant<'_>| Some((grant.long_over?, grant.first.id, timeline.label(grant)));
    let mut cycles = BTreeSet::new();
    for (moved, first, label) in timeline.grants.iter().filter_map(over) {
        let cycle = timeline.cycle_at(moved.to.at);
        if !cycles.insert(cycle) {
            continue;
        }
        let says = format!(
            "the store shows {label} as over for {} at least, and it lives: the clock that shows it stepped back; that is no expiry",
            ms(moved.to.at.latest.since(moved.to.expires.latest))
        );
        let ids = evidence([first, moved.to.event]);
        found.push(Finding::new(&LP018, Subject::Store, Truth::Yes, cycle, says, ids));
    }
    let bound = i128::try_from(STEP.max(timeline.ask.budget.max_clock_drift).as_nanos()).unwrap_or(i128::MAX);
    let stamps: Vec<_> = timeline
        .history
        .events
        .iter()
        .filter_map(|event| Some((event, event.stamp?)))
        .map(|(event, stamp)| (event, i128::from(stamp.wall.0) - i128::from(stamp.boot.0)))
        .collect();
    let apart = |a: i128, b: i128| (a - b).abs() > bound;
    // A reader that was put aside between the two clocks sees a step that the next stamp doesn't.
    let stepped = |at: usize| {
        let (before, now) = (stamps[at - 1].1, stamps[at].1);
        let settled = at < 2 || !apart(stamps[at - 2].1, before);
        let stayed = stamps.get(at + 1).is_none_or(|(_, next)| !apart(now, *next));
        apart(before, now) && settled && stayed
    };
    let mut cycles = BTreeSet::new();
    for at in (1..stamps.len()).filter(|at| stepped(*at)) {
        let (event, _) = stamps[at];
        if !cycles.insert(event.cycle) {
            continue;
        }
        let says = "the wall clock of this host stepped during the run".to_owned();
        let ids = vec![event.id];
        found.push(Finding::new(&LP018, Subject::Rig, Truth::Yes, event.cycle, says, ids));
    }
    found
}
