//! Premises about the store's grants.

use super::scene::{Scene, Seen};
use crate::timeline::{By, EndKind};
use crate::words::ms;
use leaseproof_model::event::{Deed, EventId, FaultKind, Outcome};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::ExpiryProof;
use leaseproof_model::truth::Truth;

const NO_GRANT: &str =
    "no grant of the target is known at the fault: let it print `acquired`, or use $LEASEPROOF_OWNER in its holder";

const SAME_VALUE: &str = "both owners write the same value under the key, so that the store can't show which of them \
     holds it: give each start a value of its own ($LEASEPROOF_OWNER, or a random one)";

/// Adds to a remedy where all owners' grants have one value.
fn or_one_value(scene: &Scene<'_, '_, '_>, says: &str) -> String {
    let timeline = scene.timeline;
    let mut holders = timeline.grants.iter().filter(|it| it.by != By::Lab).map(|it| it.holder);
    match (holders.next(), holders.next()) {
        (Some(one), Some(next)) if one == next && holders.all(|it| it == one) && timeline.owners.len() > 1 => {
            format!(
                "{says}; each grant has the same value under the key: if both owners write it, give each start a value of its own"
            )
        }
        _ => says.to_owned(),
    }
}

/// The grant expired before the fault ended, as the adapter defines and can prove it.
pub(super) fn expired(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some(grant) = scene.grant() else {
        return Seen::unknown(NO_GRANT, []);
    };
    let Some(end) = grant.end else {
        return Seen::unknown(
            "the lease was not seen to expire: look for another part of the owner, or another program, that renews it",
            [grant.first.id],
        );
    };
    if end.kind != EndKind::Expired {
        return Seen::no(
            "the lease ended otherwise than by its expiry: keep others from releasing or deleting it during the fault",
            [grant.first.id, end.event],
        );
    }
    if end.at.latest > scene.until() {
        return Seen::no(
            "the lease expired only after the fault had ended: look whether the store grants more than the plan's TTL",
            [grant.first.id, end.event],
        );
    }
    let facts = &scene.timeline.ask.store;
    let taken = scene.successor().map(|next| &scene.timeline.grants[next]);
    let proof = match facts.expiry_proof {
        ExpiryProof::SeenGone => Some(end.event),
        // Whoever was granted next held the write lock after the expiry.
        ExpiryProof::WriteLockAfterExpiry => grant.write_lock_after.or(taken
            .filter(|next| end.at.before(next.begin) == Truth::Yes)
            .map(|next| next.first.id)),
    };
    match proof {
        Some(proof) => Seen::yes(
            "the lease expired, by the store's word",
            [grant.first.id, end.event, proof],
        ),
        None => Seen::unknown(
            format!(
                "the expiry is not proven ({}): run the scenario again",
                facts.expired_means
            ),
            [grant.first.id, end.event],
        ),
    }
}

/// Another holder has it before the fault ended.
pub(super) fn taken_over(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some(grant) = scene.grant() else {
        return Seen::unknown(or_one_value(scene, NO_GRANT), []);
    };
    if let Some(next) = scene.successor_of_same_value() {
        return Seen::unknown(SAME_VALUE, [grant.first.id, next.first.id]);
    }
    let Some(next) = scene.successor().map(|next| &scene.timeline.grants[next]) else {
        let says = "no other holder took the lease over: see in its output that the contender lives, wants the same \
                    key, and stores another value than the first";
        return Seen::unknown(or_one_value(scene, says), [grant.first.id]);
    };
    if next.begin.latest <= scene.until() {
        Seen::yes(format!("{} took over", scene.timeline.holder(next)), [next.first.id])
    } else {
        Seen::no(
            "another took the lease over only after the fault had ended: let the contender ask more often",
            [next.first.id],
        )
    }
}

