//! Whether the named process is seen to be the holder, by its connections.
//!
//! It is never proven by them that it is not: a client may go through a proxy, or connect anew each time.

use super::side::Evidence;
use leaseproof_model::inspect::owner_view::OwnerState;

/// Why the named process is not seen to be the holder, where the store or its own sockets speak against it.
pub(super) fn unseen(seen: &Evidence<'_>) -> Option<String> {
    let (owner, lease) = (seen.owner?, seen.lease?);
    if owner.state == OwnerState::Ended || !lease.at_last.held {
        return None;
    }
    let own = owner.sockets.get()?;
    if own.is_empty() {
        let renewed = lease.renewals.get().is_some_and(|it| !it.seen.is_empty());
        return renewed.then(|| {
            "it has no connection to the store's port, and the lease was renewed meanwhile (a client that goes through \
             a proxy, or connects anew for each renewal, looks the same)"
                .to_owned()
        });
    }
    let listed = seen.store?.connections.get()?;
    let is_its = |address: &str| own.iter().any(|socket| socket.local == address);
    match listed.candidates.iter().find(|it| it.certain) {
        Some(certain) if is_its(&certain.address) => None,
        Some(certain) => Some(format!(
            "the holder's connection comes from {}, and that is none of its",
            certain.address
        )),
        None if listed.candidates.iter().any(|it| is_its(&it.address)) => None,
        None => Some(
            "none of its connections is among those that the server shows (behind a proxy the addresses differ)"
                .to_owned(),
        ),
    }
}
