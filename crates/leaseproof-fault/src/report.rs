//! How the phases of a fault become events.

use crate::warden::Warden;
use leaseproof_model::event::{FaultEvent, FaultKind, FaultPhase};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::ProcessId;
use std::fmt;
use std::sync::Arc;

/// Where the phases of faults go. It is called from the thread that applies or undoes the fault,
/// within its precision, so it must not block.
#[derive(Clone)]
pub struct FaultSink(Arc<dyn Fn(Moment, FaultEvent) + Send + Sync>);

impl FaultSink {
    /// A sink that calls `take` for each phase.
    pub fn new(take: impl Fn(Moment, FaultEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// A sink that drops everything.
    #[must_use]
    pub fn none() -> Self {
        Self::new(|_, _| {})
    }

    pub(crate) fn emit(&self, at: Moment, event: FaultEvent) {
        (self.0)(at, event);
    }
}

impl fmt::Debug for FaultSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultSink")
    }
}

/// One fault's identity, and what is known of it so far: each phase repeats it.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    sink: FaultSink,
    event: FaultEvent,
}

impl Report {
    pub(crate) fn new(sink: &FaultSink, fault: u64, kind: FaultKind, method: &str) -> Self {
        Self {
            sink: sink.clone(),
            event: FaultEvent {
                fault,
                kind,
                phase: FaultPhase::Asked,
                method: method.to_owned(),
                processes: Vec::new(),
                threads: None,
                cpu_flat: None,
                looks_agree: None,
                kernel_witness: None,
                note: None,
            },
        }
    }

    pub(crate) fn known(&mut self) -> &mut FaultEvent {
        &mut self.event
    }

    pub(crate) fn processes(&mut self, processes: &[ProcessId]) {
        self.event.processes = processes.to_vec();
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        self.event.note = Some(match self.event.note.take() {
            Some(before) => format!("{before}; {note}"),
            None => note,
        });
    }

    /// Tells the warden that the fault is undone, and notes its answer: the moment at which it had undone it
    /// before, if it had. `what` is undone also where it doesn't answer.
    pub(crate) fn clear(&mut self, warden: &Warden, what: &str) -> Option<Moment> {
        let fired = match warden.clear(self.event.fault) {
            Ok(fired) => fired,
            Err(error) => {
                self.note(format!("{error}; the {what} is undone"));
                None
            }
        };
        if fired.is_some() {
            self.note("the warden ended it");
        }
        fired
    }

    pub(crate) fn emit(&mut self, phase: FaultPhase, at: Moment) {
        self.event.phase = phase;
        self.sink.emit(at, self.event.clone());
    }
}