/// No other grant between the expiry and the thaw, inside coverage.
pub(super) fn no_other_grant(scene: &Scene<'_, '_, '_>) -> Seen {
    let timeline = scene.timeline;
    let (Some(grant), Some(held)) = (scene.grant(), scene.held) else {
        return Seen::unknown(NO_GRANT, []);
    };
    let thaw = scene.until();
    if let Some(next) = timeline.grants.get(held + 1).filter(|next| next.begin.latest < thaw) {
        let surely = scene
            .pause
            .and_then(|pause| pause.ended())
            .is_none_or(|it| next.begin.latest < it.earliest);
        let ids = [grant.first.id, next.first.id];
        return match surely {
            true => Seen::no(
                format!(
                    "{} was granted the lease meanwhile: let nobody else want this key",
                    timeline.holder(next)
                ),
                ids,
            ),
            false => Seen::unknown(
                "another grant began about when the fault ended: run the scenario again",
                ids,
            ),
        };
    }
    let from = grant.lasts_until().map_or(grant.begin, |end| end);
    if timeline.store.covers(from.earliest.min(thaw), thaw) {
        Seen::yes("no other grant, and the store was watched throughout", [grant.first.id])
    } else {
        Seen::unknown(
            "the store was not watched throughout: run the scenario again",
            [grant.first.id],
        )
    }
}

fn lab_did(scene: &Scene<'_, '_, '_>, deed: Deed) -> Option<(Moment, EventId)> {
    let timeline = scene.timeline;
    let from = timeline
        .deeds
        .partition_point(|it| it.event.at.latest < scene.cycle.began.at.earliest);
    timeline.deeds[from..]
        .iter()
        .take_while(|it| it.event.cycle <= scene.cycle.number)
        .find(|it| it.event.cycle == scene.cycle.number && it.deed.deed == deed && it.deed.outcome == Outcome::Applied)
        .map(|it| (it.event.at, it.event.id))
}

/// The lab took the lease during the pause.
pub(super) fn taken(scene: &Scene<'_, '_, '_>) -> Seen {
    let by_deed = lab_did(scene, Deed::Acquired).or_else(|| lab_did(scene, Deed::Stole));
    let by_reading = scene.lab_grant().map(|grant| (grant.begin, grant.first.id));
    match by_deed.or(by_reading) {
        Some((at, id)) if at.latest <= scene.until() => Seen::yes("the lab took the lease during the pause", [id]),
        Some((_, id)) => Seen::no(
            "the lab took the lease only after the pause: run the scenario again",
            [id],
        ),
        None => Seen::unknown("the lab did not get the lease: run the scenario again", []),
    }
}

/// The lab freed it again during the pause.
pub(super) fn free_again(scene: &Scene<'_, '_, '_>) -> Seen {
    let by_reading = || Some(scene.lab_grant()?.end?).map(|end| (end.at, end.event));
    match lab_did(scene, Deed::Released).or_else(by_reading) {
        Some((at, id)) if at.latest <= scene.until() => Seen::yes("the lab freed it during the pause", [id]),
        Some((_, id)) => Seen::no("the lab freed it only after the pause: run the scenario again", [id]),
        None => Seen::unknown("the lab did not free the lease: run the scenario again", []),
    }
}

/// After the thaw, and within the cycle, the key was freed by whoever held it.
pub(super) fn key_freed(scene: &Scene<'_, '_, '_>) -> Seen {
    let timeline = scene.timeline;
    let Some(thaw) = scene.pause.and_then(|pause| pause.ended()) else {
        return Seen::unknown("the thaw is not on record: run the scenario again", []);
    };
    let first = timeline.last_begun(thaw.earliest).unwrap_or(0);
    let freed = timeline.grants[first.min(timeline.grants.len())..]
        .iter()
        .filter(|grant| scene.target.map(By::Owner) != Some(grant.by))
        .find_map(|grant| grant.end.filter(|end| thaw.earliest < end.at.latest))
        .filter(|end| end.at.earliest <= scene.over());
    match freed {
        Some(end) => Seen::yes("the key was freed after the thaw", [end.event]),
        None => Seen::unknown("the key was not freed after the thaw: let the holder go", []),
    }
}

