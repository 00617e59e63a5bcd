//! The safe fix for each cause, and the tempting mistake not to make.

/// A longer TTL, said once.
const LONGER: &str = "don't raise the TTL first: it widens the window in which two owners can act";
/// Words of an owner, said once.
const WORD: &str = "don't trust the owner's \"renewed\": only the store's record shows what was applied";
/// Evidence first, said once.
const RESTART: &str = "don't restart anything before the store's view is saved: it is the only witness";
/// Captures, said once.
const CAPTURE: &str =
    "don't capture packets of a process that is stopped: there are none, and their absence looks like a broken network";

/// The safe fix, the tempting mistake.
#[must_use]
pub fn advice(cause: &str) -> (&'static str, &'static str) {
    match cause {
        "stopped-from-outside" | "stalled" => (
            "find who stops it, and let the work check the lease's validity at each act; what may still be under way at the stop only a fence at the resource can refuse",
            CAPTURE,
        ),
        "deleted-by-another" => (
            "let a release compare the holder in the same request as it deletes (a script, a transaction), and find who deletes without",
            "don't raise the TTL: it was not the time that ended it",
        ),
        "overwritten-by-another" => (
            "let whoever takes the key set it only where it is absent (SET NX PX), and find who sets it without: leaseproof explain LP012",
            "don't raise the TTL: it was not the time that ended it",
        ),
        "ended-early" => (
            "find who deleted or overwrote the key (the store's own record with addresses: MONITOR, an audit log), and whether the store evicts",
            "don't raise the TTL: it was not the time that ended it",
        ),
        "store-clock-stepped" => (
            "keep the store's host from stepping its clock (slew it), and fence the resource: leases end by that clock",
            LONGER,
        ),
        "gone-silent" => (
            "look at the host for what ended it: dmesg for the OOM killer, the engine's events, the exit status",
            "don't shorten the TTL below what a pause needs, to have a faster takeover",
        ),
        "budget-invalid" => (
            "lower the heartbeat until the margin holds the worst pause that the plan names: leaseproof check",
            LONGER,
        ),
        "stopped-inside-collection" => (
            "look for who stopped the process over that span (container engine, freezer, debugger, swap, the host); the collector needs no tuning for this",
            "don't tune the collector: its log only holds a stop that was not its own",
        ),
        "collection" | "slow-to-safepoint" | "allocation-stall" => (
            "bring the pause below the margin (heap, collector, the loop that has no safepoint), or the heartbeat down until the margin holds it: leaseproof check --gc-log",
            LONGER,
        ),
        "machine-stalled" | "suspended" => (
            "keep owners off machines that are suspended, migrated or overcommitted, and fence the resource: no clock inside can see it",
            LONGER,
        ),
        "throttled" => (
            "raise the CPU quota, or take the renewal out of the process that uses it up",
            LONGER,
        ),
        "out-of-memory" | "killed" => (
            "fix what kills it; the takeover after the TTL is as it should be",
            "don't shorten the TTL below what a pause needs, to have a faster takeover",
        ),
        "store-paused" => (
            "look after the store (its disk, its collector, its host); the owners did nothing wrong, and a fence keeps the resource safe meanwhile",
            RESTART,
        ),
        "store-failed-over" | "store-changed-leader" => (
            "fence the resource: a store that fails over without the last writes can grant twice; use a store with a quorum where that must not be",
            "don't trust the old primary's word for itself: it says that it is one for seconds after it woke",
        ),
        "store-restarted" | "store-evicted" | "store-flushed" => (
            "keep leases and token counters in a store that persists them and evicts nothing (appendonly yes, maxmemory-policy noeviction)",
            RESTART,
        ),
        "store-moved" => (
            "find out which it was, a restart or a failover, from the store's own log: after either, what had been granted need not be known any more, and a fence at the resource refuses what comes late",
            RESTART,
        ),
        "clock-stepped" => (
            "let clocks slew on stores whose leases hang on the wall clock, and alarm on steps",
            "don't step the clock back by hand: it lengthens every lease",
        ),
        "clock-jump-claimed" => (
            "look at a second clock before anything else: the kernel's log, journald's two stamps",
            "don't blame the clock on a daemon's word alone",
        ),
        "connection-cut" => (
            "send keep-alives more often than the idle time-out on the way, bound each renewal by a time-out, and count validity from the request: then silence ends the work in time",
            LONGER,
        ),
        "renewal-not-applied" => (
            "compare key, database and server of the owner's renewals with those of the grant, and have the client read the answer",
            WORD,
        ),
        "watchdog-stopped" | "renewal-failure-swallowed" | "silent-retention" => (
            "let the loss end the work: a guard that is checked at each act, or `leaseproof hold URL KEY -- COMMAND`; and a fence at the resource",
            WORD,
        ),
        "unconditional-renew" => (
            "renew by one atomic step that checks the holder (a script, a transaction): leaseproof explain LP010",
            WORD,
        ),
        "unconditional-release" => (
            "release by one atomic step that checks the holder: leaseproof explain LP011",
            "don't delete the key by hand to \"clean up\": that is the same fault",
        ),
        "unsafe-acquire" => (
            "acquire by one atomic step with the TTL in it (SET NX PX): leaseproof explain LP012",
            "don't delete the stuck key before its holder is known to be dead",
        ),
        "grant-not-in-store" => (
            "after the wait, look whether one's own key is still there before the work begins",
            WORD,
        ),
        "renewal-outlives-work" => (
            "tie the renewal to the work: what ends the work must end it",
            "don't kill the renewing process before the store's view is saved",
        ),
        "false-loss" => (
            "tell a lost answer from a refusal: ask the store before giving up",
            "don't make it cling to its lease instead: a refusal must still end the work",
        ),
        "renewals-queue" => (
            "give the renewals more threads, or renew many keys in one request, until a round takes less than a heartbeat",
            "don't raise the TTL and don't look at the network: the next locks bring the queue back",
        ),
        "pause-exceeds-margin" | "late-renewal" => (
            "lower the heartbeat until the margin holds the worst pause that was seen: leaseproof check --observed PAUSE",
            LONGER,
        ),
        "fence-accepts-stale" | "unfenced" => (
            "have the resource refuse a token that is smaller than the greatest it has seen: leaseproof gate, and leaseproof gate test",
            "don't check tokens for equality, nor in the owner: only the resource's own order counts",
        ),
        _ => ("look at the rule's page: leaseproof explain", RESTART),
    }
}
