//! Whether the named process is seen to be the holder, by its connections.
//!
//! It is never proven by them that it is not: a client may go through a proxy, or connect anew each time.

use super::side::Evidence;
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::lease_view::LeaseView;
use leaseproof_model::inspect::owner_view::{Holds, OwnerState, OwnerView};
use leaseproof_model::inspect::store_view::{Connection, StoreView};
use leaseproof_model::truth::Truth;

/// The rank from which on something speaks against a process.
const HARDLY: u8 = 3;

/// Why the named process is not seen to be the holder, where the store or its own sockets speak against it.
pub(super) fn unseen(seen: &Evidence<'_>) -> Option<String> {
    let (owner, lease) = (seen.owner?, seen.lease?);
    if owner.state == OwnerState::Ended || !lease.at_last.held {
        return None;
    }
    let own = owner.sockets.get()?;
    let listed = seen.store.and_then(|store| store.connections.get());
    // A client that connects anew has by now another connection than when the store was asked for its list, or none.
    let was_its = |address: &str| seen.others.is_empty() && seen.addresses.iter().any(|it| it == address);
    let is_its = |address: &str| was_its(address) || own.iter().any(|socket| socket.local == address);
    let candidates = listed.map(|it| &it.candidates[..]).unwrap_or_default();
    let certain = candidates.iter().find(|it| it.holds);
    if certain.is_none() && candidates.iter().any(|it| is_its(&it.address)) {
        return None;
    }
    if own.is_empty() {
        return renewed(lease).then(|| {
            "it has no connection to the store's port, and the lease was renewed meanwhile (a client that goes through \
             a proxy, or connects anew for each renewal, looks the same)"
                .to_owned()
        });
    }
    listed?;
    match certain {
        Some(certain) if is_its(&certain.address) => None,
        Some(certain) => Some(format!(
            "the holder's connection comes from {}, and that is none of its",
            certain.address
        )),
        // Those that it has now weren't there to be listed.
        None if !own.iter().any(|socket| seen.addresses.contains(&socket.local)) => None,
        None => Some(
            "none of its connections is among those that the server shows (behind a proxy the addresses differ)"
                .to_owned(),
        ),
    }
}

/// Says of each process whether it holds the lease; the one that does, or most likely does, comes first.
pub fn suspects(owners: &mut [OwnerView], lease: Option<&LeaseView>, store: Option<&StoreView>) {
    let Some(lease) = lease.filter(|lease| lease.at_last.held) else {
        return;
    };
    let mut ranks: Vec<(u32, u8)> = Vec::new();
    for owner in owners.iter_mut() {
        let (rank, it_does, says) = holds(owner, lease, store);
        // One that has ended may well be why nobody renews.
        let hardly = rank >= HARDLY && (owner.state != OwnerState::Ended || renewed(lease));
        owner.holds = Some(Holds { it_does, hardly, says });
        ranks.push((owner.process.pid, rank));
    }
    let rank = |owner: &OwnerView| ranks.iter().find(|(pid, _)| *pid == owner.process.pid).map(|it| it.1);
    // One that is as likely as another stays where it was named.
    owners.sort_by_key(rank);
}

/// How likely, whether, and why.
fn holds(owner: &OwnerView, lease: &LeaseView, store: Option<&StoreView>) -> (u8, Truth, String) {
    let unknown = |rank: u8, says: String| (rank, Truth::CannotTell, says);
    if owner.state == OwnerState::Ended {
        return unknown(4, "its process has ended".to_owned());
    }
    if let Some(says) = slept(owner, lease) {
        return unknown(4, says);
    }
    let Some(own) = owner.sockets.get() else {
        return unknown(2, "its connections can't be seen".to_owned());
    };
    let is_its = |it: &&Connection| own.iter().any(|socket| socket.local == it.address);
    let listed = store.and_then(|store| store.connections.get());
    let listed = listed.map(|it| &it.candidates[..]).unwrap_or_default();
    if let Some(holder) = listed.iter().find(|it| it.holds) {
        return match is_its(&holder) {
            true => (
                0,
                Truth::Yes,
                format!(
                    "the holder's session is connected from {}, which is its",
                    holder.address
                ),
            ),
            false => unknown(
                3,
                format!(
                    "the holder's session is connected from {}, and that is none of its",
                    holder.address
                ),
            ),
        };
    }
    if own.is_empty() {
        return unknown(3, "it has no connection to the store's port".to_owned());
    }
    let name = lease.at_last.holder.as_deref().unwrap_or_default();
    let name = name.split('#').next().filter(|it| !it.is_empty() && *it != "value");
    let named = listed
        .iter()
        .find(|it| name.is_some() && it.name.as_deref() == name && is_its(it));
    if let Some(named) = named {
        let says = format!("likely: its connection {} has the holder's name", named.address);
        return unknown(1, says);
    }
    match silent_since_renewal(owner, lease) {
        Some(ms) => unknown(
            3,
            format!("hardly: it has sent nothing to the store for {ms} ms, and the lease was renewed since"),
        ),
        None => unknown(2, "it may: this store ties no connection to a lease".to_owned()),
    }
}

/// Whether a renewal was seen within the span.
pub(super) fn renewed(lease: &LeaseView) -> bool {
    lease.renewals.get().is_some_and(|it| !it.seen.is_empty())
}

/// Why a process that did not run at all within the span, in which the lease was renewed, did not renew it.
fn slept(owner: &OwnerView, lease: &LeaseView) -> Option<String> {
    let stood = matches!(owner.state, OwnerState::Stopped | OwnerState::Frozen);
    (stood && renewed(lease) && owner.ran_ms == Shown::Is(0.0))
        .then(|| "hardly: it did not run at all within the span, and the lease was renewed".to_owned())
}

/// How long it has sent nothing on any of its connections, where a renewal fell into that time.
fn silent_since_renewal(owner: &OwnerView, lease: &LeaseView) -> Option<u64> {
    /// What sockets and readings are looked at apart.
    const APART_MS: f64 = 500.0;
    let last = lease.renewals.get()?.seen.last()?;
    let sent = owner.sockets.get()?.iter().map(|it| it.last_sent_ms.get().copied());
    let sent = sent.collect::<Option<Vec<u64>>>()?.into_iter().min()?;
    let renewed = lease.watched.span_ms - last.at_ms + last.plus_minus_ms;
    #[expect(clippy::cast_precision_loss, reason = "exact for longer than any connection lives")]
    let silent = sent as f64 > renewed + APART_MS;
    silent.then_some(sent)
}
