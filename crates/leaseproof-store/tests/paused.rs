//! A pause of our own process is no silence of the store: real SIGSTOP, real server.

#[cfg(feature = "etcd")]
mod etcd_server;
#[cfg(feature = "postgres")]
mod postgres_server;
mod redis_server;

#[cfg(feature = "postgres")]
use leaseproof_store::open_administrator;
use leaseproof_store::{StoreUrl, open_lease};
#[cfg(feature = "postgres")]
use postgres_server::PostgresServer;
use redis_server::{RedisServer, skip};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(600);
const KEY: &str = "canary/paused";

/// The time-out of the request; the pause is three times as long.
const TIMEOUT: Duration = Duration::from_millis(600);

/// Names the store for [`an_owner_that_is_paused`] when this binary runs as a child.
const CHILD: &str = "LEASEPROOF_TEST_PAUSED";

/// Not a test by itself: with [`CHILD`] set it acquires, waits for a line, renews and says how it went.
#[test]
fn an_owner_that_is_paused() {
    let Ok(url) = std::env::var(CHILD) else {
        return;
    };
    let url: StoreUrl = url.parse().expect("a URL");
    let mut owner = open_lease(&url, LONG).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, LONG).value.expect("granted");
    println!("\nready");
    std::io::stdin().read_line(&mut String::new()).expect("a line");
    println!("sending");
    let done = owner.renew(&grant, LONG, TIMEOUT);
    println!("outcome {:?} after {:?}", done.outcome, done.during.uncertainty());
}

fn line(output: &mut BufReader<ChildStdout>, start: &str) -> String {
    output
        .lines()
        .map_while(Result::ok)
        .find(|line| line.starts_with(start))
        .unwrap_or_else(|| panic!("the child says {start}"))
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// The server is silent while the request is in flight and the owner is stopped; the answer waits for it.
fn an_answer_that_waits_is_read(url: &str, freeze: impl Fn(), thaw: impl Fn()) {
    let mut child = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "an_owner_that_is_paused", "--nocapture"])
        .env(CHILD, url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    line(&mut output, "ready");
    // The server is silent, so that the request is in flight when the owner is stopped.
    freeze();
    drop(child.stdin.take());
    line(&mut output, "sending");
    std::thread::sleep(TIMEOUT / 6);
    kill_process(pid(&child), Signal::STOP).expect("it can be stopped");
    waitid(WaitId::Pid(pid(&child)), WaitIdOptions::STOPPED).expect("it is stopped");
    thaw();
    std::thread::sleep(TIMEOUT * 3);
    kill_process(pid(&child), Signal::CONT).expect("it can go on");
    let outcome = line(&mut output, "outcome");
    child.wait().expect("it ends");
    assert!(outcome.starts_with("outcome Applied"), "{outcome}");
}

#[test]
fn an_answer_that_waits_is_read_before_the_time_out_is_judged() {
    match RedisServer::start() {
        Ok(server) => an_answer_that_waits_is_read(&server.url(), || server.freeze(), || server.thaw()),
        Err(why) => skip("an_answer_that_waits_is_read_before_the_time_out_is_judged", &why),
    }
}

#[cfg(feature = "etcd")]
#[test]
fn an_answer_of_etcd_that_waits_is_read_too() {
    match etcd_server::EtcdServer::start() {
        Ok(server) => an_answer_that_waits_is_read(&server.url(), || server.freeze(), || server.thaw()),
        Err(why) => skip("an_answer_of_etcd_that_waits_is_read_too", &why),
    }
}

#[cfg(feature = "postgres")]
#[test]
fn an_answer_of_postgresql_that_waits_is_read_too() {
    match PostgresServer::start() {
        Ok(server) => {
            open_administrator(&server.url().parse().expect("a URL"), LONG)
                .and_then(|mut lab| lab.prepare())
                .expect("the table can be made");
            an_answer_that_waits_is_read(&server.url(), || server.freeze(), || server.thaw());
        }
        Err(why) => skip("an_answer_of_postgresql_that_waits_is_read_too", &why),
    }
}
