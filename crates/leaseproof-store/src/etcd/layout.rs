//! What is stored, and how a grant's name gives its lease.
//!
//! A grant's incarnation is the id of its lease, which the client may choose: 16 hex digits. So whoever
//! has the grant can renew it, in whatever process, and a value can be told to be ours by its form.

use crate::value::{holder_id, holder_parts, new_incarnation, parse_stored};
use leaseproof_model::name::HolderId;

/// A name for a new grant, and the id of its lease: a positive number that no other lease has.
pub(super) fn new_grant(holder: &str) -> (HolderId, i64) {
    loop {
        let incarnation = new_incarnation();
        if let Some(id) = lease_id(&incarnation) {
            return (holder_id(holder, &incarnation), id);
        }
    }
}

/// The id that an incarnation is; half of all 64-bit numbers are none.
fn lease_id(incarnation: &str) -> Option<i64> {
    if incarnation.len() != 16
        || !incarnation
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
    {
        return None;
    }
    i64::from_str_radix(incarnation, 16).ok().filter(|&id| id > 0)
}

/// The lease of a grant.
pub(super) fn lease_of(holder: &HolderId) -> Option<i64> {
    lease_id(holder_parts(holder).1)
}

/// The holder that a value of our own form names.
pub(super) fn ours(value: &[u8]) -> Option<HolderId> {
    let text = std::str::from_utf8(value).ok()?;
    let (name, incarnation) = text.rsplit_once('#')?;
    lease_id(incarnation).filter(|_| !name.is_empty())?;
    Some(HolderId::from(text))
}

/// A foreign value is a secret, by its hash; a form that is Redis's own is one like any other.
pub(super) fn foreign(value: &[u8]) -> HolderId {
    let mut opaque = b"etcd:".to_vec();
    opaque.extend_from_slice(value);
    // The ending keeps it from having any form of ours.
    opaque.push(0);
    parse_stored(&opaque).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_names_its_lease() {
        for _ in 0..100 {
            let (id, lease) = new_grant("a#1");
            assert!(lease > 0);
            assert_eq!(lease_of(&id), Some(lease));
            assert_eq!(ours(id.as_str().as_bytes()), Some(id));
        }
    }

    #[test]
    fn foreign_values_are_hashed() {
        for secret in [
            &b"0f8fad5b-d9cb-469f"[..],
            b"",
            b"#0123456789abcdef",
            b"a#0123456789abcde",
            b"a#0123456789ABCDEF",
            b"a#f123456789abcdef",
            b"a#+123456789abcdef",
            b"a#0000000000000000",
            b"a#b#7",
            b"\xffa#0123456789abcdef",
        ] {
            assert_eq!(ours(secret), None);
            let id = foreign(secret);
            assert!(id.as_str().starts_with("value#"), "{id}");
            assert_eq!(foreign(secret), id);
        }
        assert_ne!(foreign(b"one"), foreign(b"two"));
    }
}
