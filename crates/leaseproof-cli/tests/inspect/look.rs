//! What a look sees, of a lease whose truth is known.

use crate::owner::Owner;
use crate::redis_server::{RedisServer, skip};
use crate::rig::{Ran, Room};
use crate::tap::ask;
use leaseproof_proc::cgroup::{self, Cgroup};
use serde_json::Value;
use std::time::Duration;

const KEY: &str = "canary/demo";

/// A busy machine may make a sound owner's look "cannot tell": so often it is tried.
const TRIES: usize = 4;

/// The server, or the end of the test.
macro_rules! server {
    ($test:expr) => {
        match RedisServer::start() {
            Ok(server) => server,
            Err(why) => return skip($test, &why),
        }
    };
}

fn plan(room: &Room, name: &str, ttl: &str, heartbeat: &str, pause: &str) -> String {
    let text = format!("[budget]\nttl = \"{ttl}\"\nheartbeat = \"{heartbeat}\"\nworst_pause = \"{pause}\"\n");
    room.write(name, &text);
    name.to_owned()
}

fn look(room: &Room, arguments: &[&str]) -> (Ran, Value) {
    let all: Vec<&str> = ["inspect", "--json", "--quiet"]
        .iter()
        .chain(arguments)
        .copied()
        .collect();
    let ran = room.run(&all);
    ran.no_panic();
    let json = ran.json();
    (ran, json)
}

/// The look, as often as it takes until it has this exit status.
fn until(room: &Room, arguments: &[&str], status: i32) -> Value {
    for _ in 1..TRIES {
        let (ran, json) = look(room, arguments);
        if ran.code == Some(status) {
            return json;
        }
    }
    let (ran, json) = look(room, arguments);
    assert_eq!(ran.code, Some(status), "{}", ran.stdout);
    json
}

fn check<'a>(json: &'a Value, name: &str) -> &'a Value {
    let checks = json["plan"]["checks"].as_array().expect("checks");
    checks.iter().find(|it| it["name"] == name).expect(name)
}

fn rules(json: &Value) -> Vec<&str> {
    let all = json["findings"].as_array().expect("findings");
    all.iter().filter_map(|it| it["rule"].as_str()).collect()
}

#[test]
fn a_sound_owner_ok() {
    let server = server!("a_sound_owner_ok");
    let room = Room::new();
    let plan = plan(&room, "plan.toml", "3s", "400ms", "1500ms");
    let owner = Owner::start(&room, &server.url(), KEY, 3000, 400);
    let pid = owner.pid().to_string();
    let url = server.url();
    let json = until(&room, &[&url, KEY, "--plan", &plan, "--for", "3s"], 0);
    assert_eq!(
        (json["verdict"].as_str(), json["first"]["side"].as_str()),
        (Some("proven"), Some("neither"))
    );
    let lease = &json["lease"];
    assert!(
        lease["at_last"]["holder"]
            .as_str()
            .is_some_and(|holder| holder.starts_with("a1#")),
        "{lease:#}"
    );
    assert_eq!(lease["at_last"]["token"], 1);
    let seen = lease["renewals"]["is"]["seen"].as_array().expect("renewals");
    assert!(seen.len() >= 3, "{lease:#}");
    assert!(
        lease["watched"]["readings"].as_u64().is_some_and(|count| count <= 151),
        "{lease:#}"
    );
    assert_eq!(check(&json, "ttl")["holds"], "yes");
    assert_eq!(lease["happened"], Value::Array(Vec::new()));
    // Its process, on its own host.
    let json = look(&room, &[&url, KEY, "--owner-pid", &pid, "--for", "500ms"]).1;
    let (store, owner) = (&json["store"], &json["owner"]);
    let sockets = owner["sockets"]["is"].as_array().expect("its connections");
    let candidate = &store["connections"]["is"]["candidates"][0];
    assert_eq!(candidate["certain"], true, "{store:#}");
    assert!(
        sockets.iter().any(|it| it["local"] == candidate["address"]),
        "{owner:#}"
    );
    assert!(owner["threads"].as_array().is_some_and(|threads| !threads.is_empty()));
    let unseen = |json: &Value| {
        json["first"]["missing"]
            .to_string()
            .contains("is not seen to be the holder")
    };
    assert!(!unseen(&json), "{json:#}");
    // This test has no connection to the store, and renews nothing.
    let own = std::process::id().to_string();
    let json = look(&room, &[&url, KEY, "--owner-pid", &own, "--for", "1500ms"]).1;
    assert!(unseen(&json), "{json:#}");
    // For people it says the same.
    let text = room.run(&["inspect", &url, KEY, "--owner-pid", &pid, "--for", "500ms"]);
    for part in ["holder       a1#", "redis-cli -h 127.0.0.1", "established", "watched"] {
        assert!(text.stdout.contains(part), "{part} is missing in {}", text.stdout);
    }
    assert!(text.stderr.contains("reading the lease for 500ms"), "{}", text.stderr);
}

