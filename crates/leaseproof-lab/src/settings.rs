//! What to run, and who watches.

use crate::plan::Plan;
use crate::progress::Watcher;
use leaseproof_model::history::History;
use leaseproof_model::verdict::RunVerdict;
use leaseproof_witness::WitnessFlaw;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A face that turns a run's verdict into a document.
pub type Face = Box<dyn Fn(&RunVerdict) -> String + Send + Sync>;
/// The face with the picture: it wants the records too.
pub type Picture = Box<dyn Fn(&RunVerdict, &[&History]) -> String + Send + Sync>;

/// What to run, and who watches.
pub struct RunSettings {
    /// The plan.
    pub plan: Plan,
    /// The folder that runs are kept in.
    pub out: PathBuf,
    /// Keep the run's keys and store files.
    pub keep: bool,
    /// The running program: it starts the warden, the stubs and the reference owner.
    pub exe: PathBuf,
    /// Set from outside to end the run: every guard undoes its fault on the way out.
    pub stop: Arc<AtomicBool>,
    /// A flaw of the witness: the check on our own rig, never a user's choice.
    pub witness_flaw: Option<WitnessFlaw>,
    /// Who watches.
    pub watcher: Arc<Watcher>,
    /// The report with the picture.
    pub html: Picture,
    /// `verdict.json`.
    pub json: Face,
    /// `junit.xml`.
    pub junit: Face,
}
