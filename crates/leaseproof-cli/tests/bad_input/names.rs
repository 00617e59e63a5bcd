//! Names are hostile input: they are kept as they are, and shown as text.

use crate::redis_server::{RedisServer, skip};
use crate::rig::Room;

#[test]
fn hostile_keys_ok() {
    let server = RedisServer::start();
    if let Err(why) = &server {
        skip("hostile_keys_ok on redis", why);
    }
    let long = format!("canary/{}", "x".repeat(1000));
    let keys = [
        "canary/</script><img src=x onerror=alert(1)>",
        "canary/\u{43a}\u{43b}\u{44e}\u{447} \u{2603} \u{202e}abc",
        "canary/a\nb\tc\u{1b}[31mred",
        "canary/{key}{store}%s$(id)`id`'\"\\..",
        long.as_str(),
    ];
    for key in keys {
        let room = Room::new();
        let mut stores = vec!["sqlite:locks.db".to_owned()];
        stores.extend(server.as_ref().map(RedisServer::url));
        for store in stores {
            let ran = room.quick_proven(&["--key", key, "--store", &store]);
            assert!(!ran.stdout.contains('\u{1b}'), "{ran:#?}");
            assert!(!ran.stderr.contains('\u{1b}'), "{ran:#?}");
            let bundle = room.bundles().pop().expect("a bundle");
            let record = std::fs::read_to_string(bundle.join("events.jsonl")).expect("the record");
            let begun = record.lines().nth(1).expect("a scenario begins");
            let begun: serde_json::Value = serde_json::from_str(begun).expect("JSON");
            let kept = begun["scenario"]["ask"]["key"].as_str().expect("the key");
            assert!(kept.starts_with(&format!("{key}/")), "{kept}");
            let page = std::fs::read_to_string(bundle.join("report.html")).expect("the report");
            assert!(!page.contains("<img src=x"), "the key is markup in the report");
        }
        room.nothing_left(&[]);
    }
    if let Ok(server) = server {
        assert_eq!(server.cli(&["--scan"]), "", "keys are left in the store");
    }
}
