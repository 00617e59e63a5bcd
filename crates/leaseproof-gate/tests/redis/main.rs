//! The functions and the scripts, on the real servers.

#[path = "../../../leaseproof-store/tests/redis_server/mod.rs"]
mod redis_server;

use leaseproof_gate::redis::{Fenced, UNDO, library, mark_of, script};
use redis_server::{RedisServer, skip};

/// How a server is called.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum By {
    Function,
    Script,
}

/// Command, token, the rest, and what comes back.
const STEPS: &[(Fenced, &str, &[&str], &str)] = &[
    (Fenced::Set, "5", &["v5"], "OK"),
    (Fenced::Set, "5", &["v5 again"], "OK"),
    (Fenced::Set, "4", &["v4"], "STALE token 4 is below 5"),
    (Fenced::Set, "10", &["v10"], "OK"),
    // As text 9 would be the greater one.
    (Fenced::Set, "9", &["v9"], "STALE token 9 is below 10"),
    (Fenced::Set, "0010", &["v10 again"], "OK"),
    (Fenced::Set, "10", &["with expiry", "PX", "100000"], "OK"),
    (Fenced::Del, "9", &[], "STALE token 9 is below 10"),
    (Fenced::Del, "11", &[], "1"),
    // A key that is gone and comes again has its old mark.
    (Fenced::Set, "10", &["back"], "STALE token 10 is below 11"),
    (Fenced::Hset, "10", &["f", "1"], "STALE token 10 is below 11"),
    (Fenced::Hset, "11", &["f", "1", "g", "2"], "2"),
    // Two that are one number to Lua.
    (Fenced::Hset, "9223372036854775807", &["f", "2"], "0"),
    (
        Fenced::Hset,
        "9223372036854775806",
        &["f", "3"],
        "STALE token 9223372036854775806 is below 9223372036854775807",
    ),
    (
        Fenced::Set,
        "9223372036854775808",
        &["v"],
        "FENCE the token is a whole number",
    ),
    (Fenced::Set, "-1", &["v"], "FENCE the token is a whole number"),
    (Fenced::Set, "1e3", &["v"], "FENCE the token is a whole number"),
    (Fenced::Set, " 5", &["v"], "FENCE the token is a whole number"),
    (Fenced::Set, "", &["v"], "FENCE the token is a whole number"),
];

fn call(server: &RedisServer, by: By, fenced: Fenced, keys: &[&str], arguments: &[&str]) -> String {
    let name = format!("fenced_{}", fenced.as_str());
    let script = script(fenced);
    let begin = match by {
        By::Function => ["FCALL", &name],
        By::Script => ["EVAL", &script],
    };
    let count = keys.len().to_string();
    server.cli(&[&begin[..], &[&count], keys, arguments].concat())
}

/// Servers that can be had here, and how each is called.
fn all(test: &str) -> Vec<(RedisServer, By)> {
    let mut all = Vec::new();
    match RedisServer::start() {
        Ok(server) => {
            assert_eq!(server.cli(&["FUNCTION", "LOAD", "REPLACE", &library()]), "leaseproof");
            all.push((server, By::Function));
        }
        Err(why) => skip(test, &why),
    }
    all.extend(RedisServer::start().ok().map(|server| (server, By::Script)));
    match RedisServer::start_other() {
        Some(Ok(server)) => all.push((server, By::Script)),
        Some(Err(why)) => skip(test, &why),
        None => skip(test, "there is no other Redis (LEASEPROOF_REDIS_OTHER)"),
    }
    all
}

#[test]
fn each_call_on_each_server() {
    for (server, by) in all("each_call_on_each_server") {
        let mark = mark_of("account:7").expect("a mark");
        for (fenced, token, rest, says) in STEPS {
            let got = call(
                &server,
                by,
                *fenced,
                &["account:7", &mark],
                &[&[*token], *rest].concat(),
            );
            assert!(got.starts_with(says), "{by:?}: {fenced:?} {token}: {got}");
        }
        assert_eq!(server.cli(&["HGET", "account:7", "f"]), "2");
        assert_eq!(server.cli(&["TTL", &mark]), "-1", "a mark never expires");
        // A write that fails has raised the mark at most.
        let got = call(
            &server,
            by,
            Fenced::Hset,
            &["account:8", "{account:8}:fence"],
            &["5", "f"],
        );
        assert!(got.to_lowercase().contains("wrong number of arg"), "{by:?}: {got}");
        let got = call(
            &server,
            by,
            Fenced::Set,
            &["account:8", "{account:8}:fence"],
            &["4", "v"],
        );
        assert!(got.starts_with("STALE"), "{by:?}: {got}");
    }
}