#[test]
fn numbers_that_differ_from_the_plan_bad() {
    let server = server!("numbers_that_differ_from_the_plan_bad");
    let room = Room::new();
    let _owner = Owner::start(&room, &server.url(), KEY, 2000, 500);
    let url = server.url();
    // Told, and no violation: the budget holds with the TTL in force.
    let told = plan(&room, "told.toml", "4s", "500ms", "1000ms");
    let json = until(&room, &[&url, KEY, "--plan", &told, "--for", "2500ms"], 0);
    assert_eq!(rules(&json), ["LP022"]);
    assert_eq!(check(&json, "budget")["holds"], "yes");
    // The margin that the plan counts on is not there.
    let thin = plan(&room, "thin.toml", "4s", "500ms", "2500ms");
    let json = until(&room, &[&url, KEY, "--plan", &thin, "--for", "2500ms"], 1);
    assert_eq!(rules(&json), ["LP022", "LP019"]);
    // Renewed more rarely than the plan says.
    let often = plan(&room, "often.toml", "2s", "100ms", "1500ms");
    let json = until(&room, &[&url, KEY, "--plan", &often, "--for", "2500ms"], 1);
    assert_eq!(check(&json, "cadence")["holds"], "no");
    assert_eq!(json["first"]["side"], "owner");
}

#[test]
fn a_stopped_owner_is_looked_at_first() {
    let server = server!("a_stopped_owner_is_looked_at_first");
    let room = Room::new();
    let owner = Owner::start(&room, &server.url(), KEY, 2500, 500);
    owner.stop();
    let pid = owner.pid().to_string();
    let (ran, json) = look(&room, &[&server.url(), KEY, "--owner-pid", &pid, "--for", "4s"]);
    assert_eq!(ran.code, Some(3), "{json:#}");
    assert_eq!(json["first"]["side"], "owner");
    assert_eq!(json["owner"]["state"], "stopped");
    assert_eq!(json["owner"]["threads"][0]["state"], "T");
    let happened = json["lease"]["happened"].as_array().expect("changes");
    let last = happened.last().expect("it expired");
    // Where a busy machine let nothing be read for longer than what was left, the end may have been another.
    let between = last["between_ms"]
        .as_array()
        .map(|it| it[1].as_f64().zip(it[0].as_f64()));
    let apart = between.flatten().map_or(0.0, |(to, from)| to - from);
    let what = last["what"].as_str();
    assert!(
        what == Some("expired") || (what == Some("ended") && apart > 100.0),
        "{happened:#?}"
    );
    // Without its pid the store's readings alone say the same side, and what would tell more.
    let again = Owner::start(&room, &server.url(), "canary/other", 2500, 500);
    again.stop();
    let json = look(&room, &[&server.url(), "canary/other", "--for", "4s"]).1;
    assert_eq!(json["first"]["side"], "owner", "{:#}", json["first"]);
    assert!(
        json["first"]["missing"][0]["how"]
            .as_str()
            .is_some_and(|how| how.contains("--owner-pid"))
    );
}

