//! An owner built on the library, fit for `leaseproof verify -- target/release/examples/owner`.
//!
//! It gets store, key and times from the environment, writes to the resource as long as it has a permit, and prints
//! what happens as JSON lines. It acquires anew after each loss, and releases when it is asked to end. With `--fleet` the
//! lease is one of a fleet's. Built with the feature `flaws`, it is broken as LEASEPROOF_LIB_FLAW says.

use leaseproof::{Budget, Event, Fleet, Lease, Line, Metrics, Options, Permit, Store, boot_now};
use serde_json::json;
use std::env;
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let millis = |name: &str, usual: u64| -> Result<Duration, Box<dyn Error>> {
        Ok(Duration::from_millis(
            env::var(name).map_or(Ok(usual), |text| text.parse())?,
        ))
    };
    let heartbeat = millis("LEASEPROOF_HEARTBEAT_MS", 1000)?;
    // The worst pause is the plan's business, and was asserted there: here it is anything that the times allow.
    let budget = Budget::new(millis("LEASEPROOF_TTL_MS", 3000)?, heartbeat, Duration::from_millis(1)).assert()?;
    let store: Store = env::var("LEASEPROOF_STORE")?.parse()?;
    let key = env::var("LEASEPROOF_KEY")?;
    let name = env::var("LEASEPROOF_OWNER").unwrap_or_else(|_| "example".to_owned());
    let mut resource = Resource::new(&env::var("LEASEPROOF_RESOURCE")?, &name)?;
    let metrics = Arc::new(Metrics::new());
    let options = match env::args().nth(1).as_deref() {
        None => Options::new(&store, &key, &budget),
        // The fleet is kept by its options, and by the lease.
        Some("--fleet") => Fleet::new(&store, &budget)?.options(&key),
        Some(other) => return Err(format!("{other} is unknown: give --fleet, or nothing").into()),
    };
    let options = options
        .owner(&name)
        .until(&stop)
        // A worker that is stuck for so long holds nobody up.
        .work_limit(budget.numbers().ttl * 4)
        .metrics(&metrics)
        .on_event(say);
    #[cfg(feature = "flaws")]
    let options = match env::var("LEASEPROOF_LIB_FLAW") {
        Err(_) => options,
        Ok(name) => options.flaw(leaseproof::Flaw::from_name(&name).ok_or("LEASEPROOF_LIB_FLAW names no flaw")?),
    };
    while !stop.load(Ordering::Relaxed) {
        let Ok(lease) = options.acquire() else { continue };
        work(&lease, &mut resource, &stop, heartbeat / 10);
        // After a loss there is nothing to release, and this says so.
        let _ = lease.release();
    }
    Ok(())
}

/// Writes until the lease is lost.
fn work(lease: &Lease, resource: &mut Resource, stop: &AtomicBool, pace: Duration) {
    let mut refused = false;
    while !stop.load(Ordering::Relaxed) {
        // The connection first, so that nothing lies between the check and the write.
        if resource.connect().is_ok() {
            let Ok(permit) = lease.permit() else {
                if !std::mem::replace(&mut refused, true) {
                    println!("{}", json!({"lease": "write_refused", "reason": "lock not held"}));
                }
                // The store may say yet that it holds; once it is lost it stays lost.
                if lease.wait_lost(pace).is_some() {
                    return;
                }
                continue;
            };
            refused = false;
            if resource.write(permit).is_ok_and(|status| status == 409) {
                lease.fenced(&permit);
                println!("{}", json!({"lease": "write_refused", "reason": "stale fence"}));
                return;
            }
        }
        std::thread::sleep(pace);
    }
}

/// An event as a line of the owner's contract.
fn say(event: &Event) {
    let line = Line::of(event).map(|line| serde_json::to_string(&line.at(boot_now())));
    if let Some(Ok(line)) = line {
        println!("{line}");
    }
}

/// The protected resource, on one connection.
struct Resource {
    host: String,
    path: String,
    owner: String,
    connection: Option<TcpStream>,
}

impl Resource {
    fn new(url: &str, owner: &str) -> Result<Self, Box<dyn Error>> {
        let rest = url
            .strip_prefix("http://")
            .ok_or("the resource must be an http:// URL")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self {
            host: host.to_owned(),
            path: format!("/{path}/write").replace("//", "/"),
            owner: owner.to_owned(),
            connection: None,
        })
    }

    fn connect(&mut self) -> std::io::Result<()> {
        if self.connection.is_none() {
            let socket = TcpStream::connect(&self.host)?;
            socket.set_nodelay(true)?;
            socket.set_read_timeout(Some(Duration::from_secs(1)))?;
            self.connection = Some(socket);
        }
        Ok(())
    }

    /// Sends one write with the permit's token; the status of the answer.
    fn write(&mut self, permit: Permit) -> std::io::Result<u16> {
        let Some(mut socket) = self.connection.take() else {
            return Err(std::io::ErrorKind::NotConnected.into());
        };
        let request = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nLease-Owner: {}\r\nFencing-Token: {}\r\nContent-Length: 0\r\n\r\n",
            self.path,
            self.host,
            self.owner,
            permit.token()
        );
        socket.write_all(request.as_bytes())?;
        let mut answer = [0; 4096];
        let length = loop {
            match socket.read(&mut answer) {
                // A process that was stopped and goes on again meets this.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        let status = std::str::from_utf8(&answer[..length]).ok();
        let status = status.and_then(|text| text.split(' ').nth(1)?.parse().ok());
        if status.is_some() {
            self.connection = Some(socket);
        }
        Ok(status.unwrap_or(0))
    }
}
