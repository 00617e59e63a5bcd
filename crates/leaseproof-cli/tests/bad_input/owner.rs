//! Owners that don't do what an owner does: each is judged by what was seen of it, and no further.

use crate::rig::{PROGRAM, Ran, Room, quick};
use std::time::Duration;

/// What `verify` may keep at most, in KiB. (The pages of a debug build's own code are none of that, and are
/// as many as the features that it was built with.)
const MEMORY_KIB: u64 = 64 << 10;

fn sh(script: &str) -> [String; 4] {
    ["--", "sh", "-c", script].map(str::to_owned)
}

fn quick_with(room: &Room, more: &[&str], script: &str) -> Ran {
    let owner = sh(script);
    let arguments: Vec<&str> = more.iter().copied().chain(owner.iter().map(String::as_str)).collect();
    room.quick(&arguments)
}

/// Never accused: no breach is found, and nothing is violated.
#[track_caller]
fn not_accused(ran: &Ran) {
    assert_ne!(ran.code, Some(1), "{ran:#?}");
    assert!(!ran.stdout.contains("breach"), "{ran:#?}");
    ran.no_panic();
}

#[test]
fn program_bad() {
    let room = Room::new();
    room.write("worker.py", "print('hello')\n");
    let before = room.files();
    for (word, needles) in [
        (
            "./nope",
            &["the owner `./nope` is not there", "seen from the current folder"][..],
        ),
        (
            "no-such-program-at-all",
            &[
                "the owner `no-such-program-at-all` is not in PATH",
                "./no-such-program-at-all",
            ],
        ),
        (
            "./worker.py",
            &["./worker.py is not executable", "chmod +x", "python3 ./worker.py"],
        ),
        ("/tmp", &["the owner `/tmp` is a folder"]),
    ] {
        room.quick(&["--", word]).refused(needles);
        assert_eq!(room.files(), before, "{word}");
    }
}

#[test]
fn interpreter_bad() {
    let room = Room::new();
    let path = room.script("worker", "");
    std::fs::write(&path, "#!/no/such/interpreter\n").expect("a script");
    let ran = room.quick(&["--", "./worker"]);
    ran.cannot_tell(&["the owner can't be started", "./worker"]);
    room.nothing_left(&["worker"]);
}

#[test]
fn exits_at_once_bad() {
    let room = Room::new();
    let ran = quick_with(&room, &[], "echo no luck today >&2; exit 7");
    ran.cannot_tell(&[
        "the owner ends right after its start, 3 times in a row (exit status 7)",
        "no luck today",
    ]);
    not_accused(&ran);
    room.nothing_left(&[]);
}

/// Four owners side by side, since each is given 15 s to acquire.
#[test]
fn acquires_nothing_bad() {
    std::thread::scope(|scope| {
        for (script, needles) in [
            (
                "exec sleep 1000".to_owned(),
                &["the owner never acquired the key canary/demo/", "LEASEPROOF_KEY"][..],
            ),
            (
                format!("LEASEPROOF_KEY=canary/another exec {PROGRAM} owner"),
                &["it acquires another key or another store than the canary", "owner_key"],
            ),
            (
                format!("LEASEPROOF_STORE=sqlite:another.db exec {PROGRAM} owner"),
                &["it acquires another key or another store than the canary"],
            ),
        ] {
            scope.spawn(move || {
                let room = Room::new();
                let ran = quick_with(&room, &[], &script);
                ran.cannot_tell(needles);
                not_accused(&ran);
                room.nothing_left(&["another.db", "another.db-wal", "another.db-shm"]);
            });
        }
    });
}

/// It holds the lease, says nothing and writes nothing: never accused and never proven.
#[test]
fn nothing_observable_bad() {
    let room = Room::new();
    let script = format!("LEASEPROOF_RESOURCE=http://127.0.0.1:9 exec {PROGRAM} owner >/dev/null 2>&1");
    let ran = quick_with(
        &room,
        &["--scenario", "pause-uncontested", "--scenario", "key-deleted"],
        &script,
    );
    ran.cannot_tell(&["said nothing and wrote nothing"]);
    not_accused(&ran);
    room.nothing_left(&[]);
}

