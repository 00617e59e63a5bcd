//! `check`: files that are none, calls that make no sense, and documents that keep to their schema.

use crate::redis_server::{RedisServer, skip};
use crate::rig::{PROGRAM, Room};
use crate::schema::check_1;
use std::io::Write as _;
use std::process::{Command, Stdio};

const HOLDS: &str = "[budget]\nttl = \"3s\"\nheartbeat = \"1s\"\nworst_pause = \"1500ms\"\n";

#[test]
fn exit_statuses_ok() {
    let room = Room::new();
    for (plan, more, status, verdict) in [
        (HOLDS, &[][..], 0, "holds"),
        (HOLDS, &["--heartbeat", "2s"], 1, "does-not-hold"),
        (HOLDS, &["--observed", "2.3s"], 1, "does-not-hold"),
        (HOLDS, &["--renewals", "2"], 1, "does-not-hold"),
        ("[budget]\nttl = \"3s\"\n", &[], 3, "cannot-tell"),
        ("[budget]\nttl = \"3s\"\n", &["--worst-pause", "1s"], 0, "holds"),
    ] {
        let path = room.write("plan.toml", plan);
        let path = path.to_str().expect("UTF-8");
        let ran = room.run(&[&["check", path, "--json"], more].concat());
        ran.no_panic();
        assert_eq!(ran.code, Some(status), "{ran:#?}");
        let document = ran.json();
        assert_eq!(document["verdict"], verdict);
        assert_eq!(check_1().errors(&document), Vec::<String>::new());
        // However it is shown, the status is the same.
        for format in ["human", "lines", "github"] {
            let ran = room.run(&[&["check", path, "--format", format], more].concat());
            assert_eq!(ran.code, Some(status), "{ran:#?}");
        }
    }
}

#[test]
fn files_bad() {
    let room = Room::new();
    let path = |name: &str| room.path().join(name).display().to_string();
    room.write("latin.yaml", "");
    std::fs::write(room.path().join("latin.yaml"), b"lockWatchdogTimeout: 3\xe9\n").expect("written");
    std::fs::File::create(room.path().join("huge.yaml"))
        .and_then(|file| file.set_len(5 << 20))
        .expect("a sparse file");
    room.write("deep.yaml", &"[".repeat(200_000));
    room.write("wrong.toml", "[budget]\nttl = 3\n");
    room.write("typo.toml", "[conection]\nkeepalive = \"3s\"\n");
    room.write("unit.toml", "[connection]\nkeepalive = 30\n");
    room.write("store.toml", "[store]\nurl = \"mysql://me:geheim@h\"\n");
    for (file, needles) in [
        ("nope.yaml", &["nope.yaml can't be read", "name a plan"][..]),
        ("nope.toml", &["the plan ", "nope.toml can't be read"]),
        ("latin.yaml", &["is no text (UTF-8)"]),
        ("huge.yaml", &["more than 4 MiB"]),
        ("deep.yaml", &["deep.yaml:"]),
        ("wrong.toml", &["wrong.toml:2:7: ttl: a duration is a text with a unit"]),
        (
            "typo.toml",
            &["typo.toml:1:2: unknown field `conection`", "did you mean `connection`?"],
        ),
        (
            "unit.toml",
            &["unit.toml:2:13: keepalive: a duration is a text with a unit: write \"30ms\""],
        ),
        ("store.toml", &["store.toml:2:7:", "mysql is no store"]),
    ] {
        let ran = room.run(&["check", &path(file)]);
        ran.refused(needles);
        assert!(!ran.stderr.contains("geheim"), "{ran:#?}");
    }
    room.run(&["check", &path("")]).refused(&["can't be read"]);
}