#[test]
fn the_mark_of_another_key_is_refused() {
    for (server, by) in all("the_mark_of_another_key_is_refused") {
        for (keys, says) in [
            (&["a", "{b}:fence"][..], "FENCE the mark of this key is {a}:fence"),
            (&["a"], "FENCE give two keys"),
            (
                &["{a}:fence", "{a}:fence:fence"],
                "FENCE a key that ends in :fence is a mark",
            ),
            (&["a}b", "{a}b}:fence"], "FENCE no mark can be in the slot"),
        ] {
            let got = call(&server, by, Fenced::Set, keys, &["5", "v"]);
            assert!(got.starts_with(says), "{by:?}: {keys:?}: {got}");
        }
        server.cli(&["SET", "{a}:fence", "mine"]);
        let got = call(&server, by, Fenced::Set, &["a", "{a}:fence"], &["5", "v"]);
        assert!(got.contains("somebody else wrote to it"), "{by:?}: {got}");
    }
}

#[test]
fn key_and_mark_are_in_one_slot() {
    let server = match RedisServer::start_with(&["--cluster-enabled", "yes"]) {
        Ok(server) => server,
        Err(why) => return skip("key_and_mark_are_in_one_slot", &why),
    };
    server.cli(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    for _ in 0..500 {
        if server.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    server.cli(&["FUNCTION", "LOAD", "REPLACE", &library()]);
    for key in ["a", "account:7", "{user}:a", "a{user}b", "a{b", "{", "x{{y}z", "ä ö"] {
        let mark = mark_of(key).expect("a mark");
        assert_eq!(
            server.cli(&["CLUSTER", "KEYSLOT", key]),
            server.cli(&["CLUSTER", "KEYSLOT", &mark]),
            "{key} {mark}"
        );
        for by in [By::Function, By::Script] {
            assert_eq!(
                call(&server, by, Fenced::Set, &[key, &mark], &["5", "v"]),
                "OK",
                "{key} {mark}"
            );
        }
    }
    for key in ["a}b", "a{}b", "}", "a:fence"] {
        assert!(mark_of(key).is_err(), "{key}");
    }
}

/// A reader that was paused between its read and its fill of the cache: the version of what it read is its token.
#[test]
fn a_stale_cache_fill_stays_out() {
    for (server, by) in all("a_stale_cache_fill_stays_out") {
        let keys = ["cache:7", "{cache:7}:fence"];
        let fill =
            |version: &str, value: &str| call(&server, by, Fenced::Set, &keys, &[version, value, "PX", "100000"]);
        assert_eq!(fill("1", "first"), "OK");
        // Another one changed the value meanwhile, and took the cached one away.
        assert_eq!(call(&server, by, Fenced::Del, &keys, &["2"]), "1");
        assert!(fill("1", "first").starts_with("STALE"), "{by:?}");
        assert_eq!(server.cli(&["GET", "cache:7"]), "", "{by:?}");
        assert_eq!(fill("2", "second"), "OK");
        // The value expires, the mark does not.
        server.cli(&["PEXPIRE", "cache:7", "0"]);
        assert!(fill("1", "first").starts_with("STALE"), "{by:?}");
        assert_eq!(fill("2", "second"), "OK");
    }
}

#[test]
fn undone() {
    let Ok(server) = RedisServer::start() else {
        return skip("undone", "there is no redis-server");
    };
    server.cli(&["FUNCTION", "LOAD", "REPLACE", &library()]);
    let words: Vec<&str> = UNDO.split_whitespace().collect();
    assert_eq!(server.cli(&words), "OK");
    assert!(
        server
            .cli(&["FCALL", "fenced_set", "2", "a", "{a}:fence", "1", "v"])
            .contains("not found")
    );
}
