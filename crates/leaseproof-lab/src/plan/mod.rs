//! What to run: `leaseproof.toml`, the command line's overrides, and their checks.

mod duration;
mod file;
mod init;
mod preset;
mod resolve;

pub use duration::parse_duration;
pub use file::{BudgetTable, LinesTable, OwnerTable, PlanFile, StoreTable, VerifyTable};
pub use init::commented_plan;
pub use preset::{Preset, preset_names};
pub use resolve::{FreezeMethod, OwnerPlan, Plan, PlanError, StorePlan, from_command_line, load, resolve};
