//! Processes, and what is done to them.

use super::{Ms, Story, about};
use leaseproof_model::event::{FaultEvent, FaultKind, FaultPhase, Source, What};
use leaseproof_model::name::ProcessId;

impl Story {
    pub fn started(&mut self, ms: Ms, owner: &str) -> &mut Self {
        let slot = owner[..1].to_owned();
        let process = ProcessId {
            pid: 100 + ms as u32,
            start_ticks: 7,
        };
        let restart = !owner.ends_with('1');
        self.push(
            Source::Process,
            Some(owner),
            about(ms),
            What::Started { process, slot, restart },
        )
    }

    pub fn ended(&mut self, ms: Ms, owner: &str, by_lab: bool) -> &mut Self {
        let what = What::Ended {
            status: (!by_lab).then_some(0),
            signal: by_lab.then_some(9),
            by_lab,
        };
        self.push(Source::Process, Some(owner), about(ms), what)
    }

    pub fn fault(&mut self, owner: &str, kind: FaultKind, phases: &[(FaultPhase, Ms)]) -> &mut Self {
        self.fault_of(Some(owner), kind, phases)
    }

    /// A fault that meets the store's server, and so nobody.
    pub fn store_fault(&mut self, kind: FaultKind, from: Ms, until: Ms) -> &mut Self {
        use FaultPhase as P;
        let phases = [(P::Asked, from - 1.0), (P::Confirmed, from), (P::Undone, until)];
        self.fault_of(None, kind, &phases)
    }

    fn fault_of(&mut self, owner: Option<&str>, kind: FaultKind, phases: &[(FaultPhase, Ms)]) -> &mut Self {
        self.fault += 1;
        for (phase, ms) in phases {
            let pauses = matches!(
                kind,
                FaultKind::PauseTree
                    | FaultKind::PauseParent
                    | FaultKind::PauseChild
                    | FaultKind::PauseStore
                    | FaultKind::PauseLeader
            );
            let undone = *phase == FaultPhase::Undone;
            let event = FaultEvent {
                fault: self.fault,
                kind,
                phase: *phase,
                method: if pauses { "sigstop" } else { "lab" }.to_owned(),
                processes: Vec::new(),
                threads: (pauses && *phase == FaultPhase::Confirmed).then_some((3, 3)),
                cpu_flat: (pauses && undone).then_some(true),
                looks_agree: (pauses && undone).then_some(true),
                kernel_witness: None,
                note: None,
            };
            self.push(Source::Fault, owner, about(*ms), What::Fault(event));
        }
        self
    }

    pub fn paused(&mut self, owner: &str, kind: FaultKind, from: Ms, until: Ms) -> &mut Self {
        use FaultPhase as P;
        self.fault(
            owner,
            kind,
            &[
                (P::Asked, from - 1.0),
                (P::Confirmed, from),
                (P::Due, until - 0.4),
                (P::Undone, until),
            ],
        )
    }
}
