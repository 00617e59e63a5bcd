//! Premises about the protected resource.

use super::scene::{Scene, Seen};
use leaseproof_model::event::{Event, What, Write};

/// The writes of this cycle.
fn writes<'t, 'h>(scene: &Scene<'_, 't, 'h>) -> impl DoubleEndedIterator<Item = (&'h Event, &'h Write)> + 't {
    let cycle = scene.cycle.number;
    let all = &scene.timeline.writes;
    let from = all.partition_point(|(event, _)| event.cycle < cycle);
    let until = all.partition_point(|(event, _)| event.cycle <= cycle).max(from);
    all[from..until].iter().copied()
}

/// The write in flight, held in this cycle.
fn held<'h>(scene: &Scene<'_, '_, 'h>) -> Option<&'h Event> {
    let name = scene.cycle.target;
    let all = &scene.timeline.held_writes;
    let from = all.partition_point(|event| event.cycle < scene.cycle.number);
    all[from..]
        .iter()
        .copied()
        .take_while(|event| event.cycle == scene.cycle.number)
        .find(|event| event.owner.as_ref() == Some(name))
}

pub(super) fn write_held(scene: &Scene<'_, '_, '_>) -> Seen {
    match held(scene) {
        Some(event) => Seen::yes("a write of the target was held in flight", [event.id]),
        None => Seen::unknown(
            "no write of the target was in flight at the fault: let it write more often",
            [],
        ),
    }
}

/// A successor's write was accepted since the fault, and before the target ran again.
pub(super) fn successor_wrote(scene: &Scene<'_, '_, '_>) -> Seen {
    let until = scene.until();
    let from = scene.start.map_or(scene.cycle.began.at, |start| start).earliest;
    let found = writes(scene).find(|(event, write)| {
        write.accepted
            && !write.replay
            && event.owner.as_ref().is_some_and(|owner| owner != scene.cycle.target)
            && from <= event.at.latest
            && event.at.earliest <= until
    });
    match found {
        Some((event, _)) => Seen::yes("a successor's write was accepted", [event.id]),
        None => Seen::unknown(
            "no write of a successor was accepted during the pause: let the contender write as soon as it holds the lease",
            [],
        ),
    }
}

/// The held write was placed in the resource's order.
pub(super) fn held_write_placed(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some(held) = held(scene) else {
        return Seen::unknown("no write was held: let the target write more often", []);
    };
    let placed = writes(scene)
        .find(|(event, write)| write.arrived.is_some() && event.owner.as_ref() == Some(scene.cycle.target));
    match placed {
        Some((event, write)) => {
            let what = if write.accepted { "accepted" } else { "rejected" };
            Seen::yes(format!("the held write was {what} in its place"), [held.id, event.id])
        }
        None => Seen::unknown(
            "the held write was never decided: let its client wait longer for an answer",
            [held.id],
        ),
    }
}

/// The target's read of this cycle whose answer was held back: its connection, and the value.
fn read<'h>(scene: &Scene<'_, '_, 'h>) -> Option<(&'h Event, u64, u64)> {
    scene.timeline.held_reads.iter().copied().find_map(|event| {
        let of_target = event.cycle == scene.cycle.number && event.owner.as_ref() == Some(scene.cycle.target);
        match event.what {
            What::ReadHeld { connection, value, .. } if of_target => Some((event, connection, value)),
            _ => None,
        }
    })
}

pub(super) fn read_held(scene: &Scene<'_, '_, '_>) -> Seen {
    match read(scene) {
        Some((event, ..)) => Seen::yes("a read of the target was answered after the pause only", [event.id]),
        None => Seen::unknown(
            "no read of the target was under way at the fault: let it read the value more often",
            [],
        ),
    }
}

/// What became of the value that was read before the pause: it was stored or refused, or its reader went on on the
/// same connection without it. A reader that gave up the connection may never have got it, and shows nothing.
pub(super) fn fill_settled(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some((held, connection, value)) = read(scene) else {
        return Seen::unknown("no read was held: let the target read the value more often", []);
    };
    let target = Some(scene.cycle.target);
    let after = |event: &Event| event.owner.as_ref() == target && event.id > held.id;
    let mut fills = scene.timeline.fills.iter().filter(|(event, _)| after(event));
    if let Some((event, fill)) = fills.clone().find(|(_, fill)| fill.value == value) {
        let what = if fill.accepted { "stored" } else { "refused" };
        return Seen::yes(
            format!("the value read before the pause was {what}"),
            [held.id, event.id],
        );
    }
    let went_on = fills
        .find(|(_, fill)| fill.connection == connection)
        .map(|(event, _)| event.id);
    let mut wrote = scene.timeline.writes.iter().filter(|(event, _)| after(event));
    let wrote = wrote
        .find(|(_, write)| write.connection == connection)
        .map(|(event, _)| event.id);
    match went_on.or(wrote) {
        Some(id) => Seen::yes(
            "the value read before the pause was dropped by its reader",
            [held.id, id],
        ),
        None => Seen::unknown(
            "the value read before the pause was never filled in: let its client wait longer for an answer, on a \
             connection that it keeps",
            [held.id],
        ),
    }
}

/// Every stale replay was rejected, before and after the witness was killed.
pub(super) fn replay_rejected(scene: &Scene<'_, '_, '_>) -> Seen {
    let restart = scene
        .timeline
        .witness_restarts
        .iter()
        .find(|event| event.cycle == scene.cycle.number);
    let mut ids = Vec::new();
    let (mut before, mut after) = (false, false);
    let mut greatest = None;
    for (event, write) in writes(scene) {
        // The lab's own first writes come the same way; stale is a replay with a lower token.
        let stale = write.replay && write.token < greatest;
        greatest = greatest.max(write.token);
        if !stale {
            continue;
        }
        ids.push(event.id);
        if write.accepted {
            return Seen::no(
                "a stale replay was accepted: this is a defect of the witness, report it",
                ids,
            );
        }
        match restart {
            Some(restart) if restart.at.latest <= event.at.earliest => after = true,
            _ => before = true,
        }
    }
    match (before, after, restart) {
        (true, true, _) => Seen::yes("every stale replay was rejected, also after a restart", ids),
        (_, _, None) => Seen::unknown(
            "the witness was not killed and started again: run the scenario again",
            ids,
        ),
        _ => Seen::unknown(
            "no stale replay was tried on both sides of the restart: run the scenario again",
            ids,
        ),
    }
}
