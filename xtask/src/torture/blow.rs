//! What is done to a run.

use rustix::process::Signal;
use std::fmt;
use std::time::Duration;

/// One blow. Instants count from the start of the run.
#[derive(Clone, Debug)]
pub enum Blow {
    /// SIGKILL at an instant.
    Kill(Duration),
    /// SIGKILL at a named point, on reaching it the nth time.
    Die(&'static str, u32),
    /// A signal that asks it to end, to the whole group as a terminal sends it.
    Ask(Signal, Duration),
    /// Ctrl-C again and again, until it leaves everything to the warden.
    Impatient(Duration),
    /// Ctrl-Z, and `fg` when it has stopped.
    CtrlZ(Duration),
    /// SIGSTOP of leaseproof itself for longer than any hard deadline, then SIGCONT.
    Hung(Duration),
    /// SIGKILL of the warden.
    WardenKilled(Duration),
    /// SIGKILL of both; then `leaseproof undo`.
    BothKilledUndo(Duration),
    /// SIGKILL of both; then another run.
    BothKilledNextStart(Duration),
}

impl Blow {
    /// When it falls, as far as that is known.
    pub fn at(&self) -> Option<Duration> {
        match self {
            Self::Die(..) => None,
            Self::Kill(at)
            | Self::Ask(_, at)
            | Self::Impatient(at)
            | Self::CtrlZ(at)
            | Self::Hung(at)
            | Self::WardenKilled(at)
            | Self::BothKilledUndo(at)
            | Self::BothKilledNextStart(at) => Some(*at),
        }
    }
}

/// What it is counted under.
impl fmt::Display for Blow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill(_) => f.write_str("SIGKILL at a random instant"),
            Self::Die(point, _) => write!(f, "SIGKILL at {point}"),
            Self::Ask(signal, _) if *signal == Signal::INT => f.write_str("Ctrl-C"),
            Self::Ask(signal, _) if *signal == Signal::TERM => f.write_str("SIGTERM"),
            Self::Ask(..) => f.write_str("SIGHUP"),
            Self::Impatient(_) => f.write_str("Ctrl-C three times"),
            Self::CtrlZ(_) => f.write_str("Ctrl-Z, then fg"),
            Self::Hung(_) => f.write_str("hung (SIGSTOP), then SIGCONT"),
            Self::WardenKilled(_) => f.write_str("SIGKILL of the warden"),
            Self::BothKilledUndo(_) => f.write_str("SIGKILL of both, then undo"),
            Self::BothKilledNextStart(_) => f.write_str("SIGKILL of both, then next start"),
        }
    }
}
