//! Premises about the network between the target and the store.

use super::scene::{Scene, Seen};
use leaseproof_model::event::{Event, FaultKind, Wire, WireSeen};

/// What the target's relay saw since the fault was asked for, in this cycle.
fn wires<'t, 'h>(scene: &Scene<'_, 't, 'h>) -> impl Iterator<Item = (&'h Event, &'h Wire)> + 't {
    let cycle = scene.cycle.number;
    let all = scene.owner().map_or(&[][..], |owner| owner.wires.as_slice());
    let from = all.partition_point(|(event, _)| event.cycle < cycle);
    all[from..]
        .iter()
        .copied()
        .take_while(move |(event, _)| event.cycle <= cycle)
}

pub(super) fn swallowed(scene: &Scene<'_, '_, '_>) -> Seen {
    match wires(scene).find(|(_, wire)| wire.seen == WireSeen::RequestSwallowed) {
        Some((event, _)) => Seen::yes("at least one request was swallowed", [event.id]),
        None => Seen::unknown(
            "no request was swallowed, the owner sent nothing while the network was cut: let it use $LEASEPROOF_STORE, and renew within the TTL",
            [],
        ),
    }
}

pub(super) fn healed(scene: &Scene<'_, '_, '_>) -> Seen {
    match scene.fault(FaultKind::Blackhole).and_then(|fault| fault.undone) {
        Some((event, _)) => Seen::yes("the relay passes bytes again", [event.id]),
        None => Seen::unknown("the network was not healed on record: run the scenario again", []),
    }
}

pub(super) fn was_reset(scene: &Scene<'_, '_, '_>) -> Seen {
    match wires(scene).find(|(_, wire)| wire.seen == WireSeen::Reset) {
        Some((event, _)) => Seen::yes("at least one connection was reset", [event.id]),
        None => Seen::unknown(
            "no connection was open to be reset: let the owner use $LEASEPROOF_STORE; one that keeps no connection can't be tested so",
            [],
        ),
    }
}

/// At least one request was swallowed after the silent drop.
pub(super) fn dropped_silently(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some((dropped, _)) = wires(scene).find(|(_, wire)| wire.seen == WireSeen::Forgotten) else {
        return Seen::unknown(
            "no connection was there to be forgotten: let the owner use $LEASEPROOF_STORE; one that keeps none can't be tested so",
            [],
        );
    };
    let after = wires(scene).find(|(event, wire)| wire.seen == WireSeen::RequestSwallowed && dropped.seq < event.seq);
    match after {
        Some((event, _)) => Seen::yes("a request was swallowed after the silent drop", [dropped.id, event.id]),
        None => Seen::unknown(
            "nothing was sent on the forgotten connection, so that nothing could be missed: let the owner renew on a connection that it keeps",
            [dropped.id],
        ),
    }
}
