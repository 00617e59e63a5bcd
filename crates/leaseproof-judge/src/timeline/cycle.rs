//! A cycle: what the lab set out to do to whom, and what it said against itself.

use leaseproof_model::event::{Event, What};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::OwnerName;
use std::time::Duration;

/// One cycle.
#[derive(Clone, Debug)]
pub(crate) struct Cycle<'h> {
    pub(crate) number: u32,
    pub(crate) began: &'h Event,
    pub(crate) ended: Option<&'h Event>,
    pub(crate) target: &'h OwnerName,
    pub(crate) writer_frozen: Option<&'h Event>,
    /// Where the rig was late the most.
    pub(crate) rig_late: Option<&'h Event>,
    /// Ordinary threads were starved of the CPU meanwhile: a lease that was lost then is nobody's fault.
    pub(crate) starved: Option<&'h Event>,
}

impl<'h> Cycle<'h> {
    /// The cycles of a record, in order.
    pub(crate) fn all(events: &'h [Event]) -> Vec<Self> {
        let mut cycles: Vec<Self> = Vec::new();
        for event in events {
            match &event.what {
                What::CycleBegan { target, .. } => cycles.push(Self {
                    number: event.cycle,
                    began: event,
                    ended: None,
                    target,
                    writer_frozen: None,
                    rig_late: None,
                    starved: None,
                }),
                What::CycleEnded | What::WriterFrozen | What::RigLate { .. } | What::Starved { .. } => {
                    let Some(cycle) = cycles.iter_mut().rev().find(|cycle| cycle.number == event.cycle) else {
                        continue;
                    };
                    match &event.what {
                        What::CycleEnded => cycle.ended = Some(event),
                        What::WriterFrozen => cycle.writer_frozen = Some(event),
                        What::Starved { .. } => cycle.starved = Some(event),
                        _ if lateness(Some(event)) >= lateness(cycle.rig_late) => cycle.rig_late = Some(event),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        cycles
    }

    /// Why the lab drew it again, if it did: an explicit event of its own.
    pub(crate) fn redrawn(&self) -> Option<&'h Event> {
        self.writer_frozen.or(self.rig_late)
    }

    /// When its observation was over, as far as the record says.
    pub(crate) fn end(&self) -> Option<Moment> {
        self.ended.map(|event| event.at)
    }
}

/// By how much the rig was late.
fn lateness(event: Option<&Event>) -> Option<Duration> {
    match &event?.what {
        What::RigLate { by, .. } => Some(*by),
        _ => None,
    }
}
