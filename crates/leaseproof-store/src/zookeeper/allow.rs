//! Everything that looking at a ZooKeeper server may send, checked in one place before a byte leaves.

use super::request::Request;
use crate::inspect::Allowed;

/// The list; `docs/inspect.md` has it too, and a test compares.
pub(crate) const ALLOWED: &[Allowed] = &[
    Allowed::always(
        "connect",
        "to open a session of its own, which holds nothing and ends by itself",
    ),
    Allowed::always("auth digest", "to log in, where the URL has user and password"),
    Allowed::always("sync", "a reading: so that the server that answers is not behind"),
    Allowed::always("getData", "a reading: the node and its state"),
    Allowed::always("exists", "the node's state and size, before its data is read"),
    Allowed::always("getACL", "who may use the node"),
    Allowed::always(
        "getChildren2",
        "who waits in a lock tool's queue; which leases are below a prefix (`watch` only)",
    ),
    Allowed::always(
        "srvr",
        "version, mode, last transaction, number of nodes and connections",
    ),
    Allowed::always("conf", "the tick, and the bounds of sessions"),
    Allowed::always("cons", "the connection of the session that the node ends with"),
];

/// Whether a request, a step of the opening or a four-letter word is one of them.
pub(super) fn allows(name: &str) -> bool {
    ALLOWED.iter().any(|it| it.request == name)
}

/// What a request is called in ZooKeeper's own code.
pub(super) fn name(request: &Request) -> &'static str {
    match request {
        Request::Create { .. } => "create",
        Request::Delete { .. } => "delete",
        Request::Exists { .. } => "exists",
        Request::Get { .. } => "getData",
        Request::Acl { .. } => "getACL",
        Request::Children { .. } => "getChildren2",
        Request::Sync { .. } => "sync",
        Request::Multi(_) => "multi",
        Request::Close => "closeSession",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed() {
        let path = || "/a".to_owned();
        for (request, may) in [
            (Request::Get { path: path() }, true),
            (Request::Sync { path: path() }, true),
            (
                Request::Delete {
                    path: path(),
                    version: -1,
                },
                false,
            ),
            (Request::Multi(Vec::new()), false),
            (Request::Close, false),
        ] {
            assert_eq!(allows(name(&request)), may, "{request:?}");
        }
        for (word, may) in [
            ("srvr", true),
            ("stat", false),
            ("crst", false),
            ("srst", false),
            ("", false),
        ] {
            assert_eq!(allows(word), may, "{word}");
        }
    }
}
