//! What to run: `leaseproof.toml`, the command line's overrides, and their checks. How the file is written, and what
//! a complaint about it looks like, is `leaseproof-check`'s.

mod fit;
mod init;
mod margin;
mod place;
mod preset;
mod resolve;
mod wanted;
mod watch;

pub use fit::{Fitted, fit};
pub use init::commented_plan;
pub use leaseproof_check::plan::key_from_hex;
pub use leaseproof_check::plan::{
    BudgetTable, LinesTable, OwnerTable, PlanError, PlanFile, StoreTable, Text, VerifyTable, WatchLeaseTable,
    WatchOwnerTable, WatchTable, nearest,
};
pub use leaseproof_model::duration::parse_duration;
pub use margin::margin_refusal;
pub use preset::{Preset, preset_names};
pub use resolve::{from_command_line, load, resolve};
pub use wanted::{FreezeMethod, OwnerPlan, Plan, StorePlan};
pub use watch::{BeliefSource, WatchLease, WatchOwner, WatchPlan, WatchPrefix, resolve_watch};
