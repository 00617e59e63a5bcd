//! A fleet on a real Redis: a server that stops, connections that are cut, processes that race.

#[path = "../../leaseproof-store/tests/redis_server/mod.rs"]
mod redis_server;

use leaseproof::{Budget, Event, Fleet, Lease, Loss, Sound, Store, boot_now};
use redis_server::{RedisServer, skip};
use rustix::process::{Pid, Signal, pidfd_open, pidfd_send_signal};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const PATIENT: Duration = Duration::from_secs(60);

/// Which store a child of the race uses.
const CHILD: &str = "LEASEPROOF_FLEET_RACE";

fn server(test: &str) -> Option<RedisServer> {
    match RedisServer::start() {
        Ok(server) => Some(server),
        Err(why) => {
            skip(test, &why);
            None
        }
    }
}

fn budget(ttl: u32, heartbeat: u32, timeout: u32) -> Sound {
    Budget::new(ttl * MS, heartbeat * MS, MS)
        .with_renew_timeout(timeout * MS)
        .assert()
        .expect("it holds")
}

fn keys(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("canary/fleet/{number}")).collect()
}

fn fleet(server: &RedisServer, budget: &Sound) -> Fleet {
    let store: Store = server.url().parse().expect("a URL");
    Fleet::new(&store, budget).expect("it starts")
}

fn acquire(fleet: &Fleet, keys: &[String]) -> Vec<Lease> {
    let leases = fleet.acquire_all(keys, |options| options.wait_for(PATIENT));
    leases.into_iter().map(|lease| lease.expect("granted")).collect()
}

fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = boot_now().plus(PATIENT);
    while !is() {
        assert!(boot_now() < end, "it never came: {what}");
        std::thread::sleep(5 * MS);
    }
}

/// A signal by the process's own handle: it reaches this process, or none.
fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid");
    let handle = pidfd_open(pid, rustix::process::PidfdFlags::empty()).expect("our child");
    pidfd_send_signal(handle, signal).expect("our child can be signalled");
}

/// A server that stands still: every belief ends by the clock, and what is granted afterwards has greater tokens.
#[test]
fn a_frozen_server_bad() {
    let Some(server) = server("a_frozen_server_bad") else {
        return;
    };
    let fleet = fleet(&server, &budget(6000, 1000, 900));
    let keys = keys(1000);
    let leases = acquire(&fleet, &keys);
    for lease in &leases {
        until("a permit", || lease.permit().is_ok());
    }
    let tokens: Vec<_> = leases.iter().map(Lease::token).collect();
    signal(server.process(), Signal::STOP);
    until("no permit at all", || {
        leases.iter().all(|lease| lease.permit().is_err())
    });
    // What was valid is over for good.
    for lease in &leases {
        assert!(lease.wait_lost(PATIENT).is_some(), "{lease:?}");
        assert!(lease.permit().is_err(), "{lease:?}");
    }
    assert_eq!(fleet.tally().held, 0);
    signal(server.process(), Signal::CONT);
    drop(leases);
    let again = acquire(&fleet, &keys);
    for lease in &again {
        // A busy machine may make one doubtful for a while.
        until("a permit", || lease.permit().is_ok());
    }
    for (lease, before) in again.iter().zip(&tokens) {
        assert!(lease.token() > *before, "{lease:?} after {before}");
    }
}

/// A lost connection: what was on its way is unknown, the store is asked on another, and its word counts.
#[test]
fn a_cut_connection_ok() {
    let Some(server) = server("a_cut_connection_ok") else {
        return;
    };
    let fleet = fleet(&server, &budget(20_000, 300, 250));
    let keys = keys(200);
    let leases = acquire(&fleet, &keys);
    let tokens: Vec<_> = leases.iter().map(Lease::token).collect();
    for _ in 0..5 {
        server.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
        // The server forgets the scripts, too.
        server.cli(&["SCRIPT", "FLUSH"]);
        let now = boot_now();
        let later = now.plus(18_000 * MS);
        until("all renewed", || leases.iter().all(|lease| lease.valid_until() > later));
    }
    assert!(leases.iter().all(|lease| lease.permit().is_ok()));
    assert!(leases.iter().map(Lease::token).eq(tokens));
    assert_eq!(fleet.tally().lost, 0);
}

#[test]
fn a_cut_connection_bad_what_another_has_is_lost() {
    let Some(server) = server("a_cut_connection_bad") else {
        return;
    };
    let fleet = fleet(&server, &budget(20_000, 300, 250));
    let keys = keys(50);
    let leases = acquire(&fleet, &keys);
    server.cli(&["DEL", &keys[7]]);
    server.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
    assert_eq!(leases[7].wait_lost(PATIENT), Some(Loss::Refused));
    let later = boot_now().plus(18_000 * MS);
    let others = || leases.iter().enumerate().filter(|(at, _)| *at != 7);
    until("the others renewed", || {
        others().all(|(_, lease)| lease.valid_until() > later)
    });
    assert_eq!(fleet.tally().lost, 1);
}

/// Nobody can be reached: waiting says so, and the fleet goes on once somebody can.
#[test]
fn a_server_that_starts_later_ok() {
    let Some(mut server) = server("a_server_that_starts_later_ok") else {
        return;
    };
    server.kill();
    let fleet = fleet(&server, &budget(6000, 300, 250));
    let error = fleet
        .options("canary/late")
        .wait_for(Duration::ZERO)
        .acquire()
        .expect_err("nobody is there");
    assert!(
        error.to_string().contains("no store answers at redis://127.0.0.1"),
        "{error}"
    );
    server.start_again();
    let lease = fleet.acquire("canary/late").expect("granted");
    assert!(lease.permit().is_ok());
    lease.release().expect("released");
}

