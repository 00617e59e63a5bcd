//! `leaseproof inspect`.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// The arguments of `inspect`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct InspectArgs {
    /// The store's URL: sqlite:PATH, redis://…, rediss://… (?ca=FILE names a CA of its own).
    pub url: String,
    /// The lease's key, as the store has it.
    #[arg(required_unless_present = "key_hex")]
    pub key: Option<OsString>,
    /// The key in hex, where it can't be typed (`--key-hex 6c6f636bff`).
    #[arg(long, value_name = "HEX", conflicts_with = "key")]
    pub key_hex: Option<String>,

    /// How long to take readings for, at most 50 a second [default: two heartbeats of the plan, else 10s].
    #[arg(long = "for", value_name = "DURATION", help_heading = "Look")]
    pub span: Option<String>,
    /// How long the store may take for one answer.
    #[arg(long, value_name = "DURATION", default_value = "3s", help_heading = "Look")]
    pub timeout: String,
    /// Compare with this plan: TTL in force, cadence, worst gap.
    #[arg(long, value_name = "PLAN", help_heading = "Look")]
    pub plan: Option<PathBuf>,
    /// The owner's process, on its own host: is it stopped, frozen, throttled, and how is its connection?
    #[arg(long, value_name = "PID", help_heading = "Look")]
    pub owner_pid: Option<u32>,
    /// Redis: watch what passes at the server for so long (MONITOR, at most 60s and 100,000 commands; it
    /// slows the server).
    #[arg(long, value_name = "DURATION", requires = "non_production", help_heading = "Look")]
    pub monitor: Option<String>,
    /// With --monitor: the server's HOST:PORT once more, which says that it is no production server.
    #[arg(long, value_name = "HOST:PORT", requires = "monitor", help_heading = "Look")]
    pub non_production: Option<String>,

    /// Keep the evidence in this folder (new or empty), as it is seen.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub save: Option<PathBuf>,
    /// Print one JSON document on stdout.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress, only the answer.
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
}

const AFTER: &str = "Examples:
  leaseproof inspect redis://127.0.0.1:6379 lock:orders
  leaseproof inspect redis://me:PASSWORD@10.0.0.5 lock:orders --plan leaseproof.toml --save kept
  leaseproof inspect redis://10.0.0.5 lock:orders --owner-pid 4711       on the owner's host
  leaseproof inspect redis://127.0.0.1:6379 lock:orders --monitor 5s --non-production 127.0.0.1:6379
  leaseproof inspect sqlite:/var/lib/app/locks.db orders --json

It sends only what docs/inspect.md lists, and works with a store user that may only read.

Exit status: 0 nothing wrong, with the evidence to say so, 1 violated, 2 the call or the plan is wrong, 3 cannot tell.";
