//! `leaseproof hold`.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// The arguments of `hold`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  leaseproof hold redis://127.0.0.1:6379 jobs/nightly -- ./nightly.sh --all
  leaseproof hold --no-wait etcd://127.0.0.1:2379 jobs/nightly -- ./nightly.sh
  leaseproof hold --restart --on-lost 'logger lost' consul://127.0.0.1:8500 leader -- ./serve
  leaseproof hold --ttl 3s --heartbeat 1s --worst-pause 1s --grace 500ms sqlite:/run/locks.db demo -- sh -c 'echo $LEASEPROOF_TOKEN'
  leaseproof verify -- leaseproof hold {store} {key} --events - -- ./worker

The command gets LEASEPROOF_TOKEN (to be sent with each write), LEASEPROOF_KEY, LEASEPROOF_STORE (no password in
it), LEASEPROOF_VALID_UNTIL_BOOT_NS (at its start) and LEASEPROOF_DEADLINE_FILE (now: 8 bytes, CLOCK_BOOTTIME).

Exit status: the command's own; 128 + N when signal N ended it; 2 the call, the budget or the URL is wrong, or
the store refuses what no waiting mends; 70 hold itself failed; 75 not acquired; 76 the lease was lost and the command stopped for it; 126 the command can't be
executed; 127 it is not there.")]
pub struct HoldArgs {
    /// The store's URL.
    #[arg(value_name = "URL")]
    pub store: String,
    /// The lease key.
    pub key: String,
    /// The command, and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// Wait for the lease as long as it takes; this is the default.
    #[arg(long, conflicts_with_all = ["no_wait", "timeout"])]
    pub wait: bool,
    /// Ask once; exit with 75 when another holds it.
    #[arg(long, conflicts_with = "timeout")]
    pub no_wait: bool,
    /// Wait for so long at most; then exit with 75.
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<String>,
    /// After a loss wait for the lease again, and start the command anew.
    #[arg(long)]
    pub restart: bool,
    /// Run this by /bin/sh after a loss, once nothing of the command is left.
    #[arg(long, value_name = "SHELL_COMMAND")]
    pub on_lost: Option<String>,
    /// From SIGTERM to SIGKILL; 5s, less where the budget leaves less before the lease ends.
    #[arg(long, value_name = "DURATION")]
    pub grace: Option<String>,
    /// The plan whose `[budget]` counts.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ttl", "heartbeat", "worst_pause", "renew_timeout", "max_clock_drift"])]
    pub plan: Option<PathBuf>,
    /// How long a grant lives without a renewal (LEASEPROOF_TTL_MS, else 15s).
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<String>,
    /// How often it is renewed (LEASEPROOF_HEARTBEAT_MS, else a fifth of the TTL).
    #[arg(long, value_name = "DURATION")]
    pub heartbeat: Option<String>,
    /// The longest pause that must not stop the command; half of the TTL, or what the rest leaves.
    #[arg(long, value_name = "DURATION")]
    pub worst_pause: Option<String>,
    /// How long a renewal may take (LEASEPROOF_RENEW_TIMEOUT_MS, else a fifth of the heartbeat).
    #[arg(long, value_name = "DURATION")]
    pub renew_timeout: Option<String>,
    /// How far owner's and store's clocks may move apart within one TTL; 50ms, or a sixtieth of the TTL.
    #[arg(long, value_name = "DURATION")]
    pub max_clock_drift: Option<String>,
    /// The name under which the store has the lease (LEASEPROOF_OWNER, else host and process).
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// Leave the command in hold's process group, so that it can use the terminal; so it is in a terminal's
    /// foreground.
    #[arg(long)]
    pub foreground: bool,
    /// Say nothing on stderr but errors.
    #[arg(long)]
    pub quiet: bool,
    /// Events on stderr, one JSON object a line.
    #[arg(long, conflicts_with = "events")]
    pub json: bool,
    /// Events to a file, one JSON object a line; `-` is stdout, between the command's own lines.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
}
