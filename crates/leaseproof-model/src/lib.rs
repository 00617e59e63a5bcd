//! The nouns of leaseproof. No I/O, no async, no clock reads.
//!
//! Start at [`event::Event`]: everything that a run records is one. A [`history::History`] is what
//! the judge gets; a [`verdict::ScenarioVerdict`] is what it answers.
//!
//! - [`clock`]: clocks are types that do not mix
//! - [`moment`]: a moment is a closed interval, never a bare number
//! - [`truth`]: yes, no, cannot tell
//! - [`name`]: owners, processes, holders, tokens
//! - [`budget`]: the safety budget and its margin; [`duration`]: how its spans are written
//! - [`store`]: what an adapter states about its store, as data
//! - [`scenario`]: what a scenario asks, and its premises, as data
//! - [`event`], [`history`]: the record
//! - [`rule`], [`finding`], [`verdict`]: the answer
//! - [`inspect`]: one look at a lease in use
//! - [`diagnosis`]: what the files of an incident come to
//! - [`fence`]: which tokens a resource may still accept

pub mod budget;
pub mod clock;
pub mod diagnosis;
pub mod duration;
pub mod event;
mod evidence;
pub mod fence;
pub mod finding;
pub mod history;
pub mod inspect;
pub mod moment;
pub mod name;
pub mod rule;
pub mod scenario;
pub mod store;
pub mod truth;
pub mod verdict;
