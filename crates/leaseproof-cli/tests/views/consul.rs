//! A look at Consul.

use crate::consul_server::ConsulServer;
use crate::look::{KEY, attribute, look, only_listed, room, says, worries};
use crate::owner::Owner;
use crate::postgres_server::skip;
use crate::rig::until;
use crate::tap::Tap;
use crate::wire::http;
use serde_json::Value;

fn listed(tap: &Tap) {
    only_listed(
        "consul",
        tap,
        |bytes| http(bytes).into_iter().map(|(name, _)| name).collect(),
        |listed, sent| listed == sent || listed.ends_with('/') && sent.starts_with(listed),
    );
    for (name, body) in tap.raw().iter().flat_map(|bytes| http(bytes)) {
        if name == "PUT /v1/txn" {
            let body: Value = serde_json::from_slice(&body).expect("JSON");
            let operations = body.as_array().expect("operations");
            assert!(operations.iter().all(|it| it["KV"]["Verb"] == "get"), "{body}");
        }
    }
}

#[test]
fn consul_as_a_user_who_may_only_read() {
    let settings = r#", "acl": {"enabled": true, "default_policy": "deny", "tokens": {"master": "root"}}"#;
    let server = match ConsulServer::start_with(settings) {
        Ok(server) => server,
        Err(why) => return skip("consul_as_a_user_who_may_only_read", &why),
    };
    let rules = r#"{"Name": "looks", "Rules": "key_prefix \"canary/\" { policy = \"read\" } session_prefix \"\" { policy = \"read\" }"}"#;
    // The master token is there a moment after the leader is.
    until("the policy is made", || {
        server.http("PUT", "/v1/acl/policy?token=root", rules).contains("looks")
    });
    let token = r#"{"SecretID": "11111111-2222-3333-4444-555555555555", "Policies": [{"Name": "looks"}]}"#;
    let made = server.http("PUT", "/v1/acl/token?token=root", token);
    assert!(made.contains("11111111"), "{made}");
    let room = room();
    let admin = format!("consul://:root@127.0.0.1:{}?lock_delay=0s", server.port());
    let _owner = Owner::start(&room, &admin, KEY, 30_000, 300);
    for (path, value) in [
        ("canary/free", "geheim".to_owned()),
        ("canary/long", "geheim".repeat(1000)),
    ] {
        assert_eq!(
            server.http("PUT", &format!("/v1/kv/{path}?token=root"), &value).trim(),
            "true"
        );
    }
    let flagged = "/v1/kv/canary/many?token=root&flags=16210313421097356768";
    assert_eq!(server.http("PUT", flagged, "geheim").trim(), "true");
    for (key, part) in [
        (KEY, "is not shown by this store"),
        ("canary/free", "no session holds the key"),
        ("canary/absent", "no session holds the key"),
        ("canary/long", "a value of about 60"),
        ("canary/many", "a semaphore"),
    ] {
        let tap = Tap::start(server.port());
        let url = format!(
            "consul://:11111111-2222-3333-4444-555555555555@127.0.0.1:{}",
            tap.port()
        );
        let ran = look(&room, &url, key);
        assert_eq!(ran.code, Some(3), "{key}: {ran:#?}");
        assert!(ran.stdout.contains(part), "{key}: {part} is missing in {}", ran.stdout);
        assert!(!ran.stdout.contains("11111111"), "{ran:#?}");
        listed(&tap);
        says(&ran.json(), "version", "lacks agent:read");
    }
}

/// That the session may not be read is told as such, with the right that it takes.
#[test]
fn consul_without_the_right_to_read_sessions() {
    let settings = r#", "acl": {"enabled": true, "default_policy": "deny", "tokens": {"master": "root"}}"#;
    let server = match ConsulServer::start_with(settings) {
        Ok(server) => server,
        Err(why) => return skip("consul_without_the_right_to_read_sessions", &why),
    };
    let rules = r#"{"Name": "keys", "Rules": "key_prefix \"\" { policy = \"read\" }"}"#;
    until("the policy is made", || {
        server.http("PUT", "/v1/acl/policy?token=root", rules).contains("keys")
    });
    let token = r#"{"SecretID": "11111111-2222-3333-4444-555555555555", "Policies": [{"Name": "keys"}]}"#;
    let made = server.http("PUT", "/v1/acl/token?token=root", token);
    assert!(made.contains("11111111"), "{made}");
    let mut session = String::new();
    // The node is registered a moment after the leader is there.
    until("a session", || {
        let made = server.http("PUT", "/v1/session/create?token=root", r#"{"TTL": "30s"}"#);
        session = made.split('"').nth(3).unwrap_or_default().to_owned();
        !session.is_empty()
    });
    let taken = server.http("PUT", &format!("/v1/kv/foreign?token=root&acquire={session}"), "x");
    assert_eq!(taken.trim(), "true");
    let room = room();
    for (token, lacks) in [("11111111-2222-3333-4444-555555555555", true), ("root", false)] {
        let url = format!("consul://:{token}@127.0.0.1:{}", server.port());
        let ran = look(&room, &url, "foreign");
        assert_eq!(ran.code, Some(3), "{ran:#?}");
        let words = ran.json()["lease"]["at_last"]["ttl_words"].to_string();
        for said in [attribute(&ran.json(), "session").to_string(), words] {
            assert_eq!(said.contains("lacks session:read"), lacks, "{said}");
        }
    }
}

#[test]
fn consul_shows_the_session() {
    let server = match ConsulServer::start() {
        Ok(server) => server,
        Err(why) => return skip("consul_shows_the_session", &why),
    };
    let room = room();
    let _owner = Owner::start(&room, &server.url(), KEY, 30_000, 300);
    let json = look(&room, &server.url(), KEY).json();
    says(&json, "session", "TTL 30");
    says(&json, "session", "behaviour release");
    worries(&json, "session", "without a lock-delay");
    says(&json, "checks", "none: the session ends by its TTL alone");
    says(&json, "role", "server, leader");
    says(&json, "persistence", "a dev agent");
    worries(&json, "servers", "one server alone");
    assert_eq!(json["lease"]["renewals"], "not-by-this-store");
    // A broken client's session: without a TTL, and with a check that its node passes.
    let made = server.http("PUT", "/v1/session/create", "{}");
    let session = made.split('"').nth(3).expect("an id");
    let taken = server.http("PUT", &format!("/v1/kv/endless?acquire={session}"), "x");
    assert_eq!(taken.trim(), "true");
    let json = look(&room, &server.url(), "endless").json();
    worries(&json, "session", "it has no TTL");
    says(&json, "checks", "serfHealth: passing");
    assert!(
        json["lease"]["at_last"]["ttl_words"]
            .as_str()
            .is_some_and(|it| it.contains("has no TTL"))
    );
}
