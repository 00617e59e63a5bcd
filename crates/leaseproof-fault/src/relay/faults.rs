//! The relay's faults: held back, cut, forgotten.

use super::connection::Fate;
use super::gate::{Gate, Hold};
use super::{Relay, Shared};
use crate::FaultSink;
use crate::report::Report;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{FaultKind, FaultPhase, WireSeen};
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::boot_now;
use std::sync::Arc;

/// Bytes held back. Its end is [`Held::heal`], which delivers them; dropping it heals too.
#[must_use = "what is dropped no longer holds anything back"]
#[derive(Debug)]
pub struct Held {
    shared: Arc<Shared>,
    report: Report,
    fault: u64,
    confirmed: Moment,
    over: bool,
}

/// Connections that were cut or forgotten.
#[derive(Debug)]
pub struct Cut {
    report: Report,
    /// The fault's number.
    pub fault: u64,
    /// When it was done.
    pub confirmed: Moment,
    /// Which connections.
    pub connections: Vec<u64>,
}

impl Relay {
    /// Lets the bytes of both directions vanish, until they are delivered at the heal.
    pub fn blackhole(&self, fault: u64, sink: &FaultSink) -> Held {
        self.hold(fault, FaultKind::Blackhole, Hold::Both, sink)
    }

    /// Holds back what the owner sends; answers pass.
    pub fn delay_requests(&self, fault: u64, sink: &FaultSink) -> Held {
        self.hold(fault, FaultKind::DelayRequests, Hold::Requests, sink)
    }

    /// Holds back what the store answers; requests pass.
    pub fn delay_answers(&self, fault: u64, sink: &FaultSink) -> Held {
        self.hold(fault, FaultKind::DelayAnswers, Hold::Answers, sink)
    }

    /// Resets every connection, on both sides. New ones work.
    pub fn reset(&self, fault: u64, sink: &FaultSink) -> Cut {
        let mut report = Report::new(sink, fault, FaultKind::Reset, "relay");
        let before = boot_now();
        report.emit(FaultPhase::Asked, Moment::exact(before));
        let connections = self.decide(Fate::Reset);
        let all = self
            .shared
            .wait_until(|open| connections.iter().all(|number| !open.contains_key(number)));
        self.cut(fault, report, before, connections, all)
    }

    /// Forgets every connection in silence: no reset, no end, its bytes vanish for ever. New ones
    /// work.
    pub fn idle_drop(&self, fault: u64, sink: &FaultSink) -> Cut {
        let mut report = Report::new(sink, fault, FaultKind::IdleDrop, "relay");
        let before = boot_now();
        report.emit(FaultPhase::Asked, Moment::exact(before));
        let connections = self.decide(Fate::Forgotten);
        for &number in &connections {
            let at = Moment::between(before, boot_now());
            self.shared.emit(at, number, WireSeen::Forgotten, 0);
        }
        self.cut(fault, report, before, connections, true)
    }

    fn decide(&self, fate: Fate) -> Vec<u64> {
        let connections = self.shared.connections();
        let live = connections.iter().filter(|(_, it)| it.fate() == Fate::Live);
        live.map(|(number, connection)| {
            connection.decide(fate);
            *number
        })
        .collect()
    }

    fn cut(&self, fault: u64, mut report: Report, before: BootNanos, connections: Vec<u64>, carried_out: bool) -> Cut {
        let confirmed = Moment::between(before, boot_now());
        report.note(format!("connections={}", connections.len()));
        if carried_out {
            report.emit(FaultPhase::Confirmed, confirmed);
        } else {
            report.note("the relay's own tasks did not get their turn in time");
            report.emit(FaultPhase::Failed, confirmed);
        }
        Cut {
            report,
            fault,
            confirmed,
            connections,
        }
    }

    fn hold(&self, fault: u64, kind: FaultKind, hold: Hold, sink: &FaultSink) -> Held {
        let mut report = Report::new(sink, fault, kind, "relay");
        let before = boot_now();
        report.emit(FaultPhase::Asked, Moment::exact(before));
        // In force at once: a pump looks at the gate between its read and its write.
        self.shared.gate.send_modify(|gate| gate.hold(fault, hold));
        let confirmed = Moment::between(before, boot_now());
        report.emit(FaultPhase::Confirmed, confirmed);
        Held {
            shared: Arc::clone(&self.shared),
            report,
            fault,
            confirmed,
            over: false,
        }
    }
}

impl Held {
    /// The fault's number.
    #[must_use]
    pub fn fault(&self) -> u64 {
        self.fault
    }

    /// When it came into force.
    #[must_use]
    pub fn confirmed(&self) -> Moment {
        self.confirmed
    }

    /// Reports that it was due to end at `at`.
    pub fn due(&mut self, at: Moment) {
        self.report.emit(FaultPhase::Due, at);
    }

    /// Ends it and waits until what was held back is delivered. Returns from before it was released
    /// to after it was delivered.
    pub fn heal(mut self) -> Moment {
        self.end()
    }

    fn end(&mut self) -> Moment {
        self.over = true;
        let before = boot_now();
        self.shared.gate.send_modify(|gate: &mut Gate| gate.release(self.fault));
        let open = *self.shared.gate.borrow() == Gate::default();
        let delivered = !open
            || self
                .shared
                .wait_until(|connections| connections.values().all(|connection| connection.kept() == 0));
        let undone = Moment::between(before, boot_now());
        if !delivered {
            self.report.note("not all of what was held back is taken yet");
        }
        self.report.emit(FaultPhase::Undone, undone);
        undone
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.over {
            self.end();
        }
    }
}

impl Cut {
    /// Reports that the fault's time was over at `at`: a cut has no undoing, only an end.
    pub fn over(mut self, at: Moment) {
        self.report.emit(FaultPhase::Undone, at);
    }
}
