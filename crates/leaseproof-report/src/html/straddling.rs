//! Which writes were on their way when the lease ended: for the picture only, the judge has its own.
//!
//! The judge counts them; here they are found again by its rule of thumb: the first two writes of a
//! connection after its owner's grant had ended, at most a heartbeat after the owner ran again, and
//! accused by no finding. Never are more marked than the judge has counted.

use crate::html::faults::faults_of;
use crate::html::grants::Grant;
use crate::moments::Record;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{EventId, What};
use leaseproof_model::verdict::ScenarioVerdict;
use std::collections::{BTreeMap, BTreeSet};

const OF_A_CONNECTION: u32 = 2;

pub(crate) fn straddling(
    scenario: &ScenarioVerdict,
    record: &Record<'_>,
    grants: &[Grant],
    accused: &dyn Fn(EventId) -> bool,
) -> BTreeSet<EventId> {
    let counted = scenario.measures.get("straddling_writes").copied().unwrap_or(0.0) as usize;
    let mut found = BTreeSet::new();
    if counted == 0 {
        return found;
    }
    let faults = faults_of(record);
    let heartbeat = record.history.ask.budget.heartbeat;
    let mut seen: BTreeMap<(String, u64, BootNanos), u32> = BTreeMap::new();
    for event in &record.history.events {
        let (What::Write(write), Some(owner)) = (&event.what, &event.owner) else {
            continue;
        };
        if write.replay || found.len() == counted {
            continue;
        }
        let own = || grants.iter().filter(|it| it.owner.as_deref() == Some(owner.as_str()));
        if own().any(|it| it.from.earliest <= event.at.latest && event.at.earliest <= it.until.earliest) {
            continue;
        }
        let Some(ended) = own()
            .map(|it| it.until.earliest)
            .filter(|it| *it < event.at.latest)
            .max()
        else {
            continue;
        };
        let ran_again = faults
            .iter()
            .filter(|it| it.owner.as_deref() == Some(owner.as_str()))
            .filter_map(|it| it.undone)
            .filter(|it| *it <= event.at.latest)
            .max()
            .map_or(ended, |it| it.max(ended));
        if event.at.latest > ran_again.plus(heartbeat) {
            continue;
        }
        let nth = seen
            .entry((owner.as_str().to_owned(), write.connection, ended))
            .or_default();
        *nth += 1;
        if *nth <= OF_A_CONNECTION && !accused(event.id) {
            found.insert(event.id);
        }
    }
    found
}
