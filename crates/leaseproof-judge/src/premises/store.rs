//! Premises about the store's own server.

use super::pause;
use super::scene::{Scene, Seen};
use crate::timeline::{Fault, clock_stepped};
use leaseproof_model::event::FaultKind;

/// The fault that met the store in this cycle.
fn fault<'t, 'h>(scene: &Scene<'_, 't, 'h>) -> Option<&'t Fault<'h>> {
    scene.faults.iter().copied().rfind(|fault| fault.meets_store())
}

/// It stood still, or was dead.
pub(super) fn store_down(scene: &Scene<'_, '_, '_>) -> Seen {
    match fault(scene) {
        None => Seen::unknown("no fault of the store is on record: run the scenario again", []),
        Some(fault) if matches!(fault.kind, FaultKind::PauseStore | FaultKind::PauseLeader) => {
            pause::stood_still(fault)
        }
        Some(fault) => match fault.confirmed {
            Some((event, _)) => Seen::yes("the store's server was dead, by the kernel's word", [event.id]),
            None => Seen::unknown(
                "that the store's server died is not on record: run the scenario again",
                [],
            ),
        },
    }
}

/// The member that led, by its own word, stood still, by the kernel's.
pub(super) fn leader_stopped(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some(fault) = scene.fault(FaultKind::PauseLeader) else {
        return Seen::unknown(
            "no fault of the store's leader is on record: run the scenario again",
            [],
        );
    };
    match fault.failover {
        Some(failover) => {
            let mut seen = pause::stood_still(fault);
            seen.evidence.push(failover.led.id);
            seen
        }
        None => Seen::unknown(
            "that the member which stopped led the store is not on record: run the scenario again",
            fault.events().map(|event| event.id),
        ),
    }
}

/// Meanwhile another led, by its own word.
pub(super) fn another_leads(scene: &Scene<'_, '_, '_>) -> Seen {
    let fault = scene.fault(FaultKind::PauseLeader);
    let failover = fault.and_then(|fault| fault.failover);
    match failover.and_then(|failover| Some((failover.led, failover.leads?))) {
        Some((led, leads)) => Seen::yes(
            "another member led, by its own word, while the first stood still",
            [led.id, leads.id],
        ),
        None => Seen::unknown(
            "no other member said that it leads while the first stood still: look at the servers' logs with --keep",
            failover.map(|failover| failover.led.id),
        ),
    }
}

/// It answered again, as a reading after the fault shows.
pub(super) fn store_back(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some((undone, _)) = fault(scene).and_then(|fault| fault.undone) else {
        return Seen::unknown(
            "the store's server did not go on, by the record: run the scenario again",
            [],
        );
    };
    let readings = &scene.timeline.readings;
    let after = readings.partition_point(|(event, _)| event.at.earliest < undone.at.earliest);
    match readings.get(after) {
        Some((event, _)) => Seen::yes("the store answered again", [undone.id, event.id]),
        None => Seen::unknown(
            "the store did not answer after it went on: look at its log",
            [undone.id],
        ),
    }
}

/// Its clock moved against ours, by its own word.
pub(super) fn store_stepped(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some((step, _)) = scene.fault(FaultKind::StepStoreClock).and_then(|fault| fault.confirmed) else {
        return Seen::unknown("no step of the store's clock is on record: run the scenario again", []);
    };
    let readings = &scene.timeline.readings;
    let from = readings.partition_point(|(event, _)| event.at.latest < step.at.earliest);
    let pairs = readings[from.saturating_sub(1)..].windows(2);
    let mut in_cycle = pairs.take_while(|pair| pair[0].0.at.earliest <= scene.over());
    match in_cycle.find(|pair| clock_stepped(pair[0], pair[1])) {
        Some(pair) => Seen::yes(
            "the store's clock stepped, by its own word",
            [step.id, pair[0].0.id, pair[1].0.id],
        ),
        None => Seen::unknown(
            "no reading shows that the store's clock stepped: its server may read its clock without libc",
            [step.id],
        ),
    }
}
