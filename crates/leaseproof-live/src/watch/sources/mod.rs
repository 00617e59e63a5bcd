//! Where owners say what they believe.
//!
//! - [`series`]: Prometheus metrics; [`mod@pointer`]: a JSON document; both over [`http`]
//! - [`log`]: event lines; [`tail`] follows the file

pub mod http;
pub mod log;
pub mod pointer;
pub mod series;
pub mod tail;