#[test]
fn calls_bad() {
    let room = Room::new();
    room.write("leaseproof.toml", HOLDS);
    for (more, needles) in [
        (
            &["--observed", "soon"][..],
            &["--observed: `soon` in `soon` is no unit of time"][..],
        ),
        (&["--ttl", "1 parsec"], &["--ttl: `parsec`"]),
        (&["--gc-log", "nope.log"], &["the GC log nope.log can't be read"]),
        (&["--gc-log", "leaseproof.toml"], &["it shows no pause"]),
        (&["--meter", "nope"], &["the meter's page nope can't be read"]),
        (
            &["--meter", "leaseproof.toml"],
            &["it has no leaseproof_worst_pause_seconds"],
        ),
        (&["--as", "redison"], &["did you mean `redisson`?"]),
        (&["--store", "redis://me:geheim@"], &["redis"]),
        (&["--store", "redis://127.0.0.1:1", "--ask"], &["127.0.0.1:1"]),
        (&["--heartbeat", "5s"], &["heartbeat: 5s is not below the TTL of 3s"]),
        (&["--json", "--explain"], &["cannot be used with"]),
        (&["--format", "xml"], &["invalid value 'xml'"]),
        (&["--renewals", "-1"], &["-1"]),
    ] {
        let ran = room.run(&[&["check"], more].concat());
        ran.refused(needles);
        assert!(!ran.stderr.contains("geheim"), "{ran:#?}");
    }
}

/// Asked or not, a store of this kind grants the same, and no password is shown.
#[test]
fn stores_ok() {
    let server = match RedisServer::start_with(&["--requirepass", "geheim"]) {
        Ok(server) => server,
        Err(why) => return skip("check::stores_ok", &why),
    };
    let room = Room::new();
    room.write("leaseproof.toml", HOLDS);
    let url = format!("redis://:geheim@127.0.0.1:{}", server.port());
    let usual = room.run(&["check", "--json", "--store", &url]);
    let asked = room.run(&["check", "--json", "--store", &url, "--ask"]);
    assert_eq!((usual.code, asked.code), (Some(0), Some(0)), "{asked:#?}");
    assert_eq!(usual.json(), asked.json());
    assert_eq!(usual.json()["leases"][0]["margin_ms"], 1749.0);
    let wrong = url.replace("geheim", "gehe1m");
    room.run(&["check", "--json", "--store", &wrong]).proven();
    let refused = room.run(&["check", "--store", &wrong, "--ask"]);
    refused.refused(&["127.0.0.1"]);
    for ran in [&usual, &asked, &refused] {
        assert!(!format!("{ran:?}").contains("gehe"), "{ran:#?}");
    }
}

/// One bad file does not hide what is wrong with the next.
#[test]
fn several_files_bad() {
    let room = Room::new();
    room.write("a.toml", "[budget]\nttl = \"3\"\n");
    room.write("b.toml", "[budget]\nheartbeat = \"2s\"\nworst_pause = \"1500ms\"\n");
    let ran = room.run(&["check", "a.toml", "b.toml"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.stderr.contains("a.toml:2:7: ttl:"), "{ran:#?}");
    assert!(ran.stdout.contains("b.toml:2: error: LP019"), "{ran:#?}");
    let document = room.run(&["check", "a.toml", "b.toml", "--json"]).json();
    assert_eq!(document["refused"][0]["file"], "a.toml");
    assert_eq!(check_1().errors(&document), Vec::<String>::new());
}

#[test]
fn stdin_ok() {
    let mut child = Command::new(PROGRAM)
        .args(["check", "-", "--worst-pause", "4s", "--format", "lines"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"lockWatchdogTimeout=30000\n").expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("stdin:1: ok: the margin is 16.999s"), "{said}");
}

/// What nobody can read is no pass.
#[test]
fn stdout_full_bad() {
    let room = Room::new();
    room.write("leaseproof.toml", HOLDS);
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let output = room.command(["check"]).stdout(full).output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("stdout can't be written"));
}

#[test]
fn schema_ok() {
    let room = Room::new();
    let ran = room.run(&["check", "--schema"]);
    ran.proven();
    assert_eq!(ran.json()["$id"], "urn:leaseproof:schema:plan:1");
}
