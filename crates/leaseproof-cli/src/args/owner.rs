//! `leaseproof owner`.

use super::millis::millis;
use clap::Args;

/// The arguments of the reference owner; the owner contract's variables are used where one is missing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  leaseproof verify -- leaseproof owner --flaw silent-retain
  leaseproof owner --store redis://127.0.0.1:6379 --key canary/demo --ttl-ms 3000 --heartbeat-ms 1000 --owner me

Flaws are listed by `leaseproof owner --flaws`.")]
pub struct OwnerArgs {
    /// The store's URL (LEASEPROOF_STORE).
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// The lease key (LEASEPROOF_KEY).
    #[arg(long)]
    pub key: Option<String>,
    /// The TTL in ms (LEASEPROOF_TTL_MS).
    #[arg(long, value_name = "MS", value_parser = millis)]
    pub ttl_ms: Option<u64>,
    /// The heartbeat in ms (LEASEPROOF_HEARTBEAT_MS).
    #[arg(long, value_name = "MS", value_parser = millis)]
    pub heartbeat_ms: Option<u64>,
    /// The protected resource's base URL (LEASEPROOF_RESOURCE).
    #[arg(long, value_name = "URL")]
    pub resource: Option<String>,
    /// A name unique to this owner process (LEASEPROOF_OWNER).
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// Break it in one known way.
    #[arg(long, value_name = "NAME")]
    pub flaw: Option<String>,
    /// List the flaws and end.
    #[arg(long)]
    pub flaws: bool,
    /// Exit when the lease is lost, instead of acquiring anew.
    #[arg(long)]
    pub exit_on_loss: bool,
    /// Print a line for each write too, as a monitor of its log may want.
    #[arg(long)]
    pub say_writes: bool,
    /// Read the value after each write and fill a cache with it, as the scenario cache-fill asks.
    #[arg(long)]
    pub fill_cache: bool,
}
