//! What the runner tells whoever watches it. The faces print it; nothing depends on it.

use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::verdict::{NotOffered, ScenarioVerdict};

/// One step of a run.
#[derive(Clone, Debug)]
pub enum Progress {
    /// A scenario starts.
    Started {
        /// Which scenario.
        id: ScenarioId,
        /// On which store.
        store: String,
    },
    /// A scenario is at this step now.
    Step {
        /// Which scenario.
        id: ScenarioId,
        /// On which store.
        store: String,
        /// The cycle, and of how many.
        cycle: (u32, u32),
        /// What is going on, in a few words.
        step: String,
    },
    /// A scenario was judged.
    Ended(Box<ScenarioVerdict>),
    /// A scenario is not offered.
    NotOffered(NotOffered),
}

/// Where progress goes.
pub type Watcher = dyn Fn(Progress) + Send + Sync;
