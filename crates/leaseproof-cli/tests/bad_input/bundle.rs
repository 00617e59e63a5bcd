//! `--judge` on what is no bundle, or no whole one.

use crate::rig::{Room, quickly};
use std::path::{Path, PathBuf};

fn copy(bundle: &Path, to: &Path, change: impl FnOnce(Vec<String>) -> String) -> String {
    std::fs::create_dir_all(to).expect("a folder");
    let text = std::fs::read_to_string(bundle.join("events.jsonl")).expect("the record");
    let lines = text.lines().map(str::to_owned).collect();
    std::fs::write(to.join("events.jsonl"), change(lines)).expect("a file");
    to.display().to_string()
}

fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

#[test]
fn judge_bad() {
    let room = Room::new();
    let ran = room.quick_proven(&["--json"]);
    let bundle: PathBuf = room.bundles().pop().expect("a bundle");
    let judge = |dir: &str| room.run(&["verify", "--judge", dir, "--json"]);

    // Whole: the same verdict again, and nothing is written.
    let before = room.files();
    let again = judge(bundle.to_str().expect("UTF-8"));
    again.proven();
    for part in ["scenarios", "not_offered", "verdict", "incomplete"] {
        assert_eq!(again.json()[part], ran.json()[part], "{part}");
    }
    assert_eq!(room.files(), before);

    let place = room.path().join("copies");
    // No bundle at all.
    let nowhere = place.display().to_string();
    judge(&nowhere).refused(&["events.jsonl can't be read", "name a run's folder"]);
    for (name, text) in [("text", "hello\nworld\n"), ("toml", "[budget]\n[store]\n")] {
        let dir = copy(&bundle, &place.join(name), |_| text.to_owned());
        judge(&dir).refused(&["it has no header line, so it is no bundle"]);
    }
    // Of another schema.
    let dir = copy(&bundle, &place.join("schema"), |lines| {
        joined(&lines).replacen("leaseproof.events/1", "leaseproof.events/99", 1)
    });
    judge(&dir).refused(&["leaseproof.events/99", "this release reads `leaseproof.events/1`"]);

    // Cut: at the end of a line, in the middle of one, and after the header.
    for (name, keep) in [("cut-line", 0), ("cut-half", 20)] {
        let dir = copy(&bundle, &place.join(name), |lines| {
            joined(&lines[..lines.len() / 2]) + &lines[lines.len() / 2][..keep]
        });
        let ran = judge(&dir);
        assert_eq!(
            (ran.code, ran.json()["verdict"].as_str()),
            (Some(3), Some("cannot-tell")),
            "{name}"
        );
    }
    // Killed: its report is there and empty, so there is none to look at.
    let dir = copy(&bundle, &place.join("killed"), |lines| {
        joined(&lines[..lines.len() / 2])
    });
    std::fs::write(Path::new(&dir).join("report.html"), "").expect("a file");
    let ran = room.run(&["verify", "--judge", &dir]);
    assert!(!ran.stdout.contains("report.html"), "{ran:#?}");
    assert!(ran.stdout.contains("bundle  "), "{ran:#?}");
    let dir = copy(&bundle, &place.join("cut-header"), |lines| joined(&lines[..1]));
    assert_eq!(judge(&dir).code, Some(3));
    // Its last line alone is missing.
    let dir = copy(&bundle, &place.join("cut-end"), |lines| {
        joined(&lines[..lines.len() - 1])
    });
    assert_eq!(judge(&dir).code, Some(3));

    // Damaged: any one line, but the header, which makes it no bundle.
    let lines = std::fs::read_to_string(bundle.join("events.jsonl"))
        .expect("the record")
        .lines()
        .count();
    for number in (1..lines).step_by((lines / 6).max(1)) {
        let dir = copy(&bundle, &place.join(format!("damaged-{number}")), |mut lines| {
            let half = lines[number].len() / 2;
            lines[number].replace_range(half..=half, "\u{1}");
            joined(&lines)
        });
        let ran = judge(&dir);
        assert_eq!(
            (ran.code, ran.json()["verdict"].as_str()),
            (Some(3), Some("cannot-tell")),
            "line {number}"
        );
        let why = ran.json()["incomplete"].as_str().expect("it says why").to_owned();
        assert!(why.contains(&format!("events.jsonl:{}:", number + 1)), "{why}");
    }
}

