//! Stores that fail, and leases that go away: on Redis.

use crate::redis_server::{RedisServer, skip};
use crate::rig::{Room, TICKS, lives, signal, until};
use rustix::process::Signal;

fn redis(test: &str) -> Option<RedisServer> {
    RedisServer::start().map_err(|why| skip(test, &why)).ok()
}

#[test]
fn a_deleted_lease_is_lost_at_once() {
    let Some(server) = redis("a_deleted_lease_is_lost_at_once") else {
        return;
    };
    let room = Room::on(&server.url());
    let mut hold = room.start(
        &["--on-lost", "echo $LEASEPROOF_LOST $LEASEPROOF_TOKEN >why"],
        &["sh", "-c", TICKS],
    );
    let command = hold.ticking();
    server.cli(&["DEL", "canary/key"]);
    assert_eq!(hold.status(), 76);
    assert!(!lives(command));
    assert_eq!(hold.event("lease", "lost")["reason"], "refused");
    assert_eq!(room.read("why"), "refused 1\n");
    assert_eq!(server.cli(&["EXISTS", "canary/key"]), "0", "it was not revived");
}

#[test]
fn a_stolen_lease_is_left_alone() {
    let Some(server) = redis("a_stolen_lease_is_left_alone") else {
        return;
    };
    let room = Room::on(&server.url());
    let mut hold = room.start(&[], &["sh", "-c", TICKS]);
    hold.ticking();
    server.cli(&["SET", "canary/key", "another", "PX", "60000"]);
    assert_eq!(hold.status(), 76);
    assert_eq!(server.cli(&["GET", "canary/key"]), "another");
    // A foreign value is another's lease.
    let (status, _, said) = room.run(&["--no-wait"], &["true"]);
    assert_eq!(status, 75, "{said}");
}

#[test]
fn a_restart_waits_and_has_a_greater_token() {
    let Some(server) = redis("a_restart_waits_and_has_a_greater_token") else {
        return;
    };
    let room = Room::on(&server.url());
    let script = format!("echo $LEASEPROOF_TOKEN >>tokens; {TICKS}");
    let mut hold = room.start(
        &["--restart", "--on-lost", "echo lost >>hooked"],
        &["sh", "-c", &script],
    );
    let first = hold.ticking();
    server.cli(&["DEL", "canary/key"]);
    until("it runs again", || (room.read("tokens") == "1\n2\n").then_some(()));
    assert!(!lives(first));
    assert_eq!(room.read("hooked"), "lost\n");
    signal(hold.pid(), Signal::TERM);
    assert_eq!(hold.status(), 143);
    assert_eq!(server.cli(&["EXISTS", "canary/key"]), "0");
}

#[test]
fn a_store_that_dies_while_it_is_held() {
    let Some(mut server) = redis("a_store_that_dies_while_it_is_held") else {
        return;
    };
    let room = Room::on(&server.url());
    let script = format!("trap 'echo asked >asked; exit' TERM; {TICKS}");
    // As much as fits: the command has to get to run within it, on a busy machine too.
    let mut hold = room.start(&["--grace", "1400ms"], &["sh", "-c", &script]);
    hold.ticking();
    server.kill();
    assert_eq!(hold.status(), 76);
    assert_eq!(room.read("asked"), "asked\n", "asked before it was killed");
    let (tick, end) = hold.last_tick();
    assert!(tick <= end, "the last tick at {tick}, the end of validity at {end}");
}

#[test]
fn a_store_that_stands_still_while_it_is_held() {
    let Some(server) = redis("a_store_that_stands_still_while_it_is_held") else {
        return;
    };
    let room = Room::on(&server.url());
    let mut hold = room.start(&[], &["sh", "-c", &format!("trap '' TERM; {TICKS}")]);
    let command = hold.ticking();
    server.freeze();
    until("it is killed", || (!lives(command)).then_some(()));
    server.thaw();
    assert_eq!(hold.status(), 76);
    let (tick, end) = hold.last_tick();
    assert!(tick <= end, "the last tick at {tick}, the end of validity at {end}");
}

#[test]
fn a_store_that_is_not_there() {
    let Some(mut server) = redis("a_store_that_is_not_there") else {
        return;
    };
    server.kill();
    let room = Room::on(&server.url());
    let (status, _, said) = room.run(&["--timeout", "500ms"], &["touch", "ran"]);
    assert_eq!(status, 75);
    assert!(said.contains("no store answers"), "{said}");
    // It comes while it is waited for.
    let mut hold = room.start(&[], &["touch", "ran"]);
    hold.event("lease", "waiting");
    server.start_again();
    assert_eq!(hold.status(), 0);
    assert!(room.path("ran").exists());
}

/// The work is done: its status counts, and that the lease may not be free yet is said.
#[test]
fn a_store_that_dies_before_the_release() {
    let Some(mut server) = redis("a_store_that_dies_before_the_release") else {
        return;
    };
    let room = Room::on(&server.url());
    let mut hold = room.command(
        &[],
        &["sh", "-c", "touch up; while [ ! -e go ]; do sleep 0.01; done; exit 5"],
    );
    let child = hold.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
    until("up", || room.path("up").exists().then_some(()));
    server.kill();
    std::fs::write(room.path("go"), "").expect("written");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("the lease ends by its TTL"), "{said}");
}

/// One that answers in HTTP, whatever it is asked.
fn web_server() -> u16 {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    port
}

#[test]
fn what_no_waiting_mends_is_a_wrong_call() {
    let Some(server) = redis("what_no_waiting_mends_is_a_wrong_call") else {
        return;
    };
    server.cli(&["SET", "canary/key:token", "-3"]);
    for (url, part) in [
        (server.url(), "canary/key:token holds -3"),
        (server.url().replace("://", "://nobody:falsch@"), "user or password"),
        (format!("redis://127.0.0.1:{}", web_server()), "is it a Redis server?"),
        ("sqlite:/nonexistent/x.db".to_owned(), "is not there"),
    ] {
        let room = Room::on(&url);
        for options in [&[][..], &["--no-wait"]] {
            let (status, _, said) = room.run(options, &["touch", "ran"]);
            assert_eq!(status, 2, "{url} {options:?}: {said}");
            assert!(said.contains(part) && !said.contains("falsch"), "{url}: {said}");
        }
        assert!(!room.path("ran").exists());
    }
    assert_eq!(server.cli(&["EXISTS", "canary/key"]), "0", "no ghost");
}

#[test]
fn a_store_that_does_not_answer_is_said_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!(
        "redis://127.0.0.1:{}",
        listener.local_addr().expect("an address").port()
    );
    drop(listener);
    let room = Room::on(&url);
    let (status, _, said) = room.run(&["--timeout", "1500ms"], &["touch", "ran"]);
    assert_eq!(status, 75, "{said}");
    let again: Vec<&str> = said.lines().filter(|line| line.ends_with("; trying again")).collect();
    assert_eq!(again.len(), 1, "{said}");
    assert!(again[0].contains("no store answers"), "{said}");
    // Asked once, it says it once.
    let (status, _, said) = room.run(&["--no-wait"], &["touch", "ran"]);
    assert_eq!((status, said.lines().count()), (75, 1), "{said}");
}
