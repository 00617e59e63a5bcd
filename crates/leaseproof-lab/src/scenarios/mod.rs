//! What is done to the owner: one script a scenario, all on the same `stage`.

mod cache_fill;
pub mod catalogue;
mod clocks;
mod draw;
mod inside_write;
mod keep;
mod lost;
mod network;
mod parts;
mod pauses;
mod release;
mod scene;
mod stage;
mod stale_token;
mod store;
mod waiting;

use crate::prepare::{Ready, Site};
use crate::settings::RunSettings;
use leaseproof_model::history::History;
use leaseproof_model::scenario::ScenarioId as Id;
use leaseproof_model::verdict::NotOffered;
use stage::{Halt, Stage, Step};

/// What running a scenario came to.
#[derive(Debug)]
pub enum Outcome {
    /// Its record; a clock scenario has its unstepped twin beside it.
    Ran(Vec<History>),
    /// This host, store or owner can't offer it.
    NotOffered(NotOffered),
}

/// Runs one scenario from start to end.
#[must_use]
pub fn run(id: Id, settings: &RunSettings, ready: &Ready, site: &Site) -> Outcome {
    if matches!(id, Id::ClockForward | Id::ClockBack) {
        // Both arms at the same time: a twin that ran later would differ by the machine's load, too.
        return std::thread::scope(|scope| {
            let twin = scope.spawn(|| arm(id, settings, ready, site, true));
            let stepped = arm(id, settings, ready, site, false);
            // A twin that panicked takes the scenario with it: without the contrast nothing is shown.
            let twin = twin.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause));
            match (stepped, twin) {
                (Outcome::Ran(mut stepped), Outcome::Ran(twin)) => {
                    stepped.extend(twin);
                    Outcome::Ran(stepped)
                }
                (Outcome::NotOffered(it), _) | (_, Outcome::NotOffered(it)) => Outcome::NotOffered(it),
            }
        });
    }
    arm(id, settings, ready, site, false)
}

fn not_offered(id: Id, site: &Site, why: &str) -> Outcome {
    Outcome::NotOffered(NotOffered {
        id,
        store: site.name.clone(),
        why: why.to_owned(),
    })
}

fn arm(id: Id, settings: &RunSettings, ready: &Ready, site: &Site, twin: bool) -> Outcome {
    // A thaw must come when it is due, whatever else the machine does. Refused to an ordinary user:
    // then a late thaw is seen, and the cycle is drawn again.
    let _ = leaseproof_proc::priority::raise_this_thread();
    if let Err(why) = Stage::offered(id, site) {
        return not_offered(id, site, &why);
    }
    let mut stage = match Stage::set(id, twin, settings, ready, site) {
        Ok(stage) => stage,
        Err(why) => return Outcome::Ran(vec![Stage::never_set(id, twin, settings, ready, site, why)]),
    };
    match script(id, &mut stage) {
        Err(Halt::NotOffered(why)) => {
            // Struck all the same; its record ends without an end line, and nobody judges it.
            drop(stage.strike(false));
            not_offered(id, site, &why)
        }
        Err(Halt::Stopped) => Outcome::Ran(vec![stage.strike(false)]),
        Err(Halt::Abandoned(why)) => {
            stage.abandon(why);
            Outcome::Ran(vec![stage.strike(true)])
        }
        Ok(()) => Outcome::Ran(vec![stage.strike(true)]),
    }
}

fn script(id: Id, stage: &mut Stage<'_>) -> Step {
    match id {
        Id::PauseOverTtl => pauses::over_ttl(stage),
        Id::PauseUncontested => pauses::uncontested(stage),
        Id::PauseAndGone => pauses::and_gone(stage),
        Id::PauseWithinMargin => keep::within_margin(stage),
        Id::PauseInsideWrite => inside_write::run(stage),
        Id::CacheFill => cache_fill::run(stage),
        Id::PauseWaiting => waiting::run(stage),
        Id::PauseRenewing => network::renewing(stage),
        Id::ParentOnly => parts::parent_only(stage),
        Id::ChildOnly => parts::child_only(stage),
        Id::Killed => pauses::killed(stage),
        Id::Blackhole => network::blackhole(stage),
        Id::Reset => network::reset(stage),
        Id::IdleDrop => network::idle_drop(stage),
        Id::KeyDeleted => lost::deleted(stage),
        Id::KeyStolen => lost::stolen(stage),
        Id::CleanRelease => release::clean(stage),
        Id::ReleaseAfterLoss => release::after_loss(stage),
        Id::RenewAfterLoss => release::renew_after_loss(stage),
        Id::ClockForward => clocks::forward(stage),
        Id::ClockBack => clocks::back(stage),
        Id::StorePaused => store::paused(stage),
        Id::StoreRestarted => store::restarted(stage, true),
        Id::StoreEmptied => store::restarted(stage, false),
        Id::StoreClock => store::clock(stage),
        Id::StoreFailover => store::failover(stage),
        Id::StaleToken => stale_token::run(stage),
    }
}
