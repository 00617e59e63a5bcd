//! The files of an incident, read.
//!
//! Whatever is at hand goes in: logs of owners, stores, runtimes, kernels, clocks, proxies; captures; a bundle of
//! `verify`. Out come [records](record::Record) with honest moments, and what could not be read. Nothing here judges.
//!
//! - [`read`]: the one way in; it never fails, and says what it did not understand
//! - [`input`], [`options`]: what is read, and what the user knows about it
//! - [`evidence`]: what reading gives: files, records, anchors, problems
//! - [`record`]: one line's meaning: [`place`], [`when`], what it [`says`]
//! - [`clock`]: files and hosts laid on one timeline, with what is not known about it

pub mod bundle;
pub mod clock;
mod envelope;
pub mod evidence;
mod format;
pub mod input;
pub mod options;
pub mod patterns;
pub mod place;
mod read;
mod reading;
pub mod record;
pub mod says;
mod source;
mod stamp;
pub mod when;

pub use read::{Progress, read, read_with};
