//! `leaseproof inspect`.

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Command};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The arguments of `inspect`.
#[derive(Debug, Args)]
#[command(after_help = AFTER, override_usage = USAGE)]
pub struct InspectArgs {
    /// The store's URL: sqlite:PATH, postgres://…, redis://…, etcd://…, zookeeper://…, consul://…; the last
    /// four with an s more, as in rediss://…, for TLS (?ca=FILE names a CA of its own). ?recipe=lock looks at a
    /// lock of the store's own tools (etcdctl lock, consul lock, kazoo, Curator).
    pub url: String,
    /// The lease's key, as the store has it; only --key-hex may stand in its place.
    #[arg(required_unless_present = "key_hex")]
    pub key: Option<OsString>,
    /// The key in hex, where it can't be typed (`--key-hex 6c6f636bff`).
    #[arg(long, value_name = "HEX", conflicts_with = "key")]
    pub key_hex: Option<String>,
    /// What `verify` and `watch` have, and `inspect` has not.
    #[arg(long, hide = true, value_parser = InOrder)]
    pub store: Option<String>,
    /// The same.
    #[arg(long = "key", hide = true, value_parser = InOrder)]
    pub named_key: Option<String>,

    /// How long to take readings for, at most 50 a second [default: two heartbeats of the plan, else 10s].
    #[arg(long = "for", value_name = "DURATION", help_heading = "Look")]
    pub span: Option<String>,
    /// How long the store may take for one answer.
    #[arg(long, value_name = "DURATION", default_value = "3s", help_heading = "Look")]
    pub timeout: String,
    /// Compare with this plan: TTL in force, cadence, worst gap.
    #[arg(long, value_name = "PLAN", help_heading = "Look")]
    pub plan: Option<PathBuf>,
    /// The owner's process, on its own host: is it stopped, frozen, throttled, and how is its connection? Given
    /// again for each suspect: which of them holds the lease, where the store can tell.
    #[arg(long, value_name = "PID", help_heading = "Look")]
    pub owner_pid: Vec<u32>,
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

/// Refuses an option that has a place among the arguments, without its value, which may hold a password.
#[derive(Clone)]
struct InOrder;

impl TypedValueParser for InOrder {
    type Value = String;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, _: &OsStr) -> Result<String, clap::Error> {
        let says = "the store and the key are given in order: leaseproof inspect URL KEY\n";
        Err(clap::Error::raw(ErrorKind::UnknownArgument, says).with_cmd(command))
    }
}

const USAGE: &str = "leaseproof inspect [OPTIONS] <URL> <KEY>
       leaseproof inspect [OPTIONS] <URL> --key-hex <HEX>";

const AFTER: &str = "Examples:
  leaseproof inspect redis://127.0.0.1:6379 lock:orders
  leaseproof inspect redis://me:PASSWORD@10.0.0.5 lock:orders --plan leaseproof.toml --save kept
  leaseproof inspect redis://10.0.0.5 lock:orders --owner-pid 4711       on the owner's host
  leaseproof inspect redis://127.0.0.1:6379 lock:orders --monitor 5s --non-production 127.0.0.1:6379
  leaseproof inspect 'etcd://127.0.0.1:2379?recipe=lock' jobs/nightly    while `etcdctl lock jobs/nightly` holds
  leaseproof inspect sqlite:/var/lib/app/locks.db orders --json

It sends only what docs/inspect.md lists, and works with a store user that may only read.

Exit status: 0 nothing wrong, with the evidence to say so, 1 violated, 2 the call or the plan is wrong, 3 cannot tell.";
