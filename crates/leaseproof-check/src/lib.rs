//! The plan as it is written, and the safety budget, judged. Pure but for [`plan::load`], [`gc_log::read`] and
//! [`meter::read`]; it links neither a store nor any fault.
//!
//! - [`plan`]: the file and its complaints, for whoever reads one
//! - [`subject`]: what is judged, wherever it was read: [`from_plan`], or settings of other systems
//! - `foreign` (a feature): settings of other systems as such a subject
//! - [`judge()`]: the checks, and the smallest change that passes
//! - [`gc_log`], [`meter`]: the worst pause, as a collector logged it, or the library metered it
//! - [`report`] and [`faces`]: what came out, and how it is shown

mod change;
mod checks;
pub mod connection;
mod dial;
pub mod faces;
#[cfg(feature = "foreign")]
pub mod foreign;
mod from_plan;
pub mod gc_log;
mod given;
mod judge;
pub mod meter;
pub mod plan;
pub mod report;
pub mod subject;

/// The JSON Schema of a plan, for editors.
pub const PLAN_SCHEMA: &str = include_str!("../../../docs/schema/plan-1.schema.json");

pub use from_plan::from_plan;
pub use given::Given;
pub use judge::{Demands, Measured, judge};
