//! The arguments: recorded and validated here, acted on in [`crate::verbs`].

mod check;
mod diagnose;
#[cfg(feature = "gate")]
pub mod gate;
mod hold;
mod inspect;
mod millis;
mod owner;
mod owner_command;
mod verify;
mod watch;

pub use check::{CheckArgs, Format};
pub use diagnose::DiagnoseArgs;
#[cfg(feature = "gate")]
pub use gate::GateArgs;
pub use hold::HoldArgs;
pub use inspect::InspectArgs;
pub use owner::OwnerArgs;
pub use owner_command::is_plan;
pub use verify::VerifyArgs;
pub use watch::WatchArgs;

use clap::{CommandFactory as _, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// The folder that runs are kept in where none is named.
pub const STANDARD_OUT: &str = ".leaseproof/runs";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "leaseproof", version, about = SHORT, long_about = LONG, after_help = AFTER, max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

const SHORT: &str = "Proves that a distributed lock's lease behaves across a pause, or shows exactly how it doesn't";

const LONG: &str = "Proves that a distributed lock's lease behaves across a pause, or shows exactly how it doesn't.

It runs an owner against its real lock store, freezes it, lets the store expire the lease and a contender take over, \
thaws it, and demands that it no longer acts and that the fencing token moved strictly forward.";

const AFTER: &str = "Examples:
  leaseproof verify                                        the reference owner on the embedded store
  leaseproof verify --store redis://127.0.0.1:6379 -- ./worker --flag
  leaseproof verify leaseproof.toml --json                 in CI
  leaseproof check leaseproof.toml --gc-log gc.log         does the budget hold
  leaseproof inspect redis://127.0.0.1:6379 canary/demo    a lease in use, read-only
  leaseproof diagnose owner.log gc.log appendonlydir       after the fact: what happened, and why
  leaseproof watch leaseproof.toml                         a Prometheus endpoint on loopback
  leaseproof hold redis://127.0.0.1:6379 jobs/nightly -- ./nightly.sh
  leaseproof explain LP004

Exit status: 0 proven, 1 violated, 2 the call or the plan is wrong, 3 cannot tell; of `hold` its command's own, see there.";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Runs scenarios against an owner, prints the verdict, writes the evidence bundle.
    Verify(Box<VerifyArgs>),
    /// Checks a safety budget, or lock settings of known systems; runs nothing.
    Check(Box<CheckArgs>),
    /// A read-only look at a lease in use: the first ten minutes of an incident.
    Inspect(Box<InspectArgs>),
    /// From the files of an incident to its cause: was there a breach, why, and what is missing.
    Diagnose(Box<DiagnoseArgs>),
    /// Monitors leases in use: what the store grants against what the owner believes.
    Watch(Box<WatchArgs>),
    /// Runs a command under a lease, and stops it before the lease ends.
    Hold(Box<HoldArgs>),
    /// Enforces fencing tokens in front of, or inside, a resource; tests a resource's fence.
    #[cfg(feature = "gate")]
    Gate(Box<GateArgs>),
    /// The reference owner: sound by default; `--flaw NAME` breaks it in one known way.
    Owner(OwnerArgs),
    /// Prints a rule's page; without a code, the list.
    #[command(
        after_help = "Examples:\n  leaseproof explain\n  leaseproof explain LP004\n  leaseproof explain silent-retention"
    )]
    Explain {
        /// A code or a name: LP004, silent-retention.
        code: Option<String>,
    },
    /// Heals what a killed run may have left, from its journal.
    #[command(
        after_help = "Examples:\n  leaseproof undo\n  leaseproof undo --out /tmp/runs\n  leaseproof undo --store redis://127.0.0.1:6379"
    )]
    Undo {
        /// The folder that runs are kept in.
        #[arg(long, value_name = "DIR", default_value = STANDARD_OUT)]
        out: PathBuf,
        /// Also remove exactly the keys that killed runs left in this store.
        #[arg(long, value_name = "URL")]
        store: Option<String>,
    },
    /// Prints shell completions.
    #[command(
        after_help = "Example:\n  leaseproof completions bash > ~/.local/share/bash-completion/completions/leaseproof"
    )]
    Completions {
        /// For which shell.
        shell: clap_complete::Shell,
    },
    /// Writes man pages into a folder.
    #[command(after_help = "Example:\n  leaseproof man ~/.local/share/man/man1")]
    Man {
        /// The folder.
        dir: PathBuf,
    },
}

/// Parses the command line; clap prints help and errors itself, with exit status 2.
pub fn parse() -> Args {
    let given: Vec<OsString> = std::env::args_os().collect();
    Args::try_parse_from(&given).unwrap_or_else(|error| owner_command::explained(error, command(), &given).exit())
}

/// The command as clap knows it, for completions and man pages.
pub fn command() -> clap::Command {
    Args::command()
}
