//! `leaseproof.toml` as it is written: its tables, its durations, and complaints that name file, line and column.

mod complaint;
mod file;
mod hex;
mod nearest;
mod numbers;

pub use complaint::{Place, PlanError};
pub use file::{
    BudgetTable, ConnectionTable, DiagnoseOwnerTable, DiagnoseResourceTable, DiagnoseTable, LinesTable, OwnerTable,
    PlanFile, StoreTable, Text, VerifyTable, WatchLeaseTable, WatchOwnerTable, WatchTable,
};
pub use hex::key_from_hex;
pub use leaseproof_model::duration::parse_duration;
pub use nearest::nearest;

use std::path::Path;

/// Reads a plan file. `shown` cuts out of its name what may be a password: a URL may have been given in its
/// place.
///
/// # Errors
/// When it can't be read or is no plan; the message has file, line and remedy.
pub fn load(path: &Path, shown: fn(&str) -> String) -> Result<(PlanFile, String), PlanError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let given = shown(&path.to_string_lossy());
        let remedy = match given.contains("://") {
            true => "a store is named with --store URL",
            false => "`leaseproof verify --init` writes a commented plan",
        };
        PlanError(format!("the plan {given} can't be read: {error}\n  {remedy}"))
    })?;
    let place = Place {
        path: Some(path),
        text: &text,
    };
    let file = toml::from_str(&text).map_err(|error| place.of_toml(path, &error))?;
    Ok((file, text))
}
