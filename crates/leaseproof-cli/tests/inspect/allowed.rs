//! Read-only means it: as a user who may only read, every command on the wire is one of the written list.

use crate::redis_server::{RedisServer, skip};
use crate::rig::Room;
use crate::tap::Tap;
use std::collections::BTreeSet;

/// What the page says.
fn listed() -> Vec<String> {
    let page = include_str!("../../../../docs/inspect.md");
    let part = page
        .split("## What it sends")
        .nth(1)
        .expect("the page lists what is sent");
    let part = part.split("\n## ").next().expect("a section");
    part.lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned()))
        .collect()
}

#[test]
fn the_page_lists_what_the_code_allows() {
    let allowed: Vec<String> = leaseproof_store::ALLOWED
        .iter()
        .flat_map(|(_, list)| list.iter().map(|it| it.request.to_owned()))
        .collect();
    assert_eq!(listed(), allowed);
}

fn is_listed(command: &[String], listed: &[String]) -> bool {
    listed.iter().any(|entry| {
        let words: Vec<String> = entry.split(' ').map(str::to_ascii_uppercase).collect();
        command.len() >= words.len() && command[..words.len()] == words
    })
}

#[test]
fn only_what_is_listed_is_sent() {
    let server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return skip("only_what_is_listed_is_sent", &why),
    };
    let listed = listed();
    let room = Room::new();
    room.write("plan.toml", "[budget]\nttl = \"3s\"\nheartbeat = \"1s\"\n");
    server.cli(&[
        "ACL",
        "SETUSER",
        "reader",
        "on",
        ">geheim",
        "~*",
        "-@all",
        "+@read",
        "+@transaction",
        "+time",
        "+info",
        "+select",
        "+client|list",
        "+slowlog|get",
        "+config|get",
        "+monitor",
        "-@write",
    ]);
    // Less still: no INFO, no CLIENT LIST, no settings.
    server.cli(&[
        "ACL",
        "SETUSER",
        "least",
        "on",
        ">geheim",
        "~*",
        "-@all",
        "+@read",
        "+@transaction",
        "+time",
    ]);
    for (key, fill) in [
        ("lease", &["SET", "lease", "a#1#7", "PX", "600000"][..]),
        ("forever", &["SET", "forever", "x"]),
        ("hash", &["HSET", "hash", "f", "1"]),
        ("list", &["RPUSH", "list", "1"]),
        ("set", &["SADD", "set", "1"]),
        ("sorted", &["ZADD", "sorted", "1", "m"]),
        ("stream", &["XADD", "stream", "*", "f", "1"]),
        ("absent", &["PING"]),
    ] {
        server.cli(fill);
        for user in ["reader", "least"] {
            let tap = Tap::start(server.port());
            server.cli(&["CONFIG", "RESETSTAT"]);
            let url = format!("redis://{user}:geheim@127.0.0.1:{}/0", tap.port());
            let place = format!("127.0.0.1:{}", tap.port());
            let mut arguments = vec!["inspect", &url, key, "--json", "--quiet", "--for", "200ms"];
            arguments.extend(["--plan", "plan.toml"]);
            if user == "reader" {
                arguments.extend(["--monitor", "100ms", "--non-production", &place]);
            }
            let ran = room.run(&arguments);
            assert_eq!(ran.code, Some(3), "{user}, {key}: {ran:#?}");
            let sent = tap.commands();
            assert!(sent.len() > 10, "{user}, {key}: {sent:?}");
            for command in &sent {
                assert!(
                    is_listed(command, &listed),
                    "{user}, {key}: {command:?} is not in the list"
                );
            }
            let asks_to_watch = sent.iter().any(|command| command[0] == "MONITOR");
            assert_eq!(asks_to_watch, user == "reader");
            // What the server itself says of what it was sent.
            let stats = server.cli(&["INFO", "commandstats"]);
            let ran: BTreeSet<String> = stats
                .lines()
                .filter_map(|line| line.strip_prefix("cmdstat_")?.split(':').next())
                .map(|name| name.replace('|', " ").to_ascii_uppercase())
                .filter(|name| name != "CONFIG RESETSTAT")
                .collect();
            for name in &ran {
                let known = listed
                    .iter()
                    .any(|entry| entry.to_ascii_uppercase().starts_with(name.as_str()));
                assert!(known, "{user}, {key}: {name} was run");
            }
        }
    }
    // And nothing is changed by a look.
    assert_eq!(server.cli(&["GET", "lease"]), "a#1#7");
    assert_eq!(server.cli(&["DBSIZE"]), "7");
}
