//! What people and programs read.

mod explain;
mod json;
mod lines;

pub use explain::{Style, explain, human};
pub use json::json;
pub use lines::{github, lines};
