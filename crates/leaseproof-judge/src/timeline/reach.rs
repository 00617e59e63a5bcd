//! How long after *due* an act may still straddle, by time alone: one that was checked before and sent
//! late, by an owner that ran meanwhile.

use super::{Cycle, Owner};
use leaseproof_model::budget::Budget;
use leaseproof_model::event::What;
use leaseproof_model::moment::Moment;
use leaseproof_model::truth::Truth;
use std::collections::BTreeMap;
use std::time::Duration;

/// One heartbeat of running time. Where the rig itself was late the machine was busy, and the owner may
/// have waited for it as long: a fault of ours shows when a process did not run, a crowded run queue doesn't.
pub(crate) struct Reach {
    heartbeat: Duration,
    late: BTreeMap<u32, Duration>,
}

impl Reach {
    pub(crate) fn new(budget: &Budget, cycles: &[Cycle<'_>]) -> Self {
        let late = cycles.iter().filter_map(|cycle| match &cycle.rig_late?.what {
            What::RigLate { by, .. } => Some((cycle.number, *by)),
            _ => None,
        });
        Self {
            heartbeat: budget.heartbeat,
            late: late.collect(),
        }
    }

    /// Whether the rig itself was late in this cycle.
    pub(crate) fn rig_was_late(&self, cycle: u32) -> bool {
        self.late.contains_key(&cycle)
    }

    fn of(&self, cycle: u32) -> Duration {
        self.heartbeat + self.late.get(&cycle).copied().unwrap_or_default()
    }

    /// Whether an act at `at` is known not to straddle `due`, by time alone: it came more than the reach
    /// of running time after *due*, and after the last thaw.
    pub(crate) fn exceeded(&self, owner: &Owner<'_>, due: Moment, at: Moment, cycle: u32) -> Truth {
        let reach = self.of(cycle);
        let thaw = owner.thaw_before(at.latest);
        let sure = due.latest < at.earliest
            && owner.ran_at_least(due.latest, at.earliest) > reach
            && thaw.is_none_or(|thaw| thaw.latest < at.earliest && at.earliest.since(thaw.latest) > reach);
        if sure {
            return Truth::Yes;
        }
        let possible = owner.ran_at_most(due.earliest, at.latest) > reach
            && owner
                .thaw_before(at.earliest)
                .is_none_or(|thaw| at.latest.since(thaw.earliest) > reach);
        if possible { Truth::CannotTell } else { Truth::No }
    }
}