#[test]
fn a_frozen_owner_is_looked_at_first() {
    let server = server!("a_frozen_owner_is_looked_at_first");
    let room = Room::new();
    let owner = Owner::start(&room, &server.url(), KEY, 60_000, 500);
    let frozen = match Frozen::new(owner.pid()) {
        Ok(frozen) => frozen,
        Err(why) => return skip("a_frozen_owner_is_looked_at_first", &why),
    };
    let pid = owner.pid().to_string();
    let json = look(&room, &[&server.url(), KEY, "--owner-pid", &pid, "--for", "500ms"]).1;
    drop(frozen);
    assert_eq!(json["owner"]["state"], "frozen", "{:#}", json["owner"]);
    assert_eq!(json["first"]["side"], "owner");
}

/// A control group of the test's own with a frozen process in it; thawed and removed with it.
struct Frozen(Cgroup);

impl Frozen {
    fn new(pid: u32) -> Result<Self, String> {
        let group = Cgroup::at(cgroup::home()?.join(format!("leaseproof-inspect-{pid}")));
        group.create().map_err(|error| error.to_string())?;
        let frozen = Self(group);
        frozen
            .0
            .add(pid)
            .and_then(|()| frozen.0.freeze())
            .map_err(|error| error.to_string())?;
        crate::rig::until("it is frozen", || frozen.0.is_frozen().unwrap_or(false));
        Ok(frozen)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = self.0.thaw();
        let _ = self.0.kill();
        let _ = self.0.remove(Duration::from_secs(5));
    }
}

#[test]
fn a_store_that_stops_answering_is_looked_at_first() {
    let server = server!("a_store_that_stops_answering_is_looked_at_first");
    let room = Room::new();
    let _owner = Owner::start(&room, &server.url(), KEY, 60_000, 200);
    let url = server.url();
    let child = room.spawn(&[
        "inspect",
        &url,
        KEY,
        "--json",
        "--for",
        "3s",
        "--timeout",
        "300ms",
        "--save",
        "kept",
    ]);
    let kept = room.path().join("kept/events.jsonl");
    crate::rig::until("the first readings are kept", || {
        std::fs::metadata(&kept).map_or(0, |file| file.len()) >= 5000
    });
    server.freeze();
    let ran = Ran::from(child.wait_with_output().expect("it ends"));
    server.thaw();
    assert_eq!(ran.code, Some(3), "{ran:#?}");
    let json = ran.json();
    assert_eq!(json["first"]["side"], "store", "{:#}", json["first"]);
    assert!(
        json["lease"]["watched"]["failed"]
            .as_u64()
            .is_some_and(|failed| failed > 0)
    );
}

#[test]
fn the_embedded_store_ok() {
    let room = Room::new();
    let _owner = Owner::start(&room, "sqlite:locks.db", KEY, 3000, 400);
    let plan = plan(&room, "plan.toml", "3s", "400ms", "1500ms");
    let json = until(&room, &["sqlite:locks.db", KEY, "--plan", &plan, "--for", "3s"], 0);
    let lease = &json["lease"];
    // The row itself has the moment of each renewal.
    for it in lease["renewals"]["is"]["seen"].as_array().expect("renewals") {
        assert_eq!(it["plus_minus_ms"], 0.0, "{it}");
    }
    assert_eq!(json["store"]["slow_log"], "not-by-this-store");
    let text = room.run(&["inspect", "sqlite:locks.db", KEY, "--for", "200ms"]).stdout;
    assert!(text.contains("slow log     not shown by this store"), "{text}");
    assert!(text.contains("sqlite3 -readonly -line locks.db"), "{text}");
}

