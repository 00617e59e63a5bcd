//! What was seen beside what a plan says.

use super::Range;
use crate::truth::Truth;
use serde::{Deserialize, Serialize};

/// The comparison with a plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlanView {
    /// The plan's file.
    pub path: String,
    /// The plan's margin, in ms.
    pub margin_ms: f64,
    /// The comparisons.
    pub checks: Vec<Check>,
}

/// One comparison.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Check {
    /// `ttl`, `cadence`, `worst-gap`, `budget`.
    pub name: String,
    /// What the plan says, in ms.
    pub planned_ms: f64,
    /// What was seen.
    pub seen: Option<Range>,
    /// Whether both agree.
    pub holds: Truth,
    /// Whether a disagreement is a violation, or is only told.
    pub weighs: bool,
    /// In words.
    pub says: String,
}
