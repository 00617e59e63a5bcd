//! What to run: `leaseproof.toml`, the command line's overrides, and their checks.

mod complaint;
mod file;
mod fit;
mod init;
mod margin;
mod nearest;
mod preset;
mod resolve;
mod wanted;
mod watch;

pub use complaint::PlanError;
pub use file::{
    BudgetTable, LinesTable, OwnerTable, PlanFile, StoreTable, Text, VerifyTable, WatchLeaseTable, WatchOwnerTable,
    WatchTable,
};
pub use fit::{Fitted, fit};
pub use init::commented_plan;
pub use leaseproof_model::duration::parse_duration;
pub use margin::margin_refusal;
pub use preset::{Preset, preset_names};
pub use resolve::{from_command_line, load, resolve};
pub use wanted::{FreezeMethod, OwnerPlan, Plan, StorePlan};
pub use watch::{BeliefSource, WatchLease, WatchOwner, WatchPlan, WatchPrefix, resolve_watch};