#[test]
fn what_passes_at_the_server_only_where_it_is_named() {
    let server = server!("what_passes_at_the_server_only_where_it_is_named");
    let room = Room::new();
    let (url, place) = (server.url(), format!("127.0.0.1:{}", server.port()));
    room.run(&["inspect", &url, KEY, "--monitor", "1s"])
        .refused_by_clap("--non-production");
    room.run(&[
        "inspect",
        &url,
        KEY,
        "--monitor",
        "1s",
        "--non-production",
        "127.0.0.1:6379",
    ])
    .refused(&[
        "is not named as one that is not in production",
        &format!("--non-production {place}"),
    ]);
    room.run(&["inspect", &url, KEY, "--monitor", "1h", "--non-production", &place])
        .refused(&["--monitor: 3600s is not between"]);
    let _owner = Owner::start(&room, &url, KEY, 3000, 300);
    let ran = look(
        &room,
        &[
            &url,
            KEY,
            "--for",
            "200ms",
            "--monitor",
            "1s",
            "--non-production",
            &place,
        ],
    )
    .0;
    let json = ran.json();
    let seen = json["store"]["monitored"]["is"]["on_key"]
        .as_array()
        .expect("commands")
        .clone();
    let renewal = |it: &&Value| it["command"] == format!("PEXPIRE {KEY} 3000");
    assert!(seen.iter().find(renewal).is_some(), "{seen:#?}");
    // What an owner stores is its secret: whoever knows it can release the lease.
    let stored = server.cli(&["GET", KEY]);
    assert!(!ran.stdout.contains(&stored), "{}", ran.stdout);
}

#[test]
fn keys_that_no_text_can_name_ok() {
    let server = server!("keys_that_no_text_can_name_ok");
    let room = Room::new();
    let key = b"lock\xff\n1";
    ask(server.port(), &[b"SET", key, b"a#1#7", b"PX", b"60000"]);
    let json = look(&room, &[&server.url(), "--key-hex", "6c6f636bff0a31", "--for", "200ms"]).1;
    assert_eq!(json["key"], "lock\\xff\\x0a1");
    assert_eq!(json["lease"]["at_last"]["token"], 7);
    // The bytes themselves, where a shell can hand them over.
    use std::os::unix::ffi::OsStrExt as _;
    let url = server.url();
    let arguments = [b"inspect", url.as_bytes(), key, b"--for", b"200ms"].map(std::ffi::OsStr::from_bytes);
    let ran = Ran::from(room.command(arguments).output().expect("it runs"));
    assert!(ran.stdout.contains("lock\\xff\\x0a1 on redis://"), "{ran:#?}");
    assert!(ran.stdout.contains("PTTL $'lock\\xff\\x0a1'"), "{ran:#?}");
    for (hex, part) in [("6c6", "is not hex"), ("zz", "is not hex"), ("", "the key is empty")] {
        room.run(&["inspect", &url, "--key-hex", hex]).refused(&[part]);
    }
    // The monitor, too.
    let watch = |hex: &str| {
        let plan = [
            "--ttl",
            "60s",
            "--heartbeat",
            "20s",
            "--worst-pause",
            "10s",
            "--listen",
            "127.0.0.1:0",
        ];
        let all = ["watch", "--store", &url, "--for", "1500ms", "--key-hex", hex];
        room.run(&[&all[..], &plan].concat())
    };
    let ran = watch("6c6f636bff0a31");
    assert!(ran.stdout.contains("watching 1 lease"), "{ran:#?}");
    // A busy host may have kept it from looking all the time.
    let reasons = ran.stdout.lines().filter(|line| line.starts_with("cannot tell"));
    assert!(
        reasons
            .clone()
            .all(|it| it.contains("did not run for") || it.contains("were due")),
        "{ran:#?}"
    );
    assert_eq!(ran.code, Some(if reasons.count() > 0 { 3 } else { 0 }), "{ran:#?}");
    watch("6c6f636bff0a32").cannot_tell(&["no reading shows it held: lock\\xff\\x0a2"]);
    watch("6c6").refused(&["--key-hex", "is not hex"]);
    room.run(&["inspect", "sqlite:nope.db", "--key-hex", "ff"])
        .refused(&["nope.db"]);
}
