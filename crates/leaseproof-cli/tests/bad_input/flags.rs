//! The flags of `verify`.

use crate::rig::{PROGRAM, Room};
use serde_json::Value;

#[test]
fn flags_bad() {
    for (flags, needles) in [
        (&["--ttl", "3"][..], &["ttl: `3` has no unit"][..]),
        (&["--heartbeat", "5s"], &["heartbeat: 5s is not below the TTL"]),
        (&["--worst-pause", "1800ms"], &["LP019", "heartbeat = \"949ms\""]),
        (&["--cycles", "0"], &["verify.cycles: 0"]),
        (&["--jobs", "0"], &["verify.jobs: 0"]),
        (&["--seed", "x"], &["invalid value 'x' for '--seed <N>'"]),
        (&["--scenario", "pause-over"], &["did you mean `pause-over-ttl`?"]),
        (&["--scenario", "failover"], &["did you mean `store-failover`?"]),
        (&["--require", "blakhole"], &["did you mean `blackhole`?"]),
        (&["--key", "other"], &["store.key: `other` is not below"]),
        (&["--prefix", ""], &["store.prefix: it is empty"]),
        (&["--preset", "x"], &["owner.preset: `x` is no preset"]),
        (&["--freeze", "x"], &["verify.freeze: `x`"]),
        (&["--env", "X"], &["--env: `X` is not of the form NAME=VALUE"]),
        (
            &["--line", "dancing=x"],
            &["--line: `dancing` is no event: there are waiting, acquired"],
        ),
        (
            &["--line", "lost=("],
            &["owner.lines.lost: the regular expression `(` is wrong"],
        ),
        (&["--nope"], &["unexpected argument '--nope'"]),
        (
            &["python3", "w.py", "--fast"],
            &[
                "unexpected argument 'w.py'",
                "the owner's command comes after `--`: leaseproof verify -- python3 w.py --fast",
            ],
        ),
        (
            &["--ttl", "3s", "./worker", "--fast"],
            &[
                "unexpected argument '--fast'",
                "the owner's command comes after `--`: leaseproof verify --ttl 3s -- ./worker --fast",
            ],
        ),
        (
            &["python3"],
            &[
                "python3",
                "the owner's command comes after `--`: leaseproof verify -- python3",
            ],
        ),
        (
            &["--store", "redis://192.0.2.1:6379"],
            &["redis://192.0.2.1:6379 is not on loopback", "--allow-remote"],
        ),
        (&["--store", "redis://:geheim@192.0.2.1"], &["is not on loopback"]),
        (&["--", ""], &["owner.command: it is empty"]),
    ] {
        let room = Room::new();
        let arguments: Vec<&str> = ["verify"].into_iter().chain(flags.iter().copied()).collect();
        let ran = room.run(&arguments);
        ran.refused(needles);
        assert!(!ran.stderr.contains("geheim"), "{ran:#?}");
        assert!(room.files().is_empty(), "{flags:?}: {:?}", room.files());
    }
}

/// Every plan value can be given on the command line: a program that prints no JSON is understood.
#[test]
fn lines_and_env_ok() {
    let room = Room::new();
    let script = format!(
        r#"pipe=${{LEASEPROOF_OWNER%?????}}.pipe; mkfifo $pipe
sed -u -e 's/[{{"]//g' -e "s/^lease:\([a-z_]*\),.*token:\([0-9]*\).*/$WORD \1 \2/" <$pipe &
{PROGRAM} owner >$pipe & owner=$!
trap 'kill $owner' TERM; wait $owner; wait"#
    );
    let ran = room.quick(&[
        "--env",
        "WORD=taken",
        "--line",
        r"acquired=^taken acquired (?P<token>\d+)$",
        "--line",
        "released=^taken released",
        "--",
        "sh",
        "-c",
        &script,
    ]);
    ran.no_panic();
    let bundle = room.bundles().pop().expect("a bundle");
    let text = std::fs::read_to_string(bundle.join("events.jsonl")).expect("the record");
    for said in [
        r#""event":"acquired","token":1"#,
        r#""raw":"taken acquired 1""#,
        r#""event":"released""#,
    ] {
        assert!(text.contains(said), "{said}: {ran:#?}\n{text}");
    }
    room.nothing_left(&["a1.pipe", "a2.pipe"]);
}

#[test]
fn list_ok() {
    let room = Room::new();
    let ran = room.run(&["verify", "--list"]);
    ran.proven();
    for id in ["pause-over-ttl", "blackhole", "stale-token"] {
        assert!(ran.stdout.contains(id), "{ran:#?}");
    }
    assert!(room.files().is_empty());
}

/// What the run made is kept on request, and only then.
#[test]
fn keep_ok() {
    let room = Room::new();
    room.quick(&[]);
    room.nothing_left(&[]);
    room.quick(&["--keep"]);
    let kept = room
        .files()
        .iter()
        .any(|path| path.extension().is_some_and(|end| end == "db"));
    assert!(kept, "{:?}", room.files());
    room.nothing_running();
}

/// A required scenario is run, and exit 3 if it isn't offered here.
#[test]
fn require_bad() {
    let room = Room::new();
    let ran = room.quick(&["--require", "blackhole"]);
    ran.cannot_tell(&[
        "blackhole on sqlite: sqlite is a file",
        "incomplete: blackhole is required and not offered here: sqlite is a file",
    ]);
    // Judged again, the run is no pass either: what it required is in its record.
    for bundle in room.bundles() {
        let again = room.run(&["verify", "--judge", &bundle.display().to_string()]);
        again.cannot_tell(&["incomplete: blackhole is required"]);
    }
    room.nothing_left(&[]);
}

/// One after another, by the record's own order; and the seed that was given is the seed of the run.
#[test]
fn jobs_and_seed_ok() {
    let room = Room::new();
    for _ in 0..2 {
        let ran = room.quick(&["--scenario", "key-deleted", "--jobs", "1", "--seed", "7", "--json"]);
        ran.no_panic();
        assert_eq!(ran.json()["seed"], 7);
    }
    for bundle in room.bundles() {
        let text = std::fs::read_to_string(bundle.join("events.jsonl")).expect("the record");
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let place = |what: &str, run: u32| {
            let found = lines
                .iter()
                .position(|line| line.get(what).is_some_and(|it| it["run"] == run));
            found.unwrap_or_else(|| panic!("no {what} of {run}"))
        };
        assert!(place("end", 1) < place("scenario", 2), "they ran side by side");
        assert_eq!(lines[0]["header"]["seed"], 7);
    }
    assert_eq!(room.bundles().len(), 2, "each run has a folder of its own");
    room.nothing_left(&[]);
}
