//! What is kept: the evidence bundle of a run.

mod folder;
mod reader;
mod recorder;

pub use folder::{BundleError, Folder};
pub use reader::{Bundle, read_bundle};
pub use recorder::{Log, Recorder};