/// The same face as that of a single lease: a guard of each kind sees the other.
#[test]
fn a_fleets_lease_is_a_lease() {
    let Some(server) = server("a_fleets_lease_is_a_lease") else {
        return;
    };
    let budget = budget(6000, 300, 250);
    let fleet = fleet(&server, &budget);
    let store: Store = server.url().parse().expect("a URL");
    let names = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&names);
    let held = fleet
        .options("canary/one")
        .owner("fleet")
        .on_event(move |event: &Event| kept.lock().expect("no panic").push(event.name()))
        .acquire()
        .expect("granted");
    assert!(server.cli(&["GET", "canary/one"]).starts_with("fleet#"));
    let single = leaseproof::Options::new(&store, "canary/one", &budget);
    assert!(
        single.clone().wait_for(Duration::ZERO).acquire().is_err(),
        "another has it"
    );
    let token = held.token();
    until("renewed", || names.lock().expect("no panic").contains(&"lease.renewed"));
    held.release().expect("released");
    let single = single.acquire().expect("it was given back");
    assert!(single.token() > token);
    assert!(
        fleet.options("canary/one").wait_for(Duration::ZERO).acquire().is_err(),
        "another has it"
    );
    drop(single);
    let names = names.lock().expect("no panic");
    assert_eq!(names.first(), Some(&"lease.acquired"));
    assert_eq!(names.last(), Some(&"lease.released"));
}

/// One of the two processes that race: says each permit that it was given, with the clock before and after.
fn race(url: &str) {
    let keys = keys(30);
    let store: Store = url.parse().expect("a URL");
    let fleet = Fleet::new(&store, &budget(1500, 200, 150)).expect("it starts");
    let turns = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for keys in keys.chunks(5) {
            let (fleet, turns) = (&fleet, &turns);
            scope.spawn(move || {
                loop {
                    for (key, lease) in keys.iter().zip(fleet.acquire_all(keys, |it| it.wait_for(300 * MS))) {
                        let Ok(lease) = lease else { continue };
                        for _ in 0..10 {
                            let before = boot_now();
                            let permit = lease.permit();
                            let after = boot_now();
                            if let Ok(permit) = permit {
                                let line = format!("{key} {} {} {}\n", permit.token(), before.0, after.0);
                                std::io::stdout().write_all(line.as_bytes()).expect("a pipe");
                            }
                            std::thread::sleep(5 * MS);
                        }
                        // Every second one is kept until it is dropped, and given back by itself.
                        if turns.fetch_add(1, Ordering::Relaxed) % 2 == 0 {
                            let _ = lease.release();
                        }
                    }
                }
            });
        }
    });
}

type Permits = Arc<Mutex<BTreeMap<String, Vec<(u64, u64, u64, usize)>>>>;

fn racer(url: &str, number: usize, permits: &Permits) -> Child {
    let mut child = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "--"])
        .arg(std::env::current_exe().expect("this test"))
        .args([
            "--exact",
            "two_fleets_never_have_two_permits",
            "--nocapture",
            "--test-threads",
            "1",
        ])
        .env(CHILD, url)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let (stdout, permits) = (child.stdout.take().expect("a pipe"), Arc::clone(permits));
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let words: Vec<&str> = line.split(' ').collect();
            let [key, numbers @ ..] = words.as_slice() else {
                continue;
            };
            let numbers: Vec<u64> = numbers.iter().map_while(|it| it.parse().ok()).collect();
            if let [token, before, after] = numbers[..] {
                let mut all = permits.lock().expect("no panic");
                all.entry((*key).to_owned())
                    .or_default()
                    .push((before, after, token, number));
            }
        }
    });
    child
}

/// Two processes want the same keys, and are stopped again and again for longer than the TTL: a permit with a token is
/// never given after one with a greater token, of whichever process.
#[test]
fn two_fleets_never_have_two_permits() {
    if let Ok(url) = std::env::var(CHILD) {
        return race(&url);
    }
    let Some(server) = server("two_fleets_never_have_two_permits") else {
        return;
    };
    let permits = Permits::default();
    let mut racers = [0, 1].map(|number| racer(&server.url(), number, &permits));
    let owners = || {
        let permits = permits.lock().expect("no panic");
        let by = |number| permits.values().flatten().filter(|it| it.3 == number).count();
        [by(0), by(1)]
    };
    for round in 0..4 {
        let target = racers[round % 2].id();
        let before = owners();
        until("permits of both", || {
            owners().iter().zip(before).all(|(now, before)| *now > before + 20)
        });
        signal(target, Signal::STOP);
        // For longer than the TTL, and the other goes on.
        let began = boot_now();
        until("a pause", || boot_now().since(began) > 2000 * MS);
        signal(target, Signal::CONT);
    }
    for racer in &mut racers {
        let _ = racer.kill();
        let _ = racer.wait();
    }
    let mut permits = permits.lock().expect("no panic");
    assert_eq!(permits.len(), 30, "every key was held");
    let mut handed_over = 0;
    for (key, given) in permits.iter_mut() {
        given.sort_unstable();
        for pair in given.windows(2) {
            handed_over += usize::from(pair[0].3 != pair[1].3);
        }
        let mut ended: Vec<(u64, u64)> = given.iter().map(|it| (it.1, it.2)).collect();
        ended.sort_unstable();
        let (mut at, mut greatest) = (0, 0);
        for &(before, _, token, number) in given.iter() {
            while at < ended.len() && ended[at].0 < before {
                greatest = greatest.max(ended[at].1);
                at += 1;
            }
            assert!(token >= greatest, "{key}: {token} by {number} after {greatest}");
        }
    }
    assert!(handed_over > 30, "they took turns: {handed_over}");
}
