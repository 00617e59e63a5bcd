//! What would tell more, and how to get it.

use super::holder::unseen;
use super::side::Evidence;
use leaseproof_model::inspect::lease_view::Change;
use leaseproof_model::inspect::store_view::Form;
use leaseproof_model::inspect::{Missing, Shown};
use leaseproof_model::truth::Truth;

/// Each thing that was not seen.
pub(super) fn missing(seen: &Evidence<'_>) -> Vec<Missing> {
    let mut missing = Vec::new();
    let mut lacks = |what: &str, how: &str| {
        missing.push(Missing {
            what: what.to_owned(),
            how: how.to_owned(),
        });
    };
    if seen
        .lease
        .is_some_and(|lease| lease.happened.iter().any(|it| it.what == Change::Refused))
    {
        lacks(
            "what the lease was while the store refused this user",
            "give it the right to read again, and look anew",
        );
    }
    if seen.owner.is_none() {
        lacks(
            "whether the owner's process runs, and its connection to the store",
            "on the owner's own host, add --owner-pid PID",
        );
    }
    let holders = seen.owner.into_iter().chain(seen.others);
    let found = holders
        .clone()
        .any(|it| it.holds.as_ref().is_some_and(|it| it.it_does == Truth::Yes));
    if holders.count() > 1 && !found && seen.lease.is_some_and(|lease| lease.at_last.held) {
        lacks(
            "which of the processes that were named holds the lease: neither store nor connections tell",
            match seen.store.map(|store| store.kind.as_str()) {
                Some("redis") => "look at their logs, or let each connect by a name of its own (CLIENT SETNAME)",
                Some("postgres") => "look at their logs, or let each connect by a name of its own (application_name)",
                _ => "look at their logs",
            },
        );
    } else if let (Some(owner), Some(why)) = (seen.owner, unseen(seen)) {
        lacks(
            &format!(
                "process {}: this process is not seen to be the holder: {why}",
                owner.process.pid
            ),
            "give the pid of the holder's own process",
        );
    }
    if seen.budget.is_none() {
        lacks("what TTL, heartbeat and gaps should be", "add --plan leaseproof.toml");
    }
    if let Some(lease) = seen.lease {
        let renewals = lease.renewals.get();
        if lease.at_last.held && renewals.is_some_and(|it| it.seen.is_empty()) {
            lacks(
                "a renewal: none fell into the span",
                "watch for longer than the heartbeat, with --for",
            );
        }
        if lease.renewals == Shown::NotByThisStore {
            lacks("renewals: not shown by this store", "look at the owner's log");
        }
        if lease.at_last.epoch.is_none() {
            lacks(
                "whether one process of the store answered throughout",
                "allow this user to run INFO",
            );
        }
        if lease
            .happened
            .iter()
            .any(|it| matches!(it.what, Change::EndedEarly | Change::Ended))
        {
            lacks("who ended the lease", "look at the owner's log for a release");
        }
    }
    if let Some(store) = seen.store {
        if let Shown::Withheld(why) = &store.connections
            && !store.refused.is_empty()
        {
            lacks(
                &format!("the holder's live connection ({why})"),
                &format!("allow this user to ask: {}", store.refused.join(", ")),
            );
        }
        if store.refused.iter().any(|it| it.starts_with("CONFIG GET")) {
            lacks(
                "what a restart of the store loses: its settings are not shown to this user",
                "allow it CONFIG GET: ACL SETUSER NAME +config|get",
            );
        }
        if let Some(elsewhere) = &store.key.elsewhere {
            lacks("whether somebody holds the lock all the same", elsewhere);
        }
        if let Form::Foreign(_) = store.key.form {
            lacks("what the key's client means by it", "read that client's own documents");
        }
    }
    missing
}
