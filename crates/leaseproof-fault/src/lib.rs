//! Faults, each confirmed by the kernel and undone by its guard; relays; the warden.
//!
//! In run order:
//!
//! - [`warden`]: a process of its own session that is up before the first owner starts, knows each
//!   fault before it is applied, and undoes it when the run can't
//! - [`journal`]: what the warden wrote down, for the day on which it was killed too
//! - [`launch`]: an owner starts as a stub and becomes its command once the warden knows it
//! - [`pause`]: a tree, a parent or its children stopped, by signal or by control group
//! - [`kill_tree`], [`terminate`], [`clock_step`]: the other faults of an owner
//! - [`shim`]: the preloaded library that steps the wall clock
//! - [`segment`]: the shared memory that a killed PostgreSQL server leaves behind
//! - [`relay`]: the network between an owner and the store
//!
//! The binary that uses this crate must dispatch two hidden first arguments, before anything else:
//! [`warden::WORD`] to [`warden::main`] and [`launch::STUB_WORD`] to [`launch::stub_main`].

mod report;

pub mod clock_step;
pub mod error;
pub mod journal;
pub mod kill_tree;
pub mod launch;
pub mod pause;
pub mod relay;
pub mod segment;
pub mod shim;
pub mod terminate;
pub mod torture_points;
pub mod warden;

pub use error::FaultError;
pub use report::FaultSink;
