//! Holds very many leases by one fleet, and prints what that costs as one line of JSON; `bench/fleet/run.py` runs it
//! beside its peer.
//!
//! ```sh
//! fleet redis://127.0.0.1:6379 --leases 50000 --seconds 30
//! ```

use leaseproof::{Budget, Fleet, Lease, Store};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [url, rest @ ..] = arguments.as_slice() else {
        return Err("give the store: fleet redis://HOST:PORT [--leases N] [--seconds N] [--ttl-ms N] ...".into());
    };
    let mut numbers = HashMap::from([
        ("--leases", 50_000_u64),
        ("--seconds", 30),
        ("--ttl-ms", 4000),
        ("--heartbeat-ms", 1000),
        ("--renew-timeout-ms", 500),
    ]);
    for pair in rest.chunks(2) {
        let [name, value] = pair else {
            return Err(format!("{} has no value", pair[0]).into());
        };
        *numbers
            .get_mut(name.as_str())
            .ok_or_else(|| format!("{name} is unknown"))? = value.parse()?;
    }
    let millis = |name: &str| Duration::from_millis(numbers[name]);
    let store: Store = url.parse()?;
    let budget = Budget::new(millis("--ttl-ms"), millis("--heartbeat-ms"), Duration::from_millis(1))
        .with_renew_timeout(millis("--renew-timeout-ms"))
        .assert()?;
    let fleet = Fleet::new(&store, &budget)?;
    let keys: Vec<String> = (0..numbers["--leases"])
        .map(|number| format!("bench/fleet/{number}"))
        .collect();
    let began = Instant::now();
    let leases: Vec<Lease> = fleet
        .acquire_all(&keys, |options| options)
        .into_iter()
        .collect::<Result<_, _>>()?;
    let acquired = began.elapsed();
    // The crowd of the beginning is no measure of what holding them costs.
    std::thread::sleep(2 * millis("--heartbeat-ms"));
    let (began, before, cpu) = (Instant::now(), fleet.tally(), cpu());
    std::thread::sleep(Duration::from_secs(numbers["--seconds"]));
    let (took, after, cpu) = (began.elapsed().as_secs_f64(), fleet.tally(), self::cpu() - cpu);
    let asked = Instant::now();
    let permitted = leases.iter().filter(|lease| lease.permit().is_ok()).count();
    let asking = asked.elapsed();
    let line = json!({
        "who": "leaseproof",
        "leases": leases.len(),
        "held": permitted,
        "lost": after.lost,
        "failed": after.failed,
        "acquired_in_s": acquired.as_secs_f64(),
        "renewals_per_s": (after.renewed - before.renewed) as f64 / took,
        "cpu": cpu / took,
        "worst_lateness_ms": after.worst_lateness.as_secs_f64() * 1000.0,
        "permits_in_ms": asking.as_secs_f64() * 1000.0,
        "rss_mib": most_memory()?,
    });
    println!("{line}");
    Ok(())
}

/// Processor time of this process, in seconds.
fn cpu() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// The most memory that it ever had, in MiB.
fn most_memory() -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .ok_or("no VmHWM")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1024.0)
}
