//! The server's error codes, in words.

use crate::error::{Lasts, StoreError};
use crate::url::ZooKeeperUrl;

/// How the server ends a request.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Code(pub(crate) i32);

impl Code {
    pub(crate) const OK: Self = Self(0);
    /// Another part of the transaction failed.
    pub(crate) const OTHER_PART: Self = Self(-2);
    pub(crate) const NO_NODE: Self = Self(-101);
    pub(crate) const NO_AUTH: Self = Self(-102);
    pub(crate) const BAD_VERSION: Self = Self(-103);
    pub(crate) const NO_CHILDREN_HERE: Self = Self(-108);
    pub(crate) const NODE_EXISTS: Self = Self(-110);
    pub(crate) const NOT_EMPTY: Self = Self(-111);
    pub(crate) const SESSION_EXPIRED: Self = Self(-112);
    pub(crate) const AUTH_FAILED: Self = Self(-115);

    /// An error that no caller knows what to do with.
    pub(crate) fn error(self, url: &ZooKeeperUrl, key: &str) -> StoreError {
        let refused = |why: String| StoreError::refused(url, why, Lasts::Mended);
        match self {
            // Any name and any password make a user here: that none of them is wrong says nothing.
            Self::NO_AUTH => refused(match url.digest {
                Some(_) => format!(
                    "this user may not use the key {key}: look at user and password of the URL, and at the node's ACL"
                ),
                None => format!(
                    "this user may not use the key {key}: give user and password, zookeeper://user:password@host"
                ),
            }),
            Self::AUTH_FAILED => refused("user or password of the URL are wrong".to_owned()),
            Self::NO_CHILDREN_HERE => refused(format!(
                "the key {key} lies below another lease, whose node can have no children: take another key"
            )),
            Self::NOT_EMPTY => refused(format!(
                "the node of the key {key} has others below it, so that it is no lease: take another key"
            )),
            Self(-122) => StoreError::refused(url, "a quota is used up (QuotaExceeded)", Lasts::Passes),
            Self(-119) => StoreError::refused(
                url,
                "the server is read-only, cut off from its quorum: try again later",
                Lasts::Moment,
            ),
            Self(-124) => refused("it wants a client that authenticates by SASL, which leaseproof does not".to_owned()),
            Self(-6) => refused("it is older than ZooKeeper 3.5: its answers lack the token".to_owned()),
            Self(code) => StoreError::Unexpected(format!("error {code} for the key {key}")),
        }
    }
}
