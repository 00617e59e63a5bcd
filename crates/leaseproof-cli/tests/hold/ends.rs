//! How it ends when nothing is wrong with the lease: the command's status, signals, a lease that another has.

use crate::rig::{Room, lives, signal, until};
use rustix::process::Signal;

#[test]
fn the_status_is_the_commands() {
    let room = Room::new();
    for (command, status) in [
        (&["true"][..], 0),
        (&["sh", "-c", "exit 7"], 7),
        (&["sh", "-c", "kill -KILL $$"], 137),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["/etc/passwd"], 126),
        (&["no-such-command-of-ours"], 127),
    ] {
        let (seen, _, said) = room.run(&[], command);
        assert_eq!(seen, status, "{command:?}: {said}");
    }
    // One that looks executable and isn't shows only when it is started: under the lease, which is given back.
    std::fs::write(room.path("broken"), "#!/no/such/interpreter\n").expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(room.path("broken"), mode).expect("allowed");
    let (status, _, said) = room.run(&[], &["./broken"]);
    assert_eq!(status, 127, "{said}");
    assert!(said.contains("./broken: No such file"), "{said}");
    assert_eq!(room.run(&["--no-wait"], &["true"]).0, 0, "the lease is free again");
}

#[test]
fn a_wrong_call_is_2_and_starts_nothing() {
    let room = Room::new();
    for (options, part) in [
        (&["--grace", "5s"][..], "The longest that fits is"),
        (&["--grace", "5"], "has no unit"),
        (&["--worst-pause", "3s"], "LP019"),
        (&["--no-wait", "--timeout", "1s"], "cannot be used with"),
        (&["--events", "/nowhere/events"], "/nowhere/events"),
    ] {
        let (status, _, said) = room.run(options, &["touch", "ran"]);
        assert_eq!(status, 2, "{options:?}: {said}");
        assert!(said.contains(part), "{options:?}: {said}");
    }
    assert!(!room.path("ran").exists());
    assert!(!room.path("locks.db").exists(), "no store was asked");
}

#[test]
fn the_command_knows_its_token_and_its_deadline() {
    let room = Room::new();
    let script = r#"env | grep ^LEASEPROOF_ ; echo now $(od -An -tu8 -N8 "$LEASEPROOF_DEADLINE_FILE")
        echo 12345678 1<>"$LEASEPROOF_DEADLINE_FILE" 2>/dev/null || echo sealed"#;
    let mut hold = room.command(&[], &["sh", "-c", script]);
    hold.env("LEASEPROOF_OWNER", "me")
        .env("LEASEPROOF_RESOURCE", "http://r");
    let said = String::from_utf8_lossy(&hold.output().expect("it runs").stdout).into_owned();
    let value = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name}: {said}")).to_owned()
    };
    assert_eq!(value("LEASEPROOF_TOKEN="), "1");
    assert_eq!(value("LEASEPROOF_KEY="), "canary/key");
    assert_eq!(value("LEASEPROOF_STORE="), room.url);
    assert_eq!(value("LEASEPROOF_OWNER="), "me");
    assert_eq!(value("LEASEPROOF_RESOURCE="), "http://r");
    assert_eq!(
        value("LEASEPROOF_VALID_UNTIL_BOOT_NS="),
        value("now "),
        "no renewal was due yet"
    );
    assert!(said.lines().any(|line| line == "sealed"), "{said}");
}

#[test]
fn a_lease_that_another_has() {
    let room = Room::new();
    let first = room.start(&[], &["sleep", "60"]);
    first.command();
    let (status, _, said) = room.run(&["--no-wait"], &["touch", "ran"]);
    assert_eq!(status, 75);
    assert!(said.contains("another holds the lease"), "{said}");
    assert_eq!(room.run(&["--timeout", "300ms"], &["touch", "ran"]).0, 75);
    // Asked to end while it waits.
    let mut waiting = room.command(&[], &["touch", "ran"]).spawn().expect("it starts");
    until("it has its guardian", || {
        let rows = leaseproof_proc::stat::all().expect("/proc");
        rows.iter().any(|row| row.parent == waiting.id()).then_some(())
    });
    signal(waiting.id(), Signal::TERM);
    assert_eq!(waiting.wait().expect("it ends").code(), Some(143));
    assert!(!room.path("ran").exists());
    // Waits until it is free.
    let waiting = room.command(&[], &["touch", "ran"]).spawn().expect("it starts");
    signal(first.pid(), Signal::TERM);
    assert_eq!(waiting.wait_with_output().expect("it ends").status.code(), Some(0));
    assert!(room.path("ran").exists());
}

#[test]
fn asked_to_end_it_asks_the_command_and_gives_the_lease_back() {
    let room = Room::new();
    let mut hold = room.start(
        &[],
        &["sh", "-c", "trap 'exit 9' TERM; touch up; while :; do sleep 0.05; done"],
    );
    until("up", || room.path("up").exists().then_some(()));
    signal(hold.pid(), Signal::TERM);
    assert_eq!(hold.status(), 9);
    assert_eq!(hold.event("lease", "released")["token"], 1);
    assert!(hold.events().iter().all(|event| event["lease"] != "lost"));
    // One that does not listen is killed after the grace.
    let mut hold = room.start(
        &[],
        &["sh", "-c", "trap '' TERM; touch deaf; while :; do sleep 0.05; done"],
    );
    until("up", || room.path("deaf").exists().then_some(()));
    let command = hold.command();
    signal(hold.pid(), Signal::TERM);
    assert_eq!(hold.status(), 137);
    assert!(!lives(command));
    assert_eq!(room.run(&["--no-wait"], &["true"]).0, 0, "the lease is free");
}

#[test]
fn other_signals_are_passed_on() {
    let room = Room::new();
    let script = "trap 'echo one >>got' USR2; trap 'exit 4' USR1; touch up; while :; do sleep 0.05; done";
    let mut hold = room.start(&[], &["sh", "-c", script]);
    until("up", || room.path("up").exists().then_some(()));
    // Not INT: a test that a shell runs in its background was started to ignore that, and so is everything below it.
    signal(hold.pid(), Signal::USR2);
    until("the first", || room.path("got").exists().then_some(()));
    signal(hold.pid(), Signal::USR1);
    assert_eq!(hold.status(), 4, "neither ended it but the command itself");
}
