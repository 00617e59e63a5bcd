//! Premises about the network between the target and the store.

use super::scene::{Scene, Seen};
use leaseproof_model::event::{Event, FaultKind, OwnerEvent, Wire, WireSeen};

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

/// An answer was held back when the pause began, and delivered before it ended; its owner had not given it up.
pub(super) fn answer_unread(scene: &Scene<'_, '_, '_>) -> Seen {
    let pause = scene.pause.and_then(|pause| Some((pause.began()?, pause.ended()?)));
    let (Some((began, thaw)), Some(held)) = (pause, scene.fault(FaultKind::DelayAnswers).and_then(|it| it.began()))
    else {
        return Seen::unknown(
            "the pause, or what was held back before it, is not on record: run the scenario again",
            [],
        );
    };
    let seen = |kind: WireSeen| wires(scene).filter(move |(_, wire)| wire.seen == kind);
    let Some((answer, wire)) = seen(WireSeen::AnswerSwallowed)
        .find(|(event, _)| held.earliest <= event.at.latest && event.at.latest <= began.latest)
    else {
        return Seen::unknown(
            "no answer was on its way as the pause began: let the owner use $LEASEPROOF_STORE, and renew within the TTL",
            [],
        );
    };
    let Some((delivered, _)) = seen(WireSeen::Delivered).find(|(event, it)| {
        it.connection == wire.connection && answer.seq < event.seq && event.at.latest <= thaw.earliest
    }) else {
        return Seen::unknown(
            "the answer did not wait for the owner when the pause ended: run the scenario again",
            [answer.id],
        );
    };
    // A request that timed out before the pause has no answer any more.
    let gave_up = scene.owner().and_then(|owner| {
        let said = owner.said_since(held.earliest).iter();
        said.take_while(|saying| saying.at.earliest < began.earliest)
            .find(|saying| saying.is(OwnerEvent::RenewFailed))
    });
    match gave_up {
        Some(saying) => Seen::unknown(
            "the owner had given the answer up before the pause began: let it wait longer for one",
            [answer.id, saying.event.id],
        ),
        None => Seen::yes(
            "an answer was on its way as the pause began, and waited as it ended",
            [answer.id, delivered.id],
        ),
    }
}