/// Seen gone, or another's, before its expiry.
pub(super) fn ended_early(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some(grant) = scene.grant() else {
        return Seen::unknown(NO_GRANT, []);
    };
    match grant.end {
        Some(end) if end.kind.is_early() => Seen::yes(
            "the lease was gone, or another's, before its expiry",
            [grant.first.id, end.event],
        ),
        Some(end) => Seen::no(
            "the lease ended at its expiry, or was released, before the fault met it: let the owner hold it longer",
            [end.event],
        ),
        None => Seen::unknown(
            "the lease was not seen to end: look whether the owner's key is the one of the plan",
            [grant.first.id],
        ),
    }
}

/// SIGTERM was delivered while the owner held the lease.
pub(super) fn term_while_held(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some(fault) = scene
        .fault(FaultKind::Terminate)
        .filter(|fault| fault.confirmed.is_some())
    else {
        return Seen::unknown("no SIGTERM is on record: run the scenario again", []);
    };
    let Some(grant) = scene.grant() else {
        return Seen::unknown(NO_GRANT, []);
    };
    let (Some(asked), Some(delivered)) = (fault.earliest(), fault.began()) else {
        return Seen::unknown("the moment of the SIGTERM is not known: run the scenario again", []);
    };
    // The release may follow the signal within microseconds: that it was held when it was sent counts.
    let held = grant.begin.latest <= asked && grant.lasts_until().is_none_or(|end| asked <= end.latest);
    let ids = fault.events().map(|event| event.id).chain([grant.first.id]);
    if held && delivered.latest >= asked {
        Seen::yes("SIGTERM was delivered while it held the lease", ids)
    } else {
        Seen::unknown(
            "whether it held the lease when SIGTERM came is not known: run the scenario again",
            ids,
        )
    }
}

/// The key is free.
pub(super) fn key_free(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some(grant) = scene.grant() else {
        return Seen::unknown(NO_GRANT, []);
    };
    match (grant.end, scene.start) {
        // Another stood in its place, and nobody saw it free in between.
        (Some(end), Some(_)) if end.kind == EndKind::Overwritten => Seen::unknown(
            "another holder overwrote the lease before it was free: let no owner take a key that is held",
            [grant.first.id, end.event],
        ),
        (Some(end), Some(start)) => {
            let after = end.at.latest.since(start.earliest);
            Seen::yes(
                format!("the key was free {} after the request", ms(after)),
                [grant.first.id, end.event],
            )
        }
        _ => Seen::unknown(
            "the key was not seen free: let the owner release it when it is asked to end",
            [grant.first.id],
        ),
    }
}

/// The lab held the lease throughout, and freed it itself.
pub(super) fn lab_held_throughout(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some(grant) = scene.lab_grant() else {
        return Seen::unknown("the lab did not get the lease: run the scenario again", []);
    };
    match grant.end {
        None => Seen::yes("the lab held the lease throughout", [grant.first.id]),
        Some(end) if end.kind == EndKind::Released => Seen::yes(
            "the lab held the lease until it freed it itself",
            [grant.first.id, end.event],
        ),
        Some(end) if end.kind == EndKind::Expired && scene.over() <= end.at.earliest => Seen::yes(
            "the lab held the lease throughout the cycle",
            [grant.first.id, end.event],
        ),
        Some(end) => Seen::no(
            "the lab's lease did not stand until it freed it: look for what deletes or overwrites the key",
            [grant.first.id, end.event],
        ),
    }
}

/// The lease went on under its holder until the fault ended.
pub(super) fn lease_kept(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some(grant) = scene.grant() else {
        return Seen::unknown(NO_GRANT, []);
    };
    let until = scene.until();
    let last = grant.extensions.last().map(|change| change.event);
    match grant.end {
        Some(end) if end.at.latest < until => Seen::no(
            "the lease ended while a part of its owner was stopped: let the part that still runs renew it",
            [grant.first.id, end.event],
        ),
        _ if grant.lasts_until().is_none_or(|end| until <= end.earliest) => Seen::yes(
            "the lease went on under its holder",
            [Some(grant.first.id), last].into_iter().flatten(),
        ),
        _ => Seen::unknown(
            "whether the lease went on is not known: run the scenario again",
            [grant.first.id],
        ),
    }
}
