//! The plan as it is written, and the safety budget, judged.
//!
//! - [`plan`]: the file and its complaints, for whoever reads one
pub mod plan;