/// One line that is gone without a trace but its number.
#[test]
fn line_missing_bad() {
    let room = Room::new();
    room.quick_proven(&[]);
    let bundle = room.bundles().pop().expect("a bundle");
    let dir = copy(&bundle, &room.path().join("gap"), |mut lines| {
        lines.remove(lines.len() / 2);
        joined(&lines)
    });
    let ran = room.run(&["verify", "--judge", &dir, "--json"]);
    assert_eq!(
        (ran.code, ran.json()["verdict"].as_str()),
        (Some(3), Some("cannot-tell")),
        "{ran:#?}"
    );
}

/// A record of a violated run whose late writes were taken out or changed, by hand and with care: it
/// may still be violated, and is never proven.
#[test]
fn changed_by_hand_bad() {
    let room = Room::new();
    let owner = ["--", "leaseproof", "owner", "--flaw", "silent-retain"];
    let ran = room.run(&quickly("pause-over-ttl", &owner));
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let bundle = room.bundles().pop().expect("a bundle");
    let parse = |line: &String| serde_json::from_str::<serde_json::Value>(line).expect("JSON");
    let is_late = |line: &String| {
        let write = &parse(line)["event"]["event"]["what"]["write"];
        matches!((write["token"].as_u64(), write["highest"].as_u64()), (Some(it), Some(highest)) if it < highest)
    };
    let is_reading = |line: &&String| parse(line)["event"]["event"]["what"]["reading"].is_object();
    let without = |lines: Vec<String>| lines.into_iter().filter(|line| !is_late(line)).collect::<Vec<_>>();
    let changed = |lines: Vec<String>, key: &str, value: serde_json::Value| -> String {
        let lines: Vec<String> = lines
            .into_iter()
            .map(|line| {
                if !is_late(&line) {
                    return line;
                }
                let mut it = parse(&line);
                let event = &mut it["event"]["event"];
                if key == "owner" {
                    event["owner"] = value.clone();
                } else {
                    event["what"]["write"][key] = value.clone();
                }
                it.to_string()
            })
            .collect();
        joined(&lines)
    };
    type Change<'a> = Box<dyn Fn(Vec<String>) -> String + 'a>;
    let changes: Vec<(&str, Change<'_>)> = vec![
        ("taken out", Box::new(|lines| joined(&without(lines)))),
        (
            "taken out, and as many others doubled",
            Box::new(|lines| {
                let count = lines.len();
                let mut kept = without(lines);
                let more: Vec<String> = kept
                    .iter()
                    .filter(is_reading)
                    .take(count - kept.len())
                    .cloned()
                    .collect();
                let end = kept.pop().expect("an end");
                kept.extend(more);
                kept.push(end);
                joined(&kept)
            }),
        ),
        (
            "taken out, and the rest numbered anew",
            Box::new(|lines| {
                let mut id = 0;
                let kept: Vec<String> = without(lines)
                    .into_iter()
                    .map(|line| {
                        let mut it = parse(&line);
                        if it["event"].is_object() {
                            id += 1;
                            it["event"]["event"]["id"] = id.into();
                        }
                        it.to_string()
                    })
                    .collect();
                joined(&kept)
            }),
        ),
        (
            "by nobody",
            Box::new(|lines| changed(lines, "owner", serde_json::Value::Null)),
        ),
        ("by the lab", Box::new(|lines| changed(lines, "owner", "lab".into()))),
        ("replayed", Box::new(|lines| changed(lines, "replay", true.into()))),
    ];
    for (name, change) in changes {
        let dir = copy(&bundle, &room.path().join(name), change);
        let ran = room.run(&["verify", "--judge", &dir, "--json"]);
        assert_eq!(
            (ran.code, ran.json()["verdict"].as_str()),
            (Some(3), Some("cannot-tell")),
            "{name}: {ran:#?}"
        );
    }
}
