//! `leaseproof verify`.

use clap::Args;
use std::path::PathBuf;

/// The arguments of `verify`: every plan value can be given here.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct VerifyArgs {
    /// The plan [default: leaseproof.toml where there is one].
    pub plan: Option<PathBuf>,

    /// The store's URL: sqlite:PATH, redis://…, etcd://…, zookeeper://…, consul://…; with an s more, as
    /// rediss://…, for TLS (?ca=FILE names a CA of its own). Given again: the run is on all of them, side by side.
    #[arg(long, value_name = "URL", help_heading = "Plan")]
    pub store: Vec<String>,
    /// Start a server of this kind for the run (redis, redis-sentinel, postgres, etcd, zookeeper, consul), and run
    /// on it; etcd:3 starts three members. Only such a store meets faults of a store. Can be given again.
    #[arg(long, value_name = "KIND", help_heading = "Plan")]
    pub start_store: Vec<String>,
    /// The key that runs are named after, below the prefix.
    #[arg(long, help_heading = "Plan")]
    pub key: Option<String>,
    /// The canary prefix: faults and clean-up stay below it.
    #[arg(long, help_heading = "Plan")]
    pub prefix: Option<String>,
    /// What the owner makes of the key, such as `lock:{key}`.
    #[arg(long, value_name = "TEMPLATE", help_heading = "Plan")]
    pub owner_key: Option<String>,
    /// Another key of the lease that clean-up deletes with it.
    #[arg(long, value_name = "TEMPLATE", help_heading = "Plan")]
    pub also_deletes: Vec<String>,
    /// A known lock client: python-redis-lock, redlock, redis-semaphore, redis-py.
    #[arg(long, help_heading = "Plan")]
    pub preset: Option<String>,
    /// One more variable for the owner's environment (can be given again).
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Plan")]
    pub env: Vec<String>,
    /// How a line of the owner reads, such as `acquired=got lock (?P<token>\d+)` (can be given again).
    #[arg(long, value_name = "EVENT=REGEX", help_heading = "Plan")]
    pub line: Vec<String>,
    /// How long a grant lives without a renewal.
    #[arg(long, value_name = "DURATION", help_heading = "Plan")]
    pub ttl: Option<String>,
    /// How often the owner renews.
    #[arg(long, value_name = "DURATION", help_heading = "Plan")]
    pub heartbeat: Option<String>,
    /// The longest pause that the owner must survive.
    #[arg(long, value_name = "DURATION", help_heading = "Plan")]
    pub worst_pause: Option<String>,
    /// How far owner's and store's clocks move apart within one TTL.
    #[arg(long, value_name = "DURATION", help_heading = "Plan")]
    pub max_clock_drift: Option<String>,
    /// How long a renewal may take before it has failed.
    #[arg(long, value_name = "DURATION", help_heading = "Plan")]
    pub renew_timeout: Option<String>,

    /// Run only this scenario (can be given again).
    #[arg(long, value_name = "ID", help_heading = "Run")]
    pub scenario: Vec<String>,
    /// List the scenarios and end.
    #[arg(long, help_heading = "Run")]
    pub list: bool,
    /// Cycles of each scenario.
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub cycles: Option<u32>,
    /// The seed of every random choice.
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub seed: Option<u64>,
    /// How many scenarios side by side [default: all].
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub jobs: Option<usize>,
    /// How to pause: sigstop, cgroup, or auto (both in turn where both are offered).
    #[arg(long, value_name = "METHOD", help_heading = "Run")]
    pub freeze: Option<String>,
    /// A scenario that is run and must be offered: exit 3 if it is not (can be given again).
    #[arg(long, value_name = "ID", help_heading = "Run")]
    pub require: Vec<String>,
    /// A write without a fencing token is a breach.
    #[arg(long, help_heading = "Run")]
    pub require_token: bool,
    /// Allow a store that is not on loopback.
    #[arg(long, help_heading = "Run")]
    pub allow_remote: bool,
    /// Allow a store that holds keys outside the canary prefix.
    #[arg(long, help_heading = "Run")]
    pub allow_shared_store: bool,
    /// Keep the run's keys and store files.
    #[arg(long, help_heading = "Run")]
    pub keep: bool,

    /// Print the verdict as one JSON document on stdout.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write a JUnit file there as well.
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Write the verdict and its measures there as Prometheus text (textfile collector).
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub metrics: Option<PathBuf>,
    /// The folder that runs are kept in.
    #[arg(
        long,
        value_name = "DIR",
        default_value = super::STANDARD_OUT,
        help_heading = "Output"
    )]
    pub out: PathBuf,
    /// No progress, only the verdict.
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,

    /// Write a commented plan to leaseproof.toml (or PLAN) and end; a file that is there is left alone.
    #[arg(long, conflicts_with_all = ["list", "judge"], help_heading = "Instead of a run")]
    pub init: bool,
    /// Judge a kept bundle again.
    #[arg(long, value_name = "RUN_DIR", help_heading = "Instead of a run")]
    pub judge: Option<PathBuf>,
    /// With --judge: leave out this rule or premise (a check on the check).
    #[arg(long, value_name = "NAME", requires = "judge", hide = true)]
    pub without: Vec<String>,

    /// Break the witness in one known way (a check on the rig).
    #[arg(long, value_name = "NAME", hide = true)]
    pub witness_flaw: Option<String>,

    /// The owner: any program and its arguments.
    #[arg(last = true, value_name = "OWNER")]
    pub owner: Vec<String>,
}

const AFTER: &str = "Examples:
  leaseproof verify
  leaseproof verify -- leaseproof owner --flaw silent-retain
  leaseproof verify --store redis://127.0.0.1:6379 --scenario pause-over-ttl -- python3 worker.py
  leaseproof verify --store redis://127.0.0.1:6379 --preset python-redis-lock -- python3 worker.py
  leaseproof verify --judge .leaseproof/runs/20261130-101500-7

What the owner is told, in its environment, and where its arguments name it in braces:
  LEASEPROOF_STORE             {store}, also {store_host} and {store_port}
  LEASEPROOF_KEY               {key}
  LEASEPROOF_TTL_MS            {ttl_ms}, also {ttl_s}
  LEASEPROOF_HEARTBEAT_MS      {heartbeat_ms}
  LEASEPROOF_RENEW_TIMEOUT_MS  in the environment only
  LEASEPROOF_OWNER             {owner}
  LEASEPROOF_RESOURCE          {resource}

Exit status: 0 proven, 1 violated, 2 the call or the plan is wrong, 3 cannot tell.";
