//! `leaseproof hold`.

use super::wrong;
use crate::args::HoldArgs;
use leaseproof_hold::{Given, Settings};
use std::process::ExitCode;

/// Runs a command under a lease.
pub fn run(args: HoldArgs) -> ExitCode {
    let given = Given {
        store: args.store,
        key: args.key,
        command: args.command,
        plan: args.plan,
        ttl: args.ttl,
        heartbeat: args.heartbeat,
        worst_pause: args.worst_pause,
        renew_timeout: args.renew_timeout,
        max_clock_drift: args.max_clock_drift,
        grace: args.grace,
        timeout: args.timeout,
        no_wait: args.no_wait,
        restart: args.restart,
        on_lost: args.on_lost,
        owner: args.owner,
        foreground: args.foreground,
        quiet: args.quiet,
        json: args.json,
        events: args.events,
    };
    match Settings::new(given) {
        Ok(settings) => leaseproof_hold::main(settings),
        Err(error) => {
            let _ = wrong(&error.to_string());
            ExitCode::from(error.status())
        }
    }
}
