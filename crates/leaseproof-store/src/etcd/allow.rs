//! Everything that looking at an etcd cluster may send, checked in one place before a byte leaves.

use crate::etcd::protobuf::has_only_ranges;
use crate::http::Request;
use crate::inspect::Allowed;

/// The list; `docs/inspect.md` has it too, and a test compares.
pub(crate) const ALLOWED: &[Allowed] = &[
    Allowed::always(
        "POST /v3/auth/authenticate",
        "to log in, where the URL has user and password",
    ),
    Allowed::always(
        "POST /v3/maintenance/status",
        "version, leader, term, alarms, size of the database",
    ),
    Allowed::always("POST /v3/cluster/member/list", "the members of the cluster"),
    Allowed::always(
        "POST /v3/kv/range",
        "a reading: the key; who waits in a lock tool's queue; what lies below one that is absent; which leases are below a prefix (`watch` only)",
    ),
    Allowed::always(
        "POST /v3/kv/txn",
        "many readings in one (`watch` only): refused unless every operation in it is a range",
    ),
    Allowed::always(
        "POST /v3/lease/timetolive",
        "a reading: what is left of the lease; and which keys are attached to it",
    ),
    Allowed::always(
        "POST /etcdserverpb.Lease/LeaseTimeToLive",
        "by gRPC, many at once: what is left of the leases (`watch` only)",
    ),
    Allowed::always(
        "POST /etcdserverpb.KV/Txn",
        "by gRPC, many readings in one (`watch` only): refused unless every operation in it is a range",
    ),
];

/// Whether a request is one of them.
pub(super) fn allows(request: &Request) -> bool {
    may_send(request.method(), request.path(), request.text())
}

/// The same, of its parts.
pub(super) fn may_send(method: &str, path: &str, body: &[u8]) -> bool {
    let listed = ALLOWED
        .iter()
        .any(|it| it.request.split_once(' ') == Some((method, path)));
    listed
        && match path {
            "/v3/kv/txn" => only_ranges(body),
            // By gRPC, which is a POST, too.
            "/etcdserverpb.KV/Txn" => has_only_ranges(body),
            _ => true,
        }
}

/// Whether a transaction changes nothing. Its operations are named `request_…` or `request…`; keys and
/// values are base64, so that no text of theirs can look like one, and nothing is escaped.
fn only_ranges(body: &[u8]) -> bool {
    const NAME: &[u8] = b"\"request";
    if body.contains(&b'\\') {
        return false;
    }
    let mut rest = body;
    while let Some(at) = rest.windows(NAME.len()).position(|part| part == NAME) {
        rest = &rest[at + NAME.len()..];
        if !rest.starts_with(b"_range\"") {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed() {
        for (path, body, may) in [
            ("/v3/kv/range", "{}", true),
            ("/v3/kv/put", "{}", false),
            ("/v3/kv/deleterange", "{}", false),
            ("/v3/lease/keepalive", "{}", false),
            ("/v3/lease/grant", "{}", false),
            ("/etcdserverpb.Lease/LeaseTimeToLive", "", true),
            ("/etcdserverpb.Lease/LeaseRevoke", "", false),
            ("/etcdserverpb.Lease/LeaseTimeToLives", "", false),
            ("/etcdserverpb.KV/Range", "", false),
            ("/etcdserverpb.KV/Txn", "\x12\x05\x0a\x03\x0a\x01a", true),
            ("/etcdserverpb.KV/Txn", "\x12\x05\x12\x03\x0a\x01a", false),
            ("/v3/maintenance/alarm", "{}", false),
            ("/v3/kv/txn", r#"{"success":[{"request_range":{"key":"YQ=="}}]}"#, true),
            (
                "/v3/kv/txn",
                r#"{"success":[{"request_range":{}},{"request_put":{}}]}"#,
                false,
            ),
            ("/v3/kv/txn", r#"{"success":[{"requestPut":{}}]}"#, false),
            ("/v3/kv/txn", r#"{"failure":[{"request_delete_range":{}}]}"#, false),
            ("/v3/kv/txn", r#"{"success":[{"request_txn":{}}]}"#, false),
            ("/v3/kv/txn", r#"{"success":[{"\u0072equest_put":{}}]}"#, false),
        ] {
            assert_eq!(may_send("POST", path, body.as_bytes()), may, "{path} {body}");
        }
        assert!(!may_send("GET", "/v3/kv/range", b""));
    }
}
