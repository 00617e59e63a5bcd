//! Verdict and record to terminal, JSON, JUnit and HTML. One format a file; nothing here judges.
//!
//! - [`terminal`]: what a person reads at the end of a run
//! - [`json`]: the document of `--json`
//! - [`junit`]: what CI systems show
//! - [`html`]: the one-file report with the picture
//! - [`metrics`]: Prometheus text, for alerts on the periodic test
//! - [`exposition`]: that format itself, which `watch` writes too
//! - [`explain`]: the page of each rule
//!
//! Every format shows text that others chose (keys, owners' output): it goes through [`visible`] first.

pub mod counted;
pub mod explain;
pub mod exposition;
pub mod html;
pub mod json;
pub mod junit;
pub mod metrics;
mod moments;
mod sentence;
pub mod terminal;
pub mod visible;
mod words;
