//! The premises: what must have happened for "proven" to mean anything. They gate *proven* and never
//! hide a violation.

mod clock;
mod exercised;
mod lease;
mod pause;
mod resource;
mod scene;
mod store;
mod wire;

pub(crate) use scene::{Scene, Stage};

use crate::Policy;
use leaseproof_model::scenario::PremiseName;
use leaseproof_model::verdict::Premise;
use scene::Seen;

/// The premises of one cycle that are asked for and in force.
pub(crate) fn premises(scene: &Scene<'_, '_, '_>, policy: &Policy) -> Vec<Premise> {
    scene
        .timeline
        .ask
        .premises
        .iter()
        .filter(|name| !policy.premises_off.contains(name.as_str()))
        .map(|name| {
            let seen = look(*name, scene);
            let cycle = scene.cycle.number;
            Premise {
                name: *name,
                cycle,
                holds: seen.holds,
                says: seen.says,
                evidence: seen.evidence,
            }
        })
        .collect()
}

fn look(name: PremiseName, scene: &Scene<'_, '_, '_>) -> Seen {
    match name {
        PremiseName::Exercised => exercised::exercised(scene),
        PremiseName::Frozen => pause::frozen(scene),
        PremiseName::Thawed => pause::thawed(scene),
        PremiseName::BelowMargin => pause::below_margin(scene),
        PremiseName::WaiterRan => pause::waiter_ran(scene),
        PremiseName::FrozenWhileOtherHeld => pause::frozen_while_other_held(scene),
        PremiseName::AnswerUnread => wire::answer_unread(scene),
        PremiseName::Dead => pause::dead(scene),
        PremiseName::OwnerRan => pause::owner_ran(scene),
        PremiseName::RigOnTime => pause::rig_on_time(scene),
        PremiseName::Expired => lease::expired(scene),
        PremiseName::TakenOver => lease::taken_over(scene),
        PremiseName::NoOtherGrant => lease::no_other_grant(scene),
        PremiseName::Taken => lease::taken(scene),
        PremiseName::FreeAgain => lease::free_again(scene),
        PremiseName::KeyFreed => lease::key_freed(scene),
        PremiseName::EndedEarly => lease::ended_early(scene),
        PremiseName::TermWhileHeld => lease::term_while_held(scene),
        PremiseName::KeyFree => lease::key_free(scene),
        PremiseName::LabHeldThroughout => lease::lab_held_throughout(scene),
        PremiseName::LeaseKept => lease::lease_kept(scene),
        PremiseName::StoreDown => store::store_down(scene),
        PremiseName::StoreBack => store::store_back(scene),
        PremiseName::LeaderStopped => store::leader_stopped(scene),
        PremiseName::AnotherLeads => store::another_leads(scene),
        PremiseName::StoreStepped => store::store_stepped(scene),
        PremiseName::WriteHeld => resource::write_held(scene),
        PremiseName::SuccessorWrote => resource::successor_wrote(scene),
        PremiseName::HeldWritePlaced => resource::held_write_placed(scene),
        PremiseName::ReadHeld => resource::read_held(scene),
        PremiseName::FillSettled => resource::fill_settled(scene),
        PremiseName::ReplayRejected => resource::replay_rejected(scene),
        PremiseName::Swallowed => wire::swallowed(scene),
        PremiseName::Healed => wire::healed(scene),
        PremiseName::WasReset => wire::was_reset(scene),
        PremiseName::DroppedSilently => wire::dropped_silently(scene),
        PremiseName::ShimMapped => clock::shim_mapped(scene),
        PremiseName::WallReadsCounted => clock::wall_reads_counted(scene),
    }
}
