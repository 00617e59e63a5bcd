//! `leaseproof check`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct CheckArgs {
    /// Plans, or settings of other systems; `-` reads stdin [default: leaseproof.toml].
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What the files are, where their contents don't show it: plan, redisson, kubernetes, patroni, redbeat,
    /// shedlock, consul-session, etcd-session, zookeeper.
    #[arg(long = "as", value_name = "KIND")]
    pub kind: Option<String>,

    /// How long a grant lives without a renewal.
    #[arg(long, value_name = "DURATION", help_heading = "Numbers, in the place of the file's")]
    pub ttl: Option<String>,
    /// How often the owner renews.
    #[arg(long, value_name = "DURATION", help_heading = "Numbers, in the place of the file's")]
    pub heartbeat: Option<String>,
    /// The longest pause that the owner must survive.
    #[arg(long, value_name = "DURATION", help_heading = "Numbers, in the place of the file's")]
    pub worst_pause: Option<String>,
    /// How far owner's and store's clocks move apart within one TTL.
    #[arg(long, value_name = "DURATION", help_heading = "Numbers, in the place of the file's")]
    pub max_clock_drift: Option<String>,
    /// How long a renewal may take before it has failed.
    #[arg(long, value_name = "DURATION", help_heading = "Numbers, in the place of the file's")]
    pub renew_timeout: Option<String>,
    /// The longest run of the job, for locks that nobody renews (ShedLock).
    #[arg(long, value_name = "DURATION", help_heading = "Numbers, in the place of the file's")]
    pub longest_run: Option<String>,

    /// The longest pause that was seen.
    #[arg(long, value_name = "DURATION", help_heading = "Against what was seen")]
    pub observed: Option<String>,
    /// The log of a JVM's collector, for its longest pause (can be given again).
    #[arg(long, value_name = "FILE", help_heading = "Against what was seen")]
    pub gc_log: Vec<PathBuf>,
    /// The metrics of the leaseproof library, for the worst pause that its meter saw (can be given again).
    #[arg(long, value_name = "FILE", help_heading = "Against what was seen")]
    pub meter: Vec<PathBuf>,
    /// The store, for its slack, floor and steps; by default the plan's.
    #[arg(long, value_name = "URL", help_heading = "Against what was seen")]
    pub store: Option<String>,
    /// Ask the store itself for them, instead of taking its kind's usual ones.
    #[arg(long, help_heading = "Against what was seen")]
    pub ask: bool,

    /// So many renewals in a row must be able to fail.
    #[arg(long, value_name = "N", help_heading = "Demand")]
    pub renewals: Option<u32>,

    /// Derive the inequality step by step.
    #[arg(long, help_heading = "Output")]
    pub explain: bool,
    /// Print one JSON document on stdout.
    #[arg(long, conflicts_with_all = ["explain", "format"], help_heading = "Output")]
    pub json: bool,
    /// How to print: for people on a terminal, as GitHub's annotations under GITHUB_ACTIONS, else a line a check.
    #[arg(long, value_enum, default_value_t = Format::Auto, hide_possible_values = false, help_heading = "Output")]
    pub format: Format,
    /// Print the plan's JSON Schema, for editors, and end.
    #[arg(long, help_heading = "Output")]
    pub schema: bool,
}

/// How it is printed.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// By where it goes.
    Auto,
    /// For people.
    Human,
    /// FILE:LINE: level: what
    Lines,
    /// ::error file=…
    Github,
}

const AFTER: &str = "Examples:
  leaseproof check                                   leaseproof.toml, in CI or before a commit
  leaseproof check leaseproof.toml --explain         the inequality, step by step
  leaseproof check --gc-log gc.log --renewals 1      against what the JVM really did
  leaseproof check --observed 2.3s --json
  leaseproof check redisson.yaml --worst-pause 4s    a system's own settings
  leaseproof check kube-scheduler.yaml patroni.yml --worst-pause 2s
  echo 'ttl=10' | leaseproof check - --as etcd-session --worst-pause 2s

Exit status: 0 it holds, 1 it does not, 2 the call or a file is wrong, 3 cannot tell (the worst pause is not given, or none of the kind's settings was found).";
