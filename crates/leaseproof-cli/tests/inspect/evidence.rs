//! What is kept, and the documents.

use crate::owner::Owner;
use crate::redis_server::{RedisServer, skip};
use crate::rig::Room;
use crate::schema::inspect_1;
use std::os::unix::fs::PermissionsExt as _;

const KEY: &str = "canary/demo";

#[test]
fn the_document_follows_its_schema() {
    let server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return skip("the_document_follows_its_schema", &why),
    };
    let room = Room::new();
    room.write("plan.toml", "[budget]\nttl = \"3s\"\nheartbeat = \"400ms\"\n");
    let owner = Owner::start(&room, &server.url(), KEY, 3000, 400);
    let (url, pid) = (server.url(), owner.pid().to_string());
    let place = format!("127.0.0.1:{}", server.port());
    server.cli(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
    server.cli(&["HSET", "hash", "f", "1"]);
    server.cli(&["SET", "forever", "x"]);
    for more in [
        &[&url, KEY, "--for", "2s", "--plan", "plan.toml", "--owner-pid", &pid][..],
        &[
            &url,
            KEY,
            "--for",
            "200ms",
            "--monitor",
            "600ms",
            "--non-production",
            &place,
        ],
        &[&url, "absent", "--for", "200ms"],
        &[&url, "hash"],
        &[&url, "forever", "--for", "200ms"],
        &["redis://127.0.0.1:1", KEY],
    ] {
        let all: Vec<&str> = ["inspect", "--json", "--quiet"].iter().chain(more).copied().collect();
        let ran = room.run(&all);
        assert!(matches!(ran.code, Some(0 | 3)), "{ran:#?}");
        let errors = inspect_1().errors(&ran.json());
        assert!(errors.is_empty(), "{more:?}: {errors:#?}");
    }
}

#[test]
fn evidence_is_kept_closed_and_never_overwritten() {
    let server = match RedisServer::start_with(&["--requirepass", "geheim"]) {
        Ok(server) => server,
        Err(why) => return skip("evidence_is_kept_closed_and_never_overwritten", &why),
    };
    let room = Room::new();
    let url = format!("redis://:geheim@127.0.0.1:{}", server.port());
    server.cli(&["-a", "geheim", "SET", KEY, "schluessel", "PX", "60000"]);
    let arguments = ["inspect", &url, KEY, "--for", "300ms", "--save", "kept"];
    let ran = room.run(&arguments);
    ran.cannot_tell(&["evidence kept"]);
    let folder = room.path().join("kept");
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(
            !text.contains("geheim") && !text.contains("schluessel"),
            "{}",
            path.display()
        );
        names.push(path.file_name().expect("a name").to_string_lossy().into_owned());
    }
    names.sort();
    assert_eq!(names, ["events.jsonl", "inspect.json", "store.json"]);
    let events = std::fs::read_to_string(folder.join("events.jsonl")).expect("text");
    assert!(
        events.starts_with("{\"header\":{\"schema\":\"leaseproof.events/1\""),
        "{events:.200}"
    );
    assert!(events.lines().count() > 3);
    room.run(&arguments)
        .refused(&["is not empty, and evidence is never overwritten", "--save DIR"]);
    let all = ["inspect", &url, KEY, "--save", "/proc/nope"];
    room.run(&all).refused(&["can't be kept in /proc/nope"]);
    // A store that does not answer is evidence, too.
    let ran = room.run(&["inspect", "redis://127.0.0.1:1", KEY, "--save", "down"]);
    ran.cannot_tell(&["no store answers"]);
    assert!(room.path().join("down/inspect.json").exists());
}
