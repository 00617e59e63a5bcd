//! What lines say, a noun a file.

mod clock;
mod kernel;
mod network;
mod owner;
mod resource;
mod runtime;
mod settings;
mod store;

pub use clock::ClockSays;
pub use kernel::{CounterKind, MachineSays, ProcessSays};
pub use network::{NetworkSays, TimerKind, WhoEnded};
pub use owner::{Definite, OwnerSays};
pub use resource::{Decision, ResourceSays};
pub use runtime::{CpuTime, RuntimeSays, StopKind};
pub use settings::{Setting, SettingName};
pub use store::{MoveKind, StoreSays};

use crate::when::When;
use serde::Serialize;

/// What a line says.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Says {
    /// An owner, about itself: belief.
    Owner(OwnerSays),
    /// The store.
    Store(StoreSays),
    /// A runtime, about its own stops.
    Runtime(RuntimeSays),
    /// Something about a process, from outside it.
    Process(ProcessSays),
    /// Something about a whole machine.
    Machine(MachineSays),
    /// Something about a clock.
    Clock(ClockSays),
    /// Something about a connection.
    Network(NetworkSays),
    /// The protected resource.
    Resource(ResourceSays),
    /// A number of the configuration that shows in the text.
    Setting(Setting),
    /// The same moment on a second clock: the first is the record's own stamp.
    Anchor {
        /// On the other clock.
        other: When,
    },
}

impl Says {
    /// A short name for counts: `owner acquired`, `runtime stop`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Owner(said) => said.name(),
            Self::Store(said) => said.name(),
            Self::Runtime(said) => said.name(),
            Self::Process(said) => said.name(),
            Self::Machine(said) => said.name(),
            Self::Clock(said) => said.name(),
            Self::Network(said) => said.name(),
            Self::Resource(said) => said.name(),
            Self::Setting(_) => "setting",
            Self::Anchor { .. } => "anchor",
        }
    }
}
