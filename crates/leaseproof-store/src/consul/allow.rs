//! Everything that looking at a Consul agent may send, checked in one place before a byte leaves.

use crate::http::Request;
use crate::inspect::Allowed;
use serde_json::Value;

/// The list; `docs/inspect.md` has it too, and a test compares. What ends with a slash is followed by a
/// name.
pub(crate) const ALLOWED: &[Allowed] = &[
    Allowed::always("GET /v1/status/leader", "who leads"),
    Allowed::always("GET /v1/status/peers", "how many servers there are"),
    Allowed::always("GET /v1/agent/self", "version, role, term, least TTL"),
    Allowed::always(
        "PUT /v1/txn",
        "readings, and what lies beside a key that is absent, through the leader: refused unless every operation in it is a `get`",
    ),
    Allowed::always(
        "GET /v1/session/info/",
        "TTL, lock-delay, behaviour and node of the session",
    ),
    Allowed::always("GET /v1/session/list", "the TTLs of many sessions (`watch` only)"),
    Allowed::always("GET /v1/health/node/", "the health checks of the session's node"),
    Allowed::always("GET /v1/kv/", "which keys are below a prefix (`watch` only)"),
];

/// Whether a request is one of them.
pub(super) fn allows(request: &Request) -> bool {
    may_send(request.method(), request.path(), request.text())
}

fn may_send(method: &str, path: &str, body: &[u8]) -> bool {
    let listed = ALLOWED
        .iter()
        .filter_map(|it| it.request.split_once(' '))
        .any(|(verb, place)| {
            let fits = match place.ends_with('/') {
                true => path.starts_with(place),
                false => path == place,
            };
            verb == method && fits
        });
    listed && (path != "/v1/txn" || only_gets(body))
}

/// Whether a transaction changes nothing.
fn only_gets(body: &[u8]) -> bool {
    let Ok(Value::Array(operations)) = serde_json::from_slice(body) else {
        return false;
    };
    operations.iter().all(|operation| {
        operation.as_object().is_some_and(|it| it.len() == 1) && operation["KV"]["Verb"].as_str() == Some("get")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed() {
        for (method, path, body, may) in [
            ("GET", "/v1/agent/self", "", true),
            ("PUT", "/v1/agent/self", "", false),
            ("GET", "/v1/session/info/7a", "", true),
            ("PUT", "/v1/session/destroy/7a", "", false),
            ("PUT", "/v1/session/renew/7a", "", false),
            ("GET", "/v1/kv/a", "", true),
            ("PUT", "/v1/kv/a", "", false),
            ("DELETE", "/v1/kv/a", "", false),
            ("PUT", "/v1/txn", r#"[{"KV":{"Verb":"get","Key":"a"}}]"#, true),
            (
                "PUT",
                "/v1/txn",
                r#"[{"KV":{"Verb":"get"}},{"KV":{"Verb":"unlock"}}]"#,
                false,
            ),
            (
                "PUT",
                "/v1/txn",
                r#"[{"KV":{"Verb":"get"},"Node":{"Verb":"delete"}}]"#,
                false,
            ),
            ("PUT", "/v1/txn", r#"{"KV":{"Verb":"get"}}"#, false),
            ("PUT", "/v1/txn", "", false),
        ] {
            assert_eq!(may_send(method, path, body.as_bytes()), may, "{method} {path} {body}");
        }
    }
}
