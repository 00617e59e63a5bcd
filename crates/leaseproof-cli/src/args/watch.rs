//! `leaseproof watch`.

use clap::Args;
use std::path::PathBuf;

/// The arguments of `watch`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct WatchArgs {
    /// The plan, with its [[watch.lease]] entries [default: leaseproof.toml where there is one].
    pub plan: Option<PathBuf>,

    /// The store's URL.
    #[arg(long, value_name = "URL", help_heading = "Plan")]
    pub store: Option<String>,
    /// One more lease, by its key as the store has it (can be given again).
    #[arg(long, help_heading = "Plan")]
    pub key: Vec<String>,
    /// The same in hex, where the key can't be typed (can be given again).
    #[arg(long, value_name = "HEX", help_heading = "Plan")]
    pub key_hex: Vec<String>,
    /// All leases below this prefix, at most 1000 (can be given again).
    #[arg(long, help_heading = "Plan")]
    pub prefix: Vec<String>,
    /// How long a grant lives without a renewal.
    #[arg(long, value_name = "DURATION", help_heading = "Plan")]
    pub ttl: Option<String>,
    /// How often the owner renews.
    #[arg(long, value_name = "DURATION", help_heading = "Plan")]
    pub heartbeat: Option<String>,
    /// The longest pause that the owner must survive.
    #[arg(long, value_name = "DURATION", help_heading = "Plan")]
    pub worst_pause: Option<String>,
    /// How long a renewal may take before it has failed.
    #[arg(long, value_name = "DURATION", help_heading = "Plan")]
    pub renew_timeout: Option<String>,
    /// How often each lease is read.
    #[arg(long, value_name = "DURATION", help_heading = "Plan")]
    pub interval: Option<String>,
    /// Address and port of the metrics; port 0 takes a free one [default: 127.0.0.1:9774].
    #[arg(long, value_name = "ADDRESS", help_heading = "Plan")]
    pub listen: Option<String>,

    /// End after this long, instead of never.
    #[arg(long = "for", value_name = "DURATION", help_heading = "Run")]
    pub span: Option<String>,
    /// Show the leases live in the terminal, worst first.
    #[arg(long, help_heading = "Run")]
    pub tui: bool,
    /// Say nothing but errors.
    #[arg(long, short, help_heading = "Run")]
    pub quiet: bool,

    /// Print alert rules for Prometheus, with the plan's numbers, and end.
    #[arg(long, help_heading = "Instead of a run", conflicts_with_all = ["dashboard", "tui"])]
    pub rules: bool,
    /// Print a dashboard for Grafana and end.
    #[arg(long, help_heading = "Instead of a run", conflicts_with = "tui")]
    pub dashboard: bool,
}

const AFTER: &str = "Examples:
  leaseproof watch leaseproof.toml
  leaseproof watch --store redis://127.0.0.1:6379 --key jobs/daily --ttl 30s --heartbeat 10s
  leaseproof watch leaseproof.toml --for 10m && echo nothing diverged
  leaseproof watch leaseproof.toml --rules > /etc/prometheus/rules/leases.yml
  leaseproof watch --dashboard > leases.json

Exit status: 0 nothing was wrong while it looked, 1 an owner's belief outlived its grant or a token
went back, 2 the call or the plan is wrong or this user may not look, 3 cannot tell (a lease lapsed
or used up its margin, it was blind, the store was, a replica answered, or a key or a belief was
not seen: a line for each reason).";
