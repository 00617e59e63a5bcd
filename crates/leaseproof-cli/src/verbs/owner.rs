//! `leaseproof owner`.

use super::{print, wrong};
use crate::args::OwnerArgs;
use leaseproof_owner::{Flaw, Given, Settings};
use std::process::ExitCode;

/// Runs the reference owner.
pub fn run(args: OwnerArgs) -> ExitCode {
    if args.flaws {
        for flaw in Flaw::ALL {
            print(&format!("{:<18} {}\n", flaw.as_str(), flaw.describe()));
        }
        return ExitCode::SUCCESS;
    }
    let given = Given {
        store: args.store,
        key: args.key,
        ttl_ms: args.ttl_ms,
        heartbeat_ms: args.heartbeat_ms,
        resource: args.resource,
        owner: args.owner,
        flaw: args.flaw,
        exit_on_loss: args.exit_on_loss,
        say_writes: args.say_writes,
        fill_cache: args.fill_cache,
    };
    match Settings::from_env_and(given) {
        Ok(settings) => leaseproof_owner::main(settings),
        Err(error) => wrong(&error.to_string()),
    }
}
