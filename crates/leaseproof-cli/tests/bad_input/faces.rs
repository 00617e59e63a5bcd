//! What the program prints: JSON by its schema, colour only where it is wanted, help with examples.

use crate::rig::Room;
use crate::schema::verdict_1;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};

#[test]
fn json_ok() {
    let room = Room::new();
    for more in [
        &["--json"][..],
        &["--json", "--require", "blackhole", "--", "sh", "-c", "exit 1"],
    ] {
        let ran = room.quick(more);
        ran.no_panic();
        // One document, and nothing else: the whole of stdout is read as one.
        let errors = verdict_1().errors(&ran.json());
        assert!(errors.is_empty(), "{errors:#?}");
        let bundle = room.bundles().pop().expect("a bundle");
        let kept = std::fs::read_to_string(bundle.join("verdict.json")).expect("the verdict");
        assert_eq!(kept.trim_end(), ran.stdout.trim_end());
        let again = room.run(&["verify", "--json", "--judge", bundle.to_str().expect("UTF-8")]);
        assert_eq!(again.code, ran.code);
        assert_eq!(verdict_1().errors(&again.json()), Vec::<String>::new());
    }
    room.nothing_left(&[]);
}

/// What a command writes when its stdout and stderr are a terminal.
fn on_a_terminal(command: &mut Command) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pty");
    grantpt(&master).expect("granted");
    unlockpt(&master).expect("unlocked");
    let name = ptsname(&master, Vec::new()).expect("its name");
    let open = || {
        let path = name.to_str().expect("UTF-8");
        File::options().read(true).write(true).open(path).expect("the terminal")
    };
    let mut child = command
        .stdout(open())
        .stderr(open())
        .spawn()
        .expect("the program starts");
    // The command keeps copies of both ends; without them the read below ends with the child.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut text = Vec::new();
    let _ = File::from(master).read_to_end(&mut text);
    let _ = child.wait();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn no_color_ok() {
    let room = Room::new();
    room.quick(&[]);
    let bundle = room.bundles().pop().expect("a bundle").display().to_string();
    for arguments in [&["explain", "LP999"][..], &["verify", "--judge", &bundle]] {
        let terminal = |command: &mut Command| on_a_terminal(command.env("TERM", "xterm-256color"));
        let plain = terminal(room.command(arguments).env("NO_COLOR", "1"));
        assert!(plain.len() > 20 && !plain.contains('\u{1b}'), "{plain:?}");
        let coloured = terminal(&mut room.command(arguments));
        assert!(coloured.contains('\u{1b}'), "{coloured:?}");
        // Neither a pipe.
        let ran = room.run(arguments);
        assert!(!(ran.stdout + &ran.stderr).contains('\u{1b}'));
    }
}

/// `| head -1`: a reader that went away is no error, and no panic.
#[test]
fn closed_stdout_ok() {
    let room = Room::new();
    room.quick(&[]);
    let bundle = room.bundles().pop().expect("a bundle").display().to_string();
    for arguments in [
        &["verify", "--list"][..],
        &["explain"],
        &["explain", "LP004"],
        &["completions", "bash"],
        &["owner", "--flaws"],
        &["verify", "--judge", &bundle],
        &["verify", "--judge", &bundle, "--json"],
        &["--help"],
        &["verify", "--help"],
    ] {
        let mut child = room.spawn(arguments);
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("its output");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.is_empty(), "{arguments:?}: {said}");
        assert!(
            matches!(output.status.code(), Some(0 | 3)),
            "{arguments:?}: {:?}",
            output.status
        );
    }
}

#[test]
fn help_has_examples_ok() {
    let room = Room::new();
    for verb in ["", "verify", "check", "owner", "explain", "undo", "completions", "man"] {
        let arguments: Vec<&str> = [verb, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let ran = room.run(&arguments);
        ran.proven();
        assert!(ran.stdout.contains("Example"), "{verb}: {ran:#?}");
        assert!(ran.stdout.contains("leaseproof "), "{verb}: {ran:#?}");
    }
    assert!(room.files().is_empty());
}

#[test]
fn completions_and_man_ok() {
    let room = Room::new();
    for shell in ["bash", "zsh", "fish"] {
        let ran = room.run(&["completions", shell]);
        ran.proven();
        assert!(
            ran.stdout.contains("verify") && ran.stdout.contains("worst-pause"),
            "{shell}"
        );
        // Read by the shell itself, where it is installed.
        let script = room.write("script", &ran.stdout);
        if let Ok(status) = Command::new(shell).arg("-n").arg(&script).status() {
            assert!(status.success(), "{shell}");
        }
    }
    room.run(&["man", "pages"]).proven();
    for page in ["leaseproof.1", "leaseproof-verify.1", "leaseproof-undo.1"] {
        let text = std::fs::read_to_string(room.path().join("pages").join(page)).expect(page);
        assert!(text.contains(".TH"), "{page}");
    }
    room.run(&["man", "/proc/nope"])
        .refused(&["the folder /proc/nope can't be written"]);
    room.run(&["completions", "tcsh"]).refused(&["invalid value 'tcsh'"]);
}

#[test]
fn verbs_bad() {
    let room = Room::new();
    for (code, meant) in [
        ("LP4", "did you mean LP004?"),
        ("lp-21", "did you mean LP021?"),
        ("4", "did you mean LP004?"),
        ("silent-retain", "did you mean silent-retention?"),
    ] {
        room.run(&["explain", code]).refused(&[meant]);
    }
    room.run(&["explain", "LP999"])
        .refused(&["`LP999` is no rule", "`leaseproof explain` lists them"]);
    let owner = [
        "owner",
        "--key",
        "k",
        "--owner",
        "me",
        "--ttl-ms",
        "1000",
        "--heartbeat-ms",
        "300",
    ];
    let owner = |more: &[&'static str]| room.run(&[&owner[..], more].concat());
    owner(&[]).refused(&["no store: give --store URL or set LEASEPROOF_STORE"]);
    for (given, meant) in [
        ("4s", "the number is in milliseconds: write 4000"),
        ("x", "it is a whole number of milliseconds"),
    ] {
        room.run(&["owner", "--ttl-ms", given]).refused(&["--ttl-ms", meant]);
    }
    owner(&["--store", "mysql://x"]).refused(&["mysql is no store"]);
    owner(&["--store", "sqlite:x.db", "--flaw", "nope"]).refused(&["nope"]);
    room.run(&["verfy"]).refused(&["verify"]);
    let ran = room.run(&["undo", "--out", "nowhere"]);
    ran.refused(&["the folder nowhere is not there", "--out"]);
    let ran = room.run(&["undo"]);
    ran.proven();
    assert!(ran.stdout.contains("nothing to undo"), "{ran:#?}");
    assert!(room.files().is_empty());
}
