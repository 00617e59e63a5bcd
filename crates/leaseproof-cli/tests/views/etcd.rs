//! A look at etcd.

use crate::etcd_server::EtcdServer;
use crate::look::{KEY, look, look_for, only_listed, room, says, worries};
use crate::owner::Owner;
use crate::postgres_server::skip;
use crate::tap::Tap;
use crate::wire::http;
use serde_json::Value;

/// A server with a user who may only read below `canary/`.
fn guarded() -> Result<EtcdServer, String> {
    let server = EtcdServer::start()?;
    for command in [
        &["user", "add", "root:ro#ot"][..],
        &["user", "grant-role", "root", "root"],
        &["role", "add", "looks"],
        &["role", "grant-permission", "looks", "read", "--prefix=true", "canary/"],
        &["user", "add", "reader:geheim"],
        &["user", "grant-role", "reader", "looks"],
    ] {
        server.cli(command);
    }
    Ok(server)
}

fn listed(tap: &Tap) {
    only_listed(
        "etcd",
        tap,
        |bytes| http(bytes).into_iter().map(|(name, _)| name).collect(),
        |listed, sent| listed == sent,
    );
    for (name, body) in tap.raw().iter().flat_map(|bytes| http(bytes)) {
        let body = String::from_utf8(body).expect("JSON");
        let changes = ["request_put", "request_delete"].iter().any(|it| body.contains(it));
        assert!(!changes, "{name} {body}");
    }
}

#[test]
fn etcd_as_a_user_who_may_only_read() {
    let server = match guarded() {
        Ok(server) => server,
        Err(why) => return skip("etcd_as_a_user_who_may_only_read", &why),
    };
    let room = room();
    let _owner = Owner::start(&room, &server.url(), KEY, 30_000, 300);
    server.cli(&["put", "canary/forever", "geheim"]);
    server.cli(&["put", "canary/long", &"geheim".repeat(1000)]);
    server.cli(&["put", "other", "geheim"]);
    server.cli(&["auth", "enable"]);
    let reader = |port: u16| format!("etcd://reader:geheim@127.0.0.1:{port}");
    for (key, part) in [
        (KEY, "renewals"),
        ("canary/forever", "has no lease"),
        ("canary/absent", "the key is not there"),
        ("canary/long", "a value of 6000 bytes"),
    ] {
        let tap = Tap::start(server.port());
        let ran = look(&room, &reader(tap.port()), key);
        assert!(matches!(ran.code, Some(0 | 1 | 3)), "{key}: {ran:#?}");
        assert!(ran.stdout.contains(part), "{key}: {part} is missing in {}", ran.stdout);
        listed(&tap);
        says(&ran.json(), "version", "3.");
        says(&ran.json(), "members", "1 vote");
    }
    // What it may not read is an error that says so.
    let ran = look(&room, &reader(server.port()), "other");
    ran.refused(&["permission denied"]);
}

#[test]
fn etcd_shows_what_matters_to_a_lease() {
    let server = match EtcdServer::start() {
        Ok(server) => server,
        Err(why) => return skip("etcd_shows_what_matters_to_a_lease", &why),
    };
    let room = room();
    let _owner = Owner::start(&room, &server.url(), KEY, 30_000, 2000);
    let json = look_for(&room, &server.url(), KEY, "5s").json();
    says(&json, "role", "leader, member");
    says(&json, "alarms", "none");
    says(&json, "lease", "granted for 30 s");
    says(&json, "lease", "keys attached to it: 1");
    worries(&json, "members", "the only copy");
    assert_eq!(json["store"]["connections"], "not-by-this-store");
    let seen = json["lease"]["renewals"]["is"]["seen"].as_array().expect("renewals");
    assert!(!seen.is_empty(), "{json:#}");
    let by_hand = json["by_hand"].as_array().expect("commands");
    assert!(
        by_hand
            .iter()
            .any(|it| it.as_str().is_some_and(|it| it.contains("lease timetolive --keys ")))
    );
    // A lease with two keys.
    let lease = server.cli(&["lease", "grant", "600"]);
    let lease = lease.split(' ').nth(1).expect("an id");
    server.cli(&["put", "--lease", lease, "one", "x"]);
    server.cli(&["put", "--lease", lease, "two", "x"]);
    let json = look(&room, &server.url(), "one").json();
    worries(&json, "lease", "one keep-alive extends them all");
    // A queue, as `etcdctl lock` makes it.
    let mut queue = Vec::new();
    for _ in 0..2 {
        let lease = server.cli(&["lease", "grant", "600"]);
        // It is printed with zeros in front, which no place's name has.
        let lease = lease
            .split(' ')
            .nth(1)
            .expect("an id")
            .trim_start_matches('0')
            .to_owned();
        server.cli(&["put", "--lease", &lease, &format!("job/{lease}"), ""]);
        queue.push(lease);
    }
    let json = look(&room, &format!("{}?recipe=lock", server.url()), "job").json();
    says(
        &json,
        "waiters",
        &format!("1: /{0} (lease {0}, since revision ", queue[1]),
    );
    // Out of space.
    let other = EtcdServer::start_with(&["--quota-backend-bytes", "100000"]).expect("it started before");
    while other.cli_fails(&["put", "full", &"x".repeat(20_000)]).is_none() {}
    let json = look(&room, &other.url(), "full").json();
    worries(&json, "alarms", "every grant is refused");
}

#[test]
fn a_member_of_three_says_who_leads() {
    let members = match EtcdServer::start_cluster() {
        Ok(members) => members,
        Err(why) => return skip("a_member_of_three_says_who_leads", &why),
    };
    let room = room();
    for member in &members {
        let leads = member.leads();
        let json: Value = look(&room, &member.url(), KEY).json();
        says(&json, "members", "3 vote");
        // The leader may have changed in between.
        if leads == member.leads() {
            says(&json, "role", if leads { "leader, member" } else { "follower of " });
        }
    }
}
