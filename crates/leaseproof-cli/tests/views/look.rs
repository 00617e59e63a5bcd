//! A look by a user who may only read, and what is expected of it.

use crate::rig::{Ran, Room};
use crate::tap::Tap;
use leaseproof_store::ALLOWED;
use serde_json::Value;

/// The key that somebody holds.
pub const KEY: &str = "canary/demo";

/// The room, with a plan to compare with.
pub fn room() -> Room {
    let room = Room::new();
    room.write("plan.toml", "[budget]\nttl = \"30s\"\nheartbeat = \"1s\"\n");
    room
}

/// A look of a moment, at a key by a URL.
pub fn look(room: &Room, url: &str, key: &str) -> Ran {
    look_for(room, url, key, "300ms")
}

/// The same, for longer.
pub fn look_for(room: &Room, url: &str, key: &str, span: &str) -> Ran {
    let ran = room.run(&[
        "inspect",
        url,
        key,
        "--json",
        "--quiet",
        "--for",
        span,
        "--plan",
        "plan.toml",
        "--timeout",
        "10s",
    ]);
    ran.no_panic();
    assert!(
        !ran.stdout.contains("geheim") && !ran.stderr.contains("geheim"),
        "{ran:#?}"
    );
    ran
}

/// What the store says of itself under a name.
pub fn attribute<'a>(json: &'a Value, name: &str) -> &'a Value {
    let all = json["store"]["attributes"].as_array().expect("attributes");
    all.iter()
        .find(|it| it["name"] == name)
        .unwrap_or_else(|| panic!("{name} is missing: {json:#}"))
}

/// The text of it.
#[track_caller]
pub fn says(json: &Value, name: &str, part: &str) {
    let it = &attribute(json, name)["value"];
    let text = it["is"].as_str().or(it["withheld"].as_str()).unwrap_or_default();
    assert!(text.contains(part), "{name}: {part} is missing in {it}");
}

/// What it can do to a lease.
#[track_caller]
pub fn worries(json: &Value, name: &str, part: &str) {
    let it = attribute(json, name);
    assert!(
        it["concern"].as_str().is_some_and(|it| it.contains(part)),
        "{name}: {part} is missing in {it}"
    );
}

/// All that was sent is in the store's written list, and some of it was sent.
#[track_caller]
pub fn only_listed(kind: &str, tap: &Tap, names: impl Fn(&[u8]) -> Vec<String>, fits: impl Fn(&str, &str) -> bool) {
    let listed = ALLOWED.iter().find(|(store, _)| *store == kind).expect("a list").1;
    let sent: Vec<String> = tap.raw().iter().flat_map(|bytes| names(bytes)).collect();
    assert!(sent.len() > 3, "{sent:?}");
    for request in &sent {
        assert!(
            listed.iter().any(|it| fits(it.request, request)),
            "{request} is not in the list"
        );
    }
}
