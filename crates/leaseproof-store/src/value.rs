//! What is stored as the holder of a grant, and what of it may be shown.
//!
//! Redis stores `<holder>#<incarnation>#<token>` as the value of the key; SQLite and PostgreSQL have a
//! column each.
//! Any other value is a foreign client's secret: whoever knows it can release the lease. It is shown
//! as `value#` and a hash, which can be compared and not turned back.

use leaseproof_model::name::{HolderId, Token};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt::Write;

/// A text that no other grant has: 64 random bits, in hex.
pub(crate) fn new_incarnation() -> String {
    let mut bytes = [0; 8];
    // Invariant: the kernel's random source answers; without it no grant could be told from another.
    SystemRandom::new()
        .fill(&mut bytes)
        .expect("the kernel gives random bytes");
    hex(&bytes)
}

/// Holder and incarnation as one name.
pub(crate) fn holder_id(holder: &str, incarnation: &str) -> HolderId {
    HolderId::from(format!("{holder}#{incarnation}"))
}

/// A holder's id taken apart; without an incarnation the second is empty.
pub(crate) fn holder_parts(id: &HolderId) -> (&str, &str) {
    id.as_str().rsplit_once('#').unwrap_or((id.as_str(), ""))
}

/// The value that Redis stores for a grant.
pub(crate) fn stored(holder: &HolderId, token: Token) -> String {
    format!("{holder}#{token}")
}

/// What a stored value says: our own form, or a foreign secret.
pub(crate) fn parse_stored(value: &[u8]) -> (HolderId, Option<Token>) {
    ours(value).unwrap_or_else(|| (hashed(value), None))
}

/// A foreign secret as it may be shown: compared, and not turned back.
pub(crate) fn hashed(value: &[u8]) -> HolderId {
    let hash = hex(&digest(&SHA256, value).as_ref()[..6]);
    HolderId::from(format!("value#{hash}"))
}

fn ours(value: &[u8]) -> Option<(HolderId, Option<Token>)> {
    let text = std::str::from_utf8(value).ok()?;
    let (id, token) = text.rsplit_once('#')?;
    let (holder, incarnation) = id.rsplit_once('#')?;
    let well_formed =
        !holder.is_empty() && !incarnation.is_empty() && !token.is_empty() && token.bytes().all(|b| b.is_ascii_digit());
    let token = token.parse().ok().filter(|_| well_formed)?;
    Some((HolderId::from(id), Some(Token(token))))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_value_comes_back() {
        let id = holder_id("a#1", &new_incarnation());
        let (back, token) = parse_stored(stored(&id, Token(41)).as_bytes());
        assert_eq!((back, token), (id, Some(Token(41))));
    }

    #[test]
    fn foreign_values_are_hashed() {
        for secret in [
            &b"0f8fad5b-d9cb-469f"[..],
            b"a#b",
            b"a##1",
            b"a#b#",
            b"a#b#-1",
            b"\xff#a#1",
        ] {
            let (id, token) = parse_stored(secret);
            assert!(id.as_str().starts_with("value#"), "{id}");
            assert_eq!(token, None);
            assert_eq!(parse_stored(secret).0, id);
        }
        assert_ne!(parse_stored(b"one").0, parse_stored(b"two").0);
    }

    #[test]
    fn incarnations_differ() {
        assert_ne!(new_incarnation(), new_incarnation());
    }
}