/// It says what it does, but none of its writes arrives: nothing shows that its work was alive.
#[test]
fn never_writes_bad() {
    let room = Room::new();
    let script = format!("LEASEPROOF_RESOURCE=http://127.0.0.1:9 exec {PROGRAM} owner");
    let ran = quick_with(&room, &["--scenario", "pause-uncontested"], &script);
    ran.cannot_tell(&[]);
    not_accused(&ran);
    room.nothing_left(&[]);
}

/// Rubbish between the event lines is chatter, and no more.
#[test]
fn binary_rubbish_ok() {
    let room = Room::new();
    let script = format!("head -c 300000 /dev/urandom; echo; head -c 100000 /dev/urandom >&2; exec {PROGRAM} owner");
    let owner = sh(&script);
    let owner: Vec<&str> = owner.iter().map(String::as_str).collect();
    let ran = room.quick_proven(&owner);
    not_accused(&ran);
    room.nothing_left(&[]);
}

/// A write that is too long for the witness is refused and leaves no record of its own: the run says so, and
/// proves nothing.
#[test]
fn long_write_bad() {
    let room = Room::new();
    let script = format!(
        r#"there=${{LEASEPROOF_RESOURCE#http://}}; port=${{there#*:}}
        LONG="POST /${{there#*/}}/write HTTP/1.1" PORT="${{port%%/*}}" bash -c '
            exec 3<>"/dev/tcp/127.0.0.1/$PORT"
            printf "%s\r\ncontent-length: 5000000\r\n\r\n" "$LONG" >&3
            head -n 1 <&3 >answer'
        exec {PROGRAM} owner"#
    );
    let ran = quick_with(&room, &[], &script);
    assert_eq!(
        std::fs::read_to_string(room.path().join("answer")).expect("an answer"),
        "HTTP/1.1 413 Content Too Large\r\n"
    );
    ran.cannot_tell(&["the writes of", "could not all be kept"]);
    not_accused(&ran);
    room.nothing_left(&["answer"]);
}

/// 1 GB is read on and dropped: the owner isn't blocked, memory is bounded, and what was dropped is
/// never proven by accident.
#[test]
fn flood_bad() {
    flooded(&format!(
        "head -c 1G /dev/zero; echo all >flooded; exec {PROGRAM} owner"
    ));
}

/// The same with event lines, each of which would be kept: 40 MB of them.
#[test]
fn event_flood_bad() {
    let line = r#"{"lease":"waiting"}"#;
    flooded(&format!(
        "yes '{line}' | head -c 40000000; echo all >flooded; exec {PROGRAM} owner"
    ));
}

#[track_caller]
fn flooded(script: &str) {
    let room = Room::new();
    let owner = sh(script);
    let owner: Vec<&str> = owner.iter().map(String::as_str).collect();
    let mut child = room.spawn(&quick(&owner));
    let mut peak = 0;
    while child.try_wait().expect("a child").is_none() {
        peak = peak.max(kept_kib(child.id()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(20));
    }
    let ran: Ran = child.wait_with_output().expect("its output").into();
    ran.cannot_tell(&["could not all be kept"]);
    not_accused(&ran);
    assert!(room.path().join("flooded").exists(), "the owner was blocked: {ran:#?}");
    assert!(peak > 0 && peak < MEMORY_KIB, "{peak} KiB");
    for path in room
        .files()
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "out"))
    {
        let kept = path.metadata().expect("a file").len();
        assert!(kept <= 16 << 20, "{kept} bytes are kept in {}", path.display());
    }
    room.nothing_left(&["flooded"]);
}

fn kept_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.split_whitespace().next()?.parse().ok()
}
