//! A look at ZooKeeper.

use crate::bad::watch_key;
use crate::look::{KEY, attribute, look, only_listed, room, says, worries};
use crate::owner::Owner;
use crate::postgres_server::skip;
use crate::tap::Tap;
use crate::wire::zookeeper;
use crate::zookeeper_server::ZooKeeperServer;

/// The server, or the end of the test.
macro_rules! server {
    ($test:expr, $settings:expr) => {
        match ZooKeeperServer::start_with($settings) {
            Ok(server) => server,
            Err(why) => return skip($test, &why),
        }
    };
}

#[test]
fn zookeeper_as_a_user_who_may_only_read() {
    let server = server!("zookeeper_as_a_user_who_may_only_read", "");
    let room = room();
    let _owner = Owner::start(&room, &server.url(), KEY, 30_000, 300);
    // Data of their own; and one that this user may look at and do nothing else with.
    server.cli("create /forever geheim");
    server.cli("create /queue");
    server.cli("create /queue/one x");
    server.cli(&format!("create /long {}", "geheim".repeat(1000)));
    server.cli("addauth digest reader:geheim");
    server.cli("create /closed geheim auth::r");
    server.cli("create /hidden geheim digest:other:kXw4u0Ck3iN8Nw4Fq6h1mHkYp3w=:cdrwa");
    for (key, part) in [
        (KEY, "is not shown by this store"),
        ("forever", "the node is no ephemeral"),
        ("absent", "there is no node"),
        // As zkCli and kazoo write it.
        ("/closed", "digest:reader r"),
        ("queue", "a node with another below it"),
        ("long", "a node with 6000 bytes"),
        ("closed", "digest:reader r"),
    ] {
        let tap = Tap::start(server.port());
        let url = format!("zookeeper://reader:geheim@127.0.0.1:{}", tap.port());
        let ran = look(&room, &url, key);
        assert_eq!(ran.code, Some(3), "{key}: {ran:#?}");
        assert!(ran.stdout.contains(part), "{key}: {part} is missing in {}", ran.stdout);
        only_listed("zookeeper", &tap, zookeeper, |listed, sent| listed == sent);
        says(&ran.json(), "version", "3.");
        says(&ran.json(), "role", "standalone");
    }
    let url = format!("zookeeper://reader:geheim@127.0.0.1:{}", server.port());
    look(&room, &url, "hidden").refused(&["may not use the key hidden"]);
}

#[test]
fn zookeeper_shows_the_session_and_its_connection() {
    let server = server!("zookeeper_shows_the_session_and_its_connection", "");
    let room = room();
    let owner = Owner::start(&room, &server.url(), KEY, 30_000, 300);
    let pid = owner.pid().to_string();
    let ran = room.run(&[
        "inspect",
        &server.url(),
        KEY,
        "--json",
        "--quiet",
        "--for",
        "300ms",
        "--owner-pid",
        &pid,
    ]);
    let json = ran.json();
    says(&json, "session", "time-out 30000 ms as negotiated");
    says(&json, "state", "last transaction 0x");
    worries(&json, "ACL", "anybody who reaches the server");
    let candidate = &json["store"]["connections"]["is"]["candidates"][0];
    assert_eq!(candidate["certain"], true, "{json:#}");
    assert!(
        candidate["why"]
            .as_str()
            .is_some_and(|it| it.contains("is the named process's")),
        "{json:#}"
    );
    let unseen = |json: &serde_json::Value| {
        let missing = json["first"]["missing"].to_string();
        missing.contains("is not seen to be the holder: the holder's connection comes from")
    };
    assert!(!unseen(&json), "{json:#}");
    // Another client of the same server.
    let other = Owner::start(&room, &server.url(), "canary/other", 30_000, 300);
    let other = other.pid().to_string();
    let all = [
        "inspect",
        &server.url(),
        KEY,
        "--json",
        "--for",
        "300ms",
        "--owner-pid",
        &other,
    ];
    let shown = room.run(&all).json();
    assert!(unseen(&shown), "{shown:#}");
    // Two suspects: the one that holds comes first, however they were named.
    let both = [&all[..], &["--owner-pid", &pid, "--owner-pid", &other]].concat();
    let shown = room.run(&both).json();
    let holds = |owner: &serde_json::Value| owner["holds"]["it_does"].as_str().map(str::to_owned);
    assert_eq!(shown["owner"]["process"]["pid"].to_string(), pid, "{shown:#}");
    assert_eq!(holds(&shown["owner"]).as_deref(), Some("yes"), "{shown:#}");
    assert_eq!(
        shown["others"].as_array().map(Vec::len),
        Some(1),
        "named twice, and looked at once"
    );
    assert_eq!(holds(&shown["others"][0]).as_deref(), Some("cannot-tell"), "{shown:#}");
    let why = shown["others"][0]["holds"]["says"].to_string();
    assert!(why.contains("none of its"), "{why}");
    // Renewals don't show here: that is said, and not that there was none.
    assert_eq!(json["lease"]["renewals"], "not-by-this-store");
    let text = room
        .run(&["inspect", &server.url(), KEY, "--for", "300ms", "--plan", "plan.toml"])
        .stdout;
    assert!(text.contains("renewals are not shown by this store"), "{text}");
    assert!(!text.contains("no renewal"), "{text}");
}

#[test]
fn who_waits_in_a_queue_is_listed() {
    let server = server!("who_waits_in_a_queue_is_listed", "");
    server.cli("create /queue");
    for _ in 0..3 {
        server.cli("create -s /queue/x__lock__ worker");
    }
    let room = room();
    let url = format!("{}?recipe=lock", server.url());
    let tap = Tap::start(server.port());
    let tapped = format!("zookeeper://127.0.0.1:{}?recipe=lock", tap.port());
    for url in [&url, &tapped] {
        let json = look(&room, url, "queue").json();
        says(&json, "waiters", "2: x__lock__0000000001 (worker#");
        says(&json, "waiters", ", x__lock__0000000002 (worker#");
    }
    only_listed("zookeeper", &tap, zookeeper, |listed, sent| listed == sent);
}

#[test]
fn a_server_without_words_says_so() {
    let server = server!("a_server_without_words_says_so", "4lw.commands.whitelist=srvr");
    let room = room();
    let _owner = Owner::start(&room, &server.url(), KEY, 30_000, 300);
    let json = look(&room, &server.url(), KEY).json();
    says(&json, "role", "standalone");
    says(&json, "session", "its time-out shows where it is connected");
    let why = json["store"]["connections"]["withheld"]
        .as_str()
        .expect("it is withheld");
    assert!(why.contains("4lw.commands.whitelist"), "{why}");
    assert!(attribute(&json, "sessions")["value"]["is"].is_string());
}

/// A session of another client, which writes no TTL of its own: the server tells its time-out, and the plan has 3 s.
#[test]
fn another_s_session_against_the_plan_bad() {
    let server = server!("another_s_session_against_the_plan_bad", "");
    server.cli("create -e /foreign somebody");
    let ran = watch_key(&room(), &server.url(), "foreign");
    let told = ran.stdout.lines().find(|line| line.contains("TTL DIFFERS"));
    let told = told.unwrap_or_else(|| panic!("{ran:#?}"));
    assert!(
        told.contains("the TTL in force is 30000 ms, and the plan says 3000 ms") && told.ends_with("(LP022)"),
        "{told}"
    );
}
