//! The store went on from another state: another member led, or its process was started anew. What it had
//! granted right before, and shows in no look, may be lost with that, where the store may lose what it granted.

use super::Fault;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, EventId, FaultKind, Reading};
use std::time::Duration;

/// One such change: it happened in this span.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Switch {
    pub(crate) from: BootNanos,
    pub(crate) until: BootNanos,
    /// What shows it.
    pub(crate) event: EventId,
    /// Whether all that had been granted is there after it: then a look that was taken after it tells.
    pub(crate) keeps: bool,
}

impl Switch {
    /// All of them: by the store's own word (its epoch), and by the faults that make one. `keeps` is the store's
    /// word that it loses nothing of what it granted by a change of its leader or a restart on its data.
    pub(crate) fn all(readings: &[(&Event, &Reading)], faults: &[Fault<'_>], keeps: bool) -> Vec<Self> {
        let by_epoch = readings.windows(2).filter_map(|pair| {
            let ((before, old), (after, new)) = (pair[0], pair[1]);
            (old.epoch.is_some() && new.epoch.is_some() && old.epoch != new.epoch).then_some(Self {
                from: before.at.earliest,
                until: after.at.latest,
                event: after.id,
                keeps,
            })
        });
        // A leader that goes on answers what came while it stood still before it learns that another leads: where the
        // store keeps what it granted, nobody is granted anything by that.
        let by_fault = faults.iter().filter_map(|fault| {
            let switches = match fault.kind {
                FaultKind::PauseLeader => !keeps && fault.failover.is_some_and(|it| it.leads.is_some()),
                kind => matches!(kind, FaultKind::RestartStore | FaultKind::EmptyStore),
            };
            let (confirmed, _) = fault.confirmed.filter(|_| switches)?;
            Some(Self {
                from: confirmed.at.earliest,
                until: fault.ended().map_or(confirmed.at, |ended| ended).latest,
                event: confirmed.id,
                // Whose data was taken away keeps nothing.
                keeps: keeps && fault.kind != FaultKind::EmptyStore,
            })
        });
        by_epoch.chain(by_fault).collect()
    }

    /// Whether it may have fallen between two moments.
    pub(crate) fn falls_into(&self, from: BootNanos, until: BootNanos) -> bool {
        self.from <= until && from <= self.until
    }

    /// Whether a lease of `ttl` that was granted before it, and was lost or hidden by it, may still have stood at `at`.
    pub(crate) fn hides(&self, at: BootNanos, ttl: Duration) -> bool {
        at <= self.until.plus(if self.keeps { Duration::ZERO } else { ttl })
    }
}
