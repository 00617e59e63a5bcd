//! What a server says about itself, and its errors in our words.

use crate::error::{Lasts, StoreError};
use crate::etcd::gateway::Gateway;
use crate::etcd::message::{Header, Refusal, Status};
use crate::patience::Patience;
use crate::url::{EtcdUrl, Layout};
use leaseproof_model::event::Role;
use leaseproof_model::store::{ExpiryProof, StoreClock, StoreFacts};
use serde_json::json;
use std::time::Duration;

/// The smallest TTL with the server's default settings: one and a half election time-outs of 1 s, in
/// whole seconds (`minTTL` in etcdserver/server.go).
pub(super) const USUAL_FLOOR: Duration = Duration::from_secs(2);

/// What a member says of itself. Its term is that of the last entry it applied (`setTerm` in
/// etcdserver/server.go), so that one just elected leads in the old term for a moment: who asks for another
/// leader must wait for a greater term.
pub(crate) fn role(url: &EtcdUrl, timeout: Duration) -> Result<Role, StoreError> {
    let mut gateway = Gateway::new(url, timeout)?;
    let status: Status = gateway.read("maintenance/status", &json!({}), &mut Patience::new(timeout))?;
    Ok(Role {
        leads: status.leader != 0 && status.leader == status.header.member_id,
        term: status.header.raft_term,
    })
}

/// The store's epoch. The term says who leads, since a term has one leader at most; and a server that
/// was restarted, or lost its leader, comes back with another term.
pub(super) fn epoch(header: &Header) -> String {
    format!("{:x}/{}/{:x}", header.cluster_id, header.raft_term, header.member_id)
}

/// The semantics of a server whose election time-out is the one that etcd comes with.
pub(crate) fn usual(url: &EtcdUrl) -> StoreFacts {
    facts("", USUAL_FLOOR, url.layout)
}

/// The semantics of a server.
pub(super) fn facts(version: &str, floor: Duration, layout: Layout) -> StoreFacts {
    let what = match layout {
        Layout::Reference => "the key",
        Layout::LockRecipe => "the holder's key below the lock's name",
    };
    StoreFacts {
        kind: "etcd".to_owned(),
        version: if version.is_empty() { "unknown" } else { version }.to_owned(),
        // A lease is revoked only when its time is over by the leader's steady clock, and a TTL is
        // rounded up.
        early_slack: Duration::ZERO,
        // Up to 1 s of rounding up; the lessor looks each 500 ms; a revocation that failed is tried
        // again after 3 s; and the log must be written. A change of leader grants a full TTL anew: that
        // shows as another epoch.
        late_bound: Duration::from_secs(5),
        late_ttls: 0,
        ttl_floor: Some(floor),
        ttl_ceiling: None,
        lock_delay: Duration::ZERO,
        clock: StoreClock::ServerSteady,
        expired_means: format!(
            "the lease was revoked and {what} went with it, in one revision: the leader's steady clock has passed \
             the expiry. A TTL of zero or less alone is no expiry, while the key is there"
        ),
        expiry_proof: ExpiryProof::SeenGone,
        consistent_reading: true,
        exact_moments: false,
        writer_can_block: false,
        shows_expiry: true,
        shows_renewals: true,
        renewals_apart: Duration::from_secs(1),
        ttl_step: Duration::from_secs(1),
        grants_in_steps: false,
        // A majority has it in its logs before it is answered.
        may_lose_grants: Some(false),
    }
}

/// gRPC codes with which a server refuses before it does anything: invalid argument, not found, already
/// exists, permission denied, resource exhausted, failed precondition, out of range, unimplemented,
/// unauthenticated. With any other (unavailable, deadline exceeded) the request may still be applied.
pub(super) fn is_definite(refusal: &Refusal) -> bool {
    matches!(refusal.code, 3 | 5 | 6 | 7 | 8 | 9 | 11 | 12 | 16)
}

/// Whether a new login helps: the token is unknown (a restart, five minutes of silence) or older than the
/// last change of rights.
pub(super) fn is_stale_login(refusal: &Refusal) -> bool {
    ["invalid auth token", "revision of auth store is old"]
        .iter()
        .any(|words| refusal.message.contains(words))
}

/// A refusal, in our words.
pub(super) fn refusal(url: &str, refusal: &Refusal) -> StoreError {
    let hints = [
        (
            "user name is empty",
            ": put user and password into the URL, etcd://USER:PASSWORD@host",
            Lasts::Mended,
        ),
        (
            "authentication failed",
            ": user or password of the URL are wrong",
            Lasts::Mended,
        ),
        ("permission denied", ": this user lacks a permission", Lasts::Mended),
        (
            "authentication is not enabled",
            ": this server asks for no login, take user and password off the URL",
            Lasts::Mended,
        ),
        ("invalid auth token", ": try again", Lasts::Moment),
        (
            "database space exceeded",
            ": compact and defragment it, then disarm its alarm",
            Lasts::Passes,
        ),
    ];
    let words = &refusal.message;
    match hints.iter().find(|(part, ..)| words.contains(part)) {
        Some((_, hint, lasts)) => StoreError::refused(&url, format!("{words}{hint}"), *lasts),
        None => StoreError::Unexpected(format!("{words} (gRPC code {})", refusal.code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_are_written_as_etcdctl_writes_ids() {
        let header = Header {
            cluster_id: 16_669_793_395_648_480_238,
            member_id: 1_767_428_333_833_140_196,
            revision: 9,
            raft_term: 2,
        };
        assert_eq!(epoch(&header), "e75700c5e2c7c3ee/2/18872ab49415b7e4");
    }

    #[test]
    fn a_time_out_of_the_server_is_no_refusal() {
        let with = |code, message: &str| Refusal {
            code,
            message: message.to_owned(),
        };
        assert!(!is_definite(&with(14, "etcdserver: request timed out")));
        assert!(!is_definite(&with(0, "")));
        assert!(is_definite(&with(7, "etcdserver: permission denied")));
        assert!(is_stale_login(&with(16, "etcdserver: invalid auth token")));
        assert!(!is_stale_login(&with(3, "etcdserver: authentication failed")));
    }
}
