//! What is done to an incident, and the proof that it happened.

use super::group::Group;
use super::scene::Scene;
use super::stage::wall_now;
use super::table::Fault;
use leaseproof_fault::FaultSink;
use leaseproof_fault::clock_step::clock_step;
use leaseproof_fault::kill_tree::kill_tree;
use leaseproof_fault::launch::Target;
use leaseproof_fault::pause::pause_tree::pause_tree;
use leaseproof_fault::pause::{Method, Paused};
use rustix::process::Signal;
use serde::Serialize;
use std::process::Command;
use std::time::{Duration, Instant};

/// No fault lasts longer, whatever becomes of us.
const HOLD: Duration = Duration::from_secs(45);
/// How long a takeover is waited for.
pub const PATIENCE: Duration = Duration::from_secs(25);

/// That it happened, and when (ns since 1970).
#[derive(Clone, Debug, Default, Serialize)]
pub struct Proof {
    pub from_ns: i64,
    pub until_ns: i64,
    /// By whose word.
    pub by: String,
}

/// Does it. The incident goes on after it.
///
/// # Errors
/// Why the incident can't be kept.
pub fn apply(scene: &mut Scene) -> Result<Option<Proof>, String> {
    let fault = scene.draw.kind.fault;
    let began = wall_now();
    let proof = |by: &str| Proof {
        from_ns: began,
        until_ns: wall_now(),
        by: by.to_owned(),
    };
    match fault {
        Fault::None => {
            scene.run_without_fault()?;
            Ok(None)
        }
        Fault::Stop | Fault::BriefStop | Fault::Freeze | Fault::StopAndGone | Fault::HeldWrite => {
            let target = scene.first()?.process.target().clone();
            if fault == Fault::HeldWrite && !scene.resource.hold_next("worker-a", Duration::from_secs(5)) {
                return Err("no write came to be held".to_owned());
            }
            let method = if fault == Fault::Freeze {
                Method::CgroupV2
            } else {
                Method::Sigstop
            };
            let paused = pause(scene, &target, method)?;
            scene.until_taken_over()?;
            match fault {
                Fault::StopAndGone => {
                    scene.owner("worker-b").process.terminate();
                    if !scene.looks.wait(Duration::from_secs(10), |seen| {
                        seen.last().is_some_and(|it| it.holder.is_none())
                    }) {
                        return Err("the next owner did not free the lease".to_owned());
                    }
                }
                Fault::BriefStop => {}
                _ => scene.sleep(scene.draw.extra_ms),
            }
            if fault == Fault::HeldWrite {
                scene.resource.release();
                scene.sleep(50);
            }
            thaw(paused).map(Some)
        }
        Fault::Gc => {
            let owner = scene.first()?;
            std::fs::write(&owner.collect, "now").map_err(|error| error.to_string())?;
            let log = owner.gc_log.clone();
            let line = until_line(&log, |line| {
                line.contains("Pause Full (System.gc())") && line.ends_with("ms")
            })?;
            let took = line
                .rsplit(' ')
                .next()
                .and_then(|it| it.trim_end_matches("ms").parse::<f64>().ok());
            if took.is_none_or(|ms| ms < millis(scene.draw.ttl_ms) * 1.15) {
                return Err(format!("the collection was too short: {took:?} ms"));
            }
            scene.until_taken_over()?;
            Ok(Some(proof("the JVM's own log")))
        }
        Fault::StopInGc => {
            let owner = scene.first()?;
            std::fs::write(&owner.collect, "now").map_err(|error| error.to_string())?;
            let (log, target) = (owner.gc_log.clone(), owner.process.target().clone());
            until_line(&log, |line| {
                line.contains("gc,start") && line.contains("Pause Full (System.gc())")
            })?;
            let paused = pause(scene, &target, Method::Sigstop)?;
            let inside = until_line_at_once(&log, |line| {
                line.contains("Pause Full (System.gc())") && line.ends_with("ms")
            });
            scene.until_taken_over()?;
            scene.sleep(scene.draw.extra_ms);
            let proof = thaw(paused)?;
            // On a busy machine it takes a while until the collection is done, and its line is what misleads.
            until_line(&log, |line| {
                line.contains("Pause Full (System.gc())") && line.ends_with("ms")
            })?;
            match inside {
                true => Err("the collection was over before it was stopped".to_owned()),
                false => Ok(Some(proof)),
            }
        }
        Fault::Throttle => {
            let target = scene.first()?.process.target().clone();
            let group = Group::around("cpu", &target)?;
            scene.poll(
                "cpu.stat.txt",
                super::poll::Of::Counters(group.path().join("cpu.stat")),
                250,
            );
            scene.sleep(1200);
            group.write("cpu.cfs_period_us", "1000000")?;
            group.write("cpu.cfs_quota_us", "1000")?;
            let taken = scene.until_taken_over();
            scene.sleep(scene.draw.extra_ms);
            group.write("cpu.cfs_quota_us", "-1")?;
            taken?;
            let stat = std::fs::read_to_string(group.path().join("cpu.stat")).unwrap_or_default();
            let throttled = stat
                .lines()
                .find_map(|line| line.strip_prefix("nr_throttled ")?.parse::<u64>().ok());
            scene.groups.push(group);
            match throttled {
                Some(1..) => Ok(Some(proof("cpu.stat of its group"))),
                _ => Err("it was never throttled".to_owned()),
            }
        }
        Fault::Kill => {
            let target = scene.first()?.process.target().clone();
            kill_tree(&scene.warden, &target, &FaultSink::none()).map_err(|error| error.to_string())?;
            scene.until_taken_over()?;
            Ok(Some(proof("the kernel: all are dead")))
        }
        Fault::Oom => {
            let target = scene.first()?.process.target().clone();
            let group = Group::around("memory", &target)?;
            group.write("memory.limit_in_bytes", "134217728")?;
            let _ = group.write("memory.memsw.limit_in_bytes", "134217728");
            target.pidfd().signal(Signal::USR1).map_err(|error| error.to_string())?;
            let dead = target.pidfd().wait_ended(Duration::from_secs(15));
            scene.groups.push(group);
            let said = killed_by_kernel(target.root().pid);
            if !dead || said.is_empty() {
                return Err("the kernel killed nothing for its memory".to_owned());
            }
            scene.extra.push(("dmesg.txt".to_owned(), said.into_bytes()));
            scene.until_taken_over()?;
            Ok(Some(proof("the kernel's log")))
        }
        Fault::Blackhole => {
            let relay = scene.relay.as_ref().ok_or("no relay")?;
            let held = relay.blackhole(scene.warden.next_fault(), &FaultSink::none());
            let taken = scene.until_taken_over();
            scene.sleep(scene.draw.extra_ms);
            let swallowed = scene.relay.as_ref().map_or(0, |it| it.requests_swallowed());
            held.heal();
            taken?;
            match swallowed {
                0 => Err("nothing was swallowed".to_owned()),
                _ => Ok(Some(proof("the relay: requests were swallowed"))),
            }
        }
        Fault::IdleDrop => {
            let relay = scene.relay.as_ref().ok_or("no relay")?;
            let cut = relay.idle_drop(scene.warden.next_fault(), &FaultSink::none());
            if cut.connections.is_empty() {
                return Err("there was no connection to forget".to_owned());
            }
            scene.until_taken_over()?;
            scene.sleep(scene.draw.extra_ms);
            Ok(Some(proof("the relay: connections were forgotten")))
        }
        Fault::StoreStop => {
            let target = scene.store.server().ok_or("no server")?.target().clone();
            let paused = pause(scene, &target, Method::Sigstop)?;
            scene.sleep(scene.draw.ttl_ms + 700 + scene.draw.extra_ms);
            let proof = thaw(paused)?;
            scene.until_lost()?;
            Ok(Some(proof))
        }
        Fault::StoreRestartEmpty => {
            scene.store.restart_empty()?;
            scene.until_lost()?;
            Ok(Some(proof("the server: killed, and answers again")))
        }
        Fault::Failover => {
            let target = scene.store.server().ok_or("no server")?.target().clone();
            let paused = pause(scene, &target, Method::Sigstop)?;
            let switched = scene.until_lost();
            scene.sleep(1500 + scene.draw.extra_ms);
            let proof = thaw(paused)?;
            switched.map(|()| Some(proof))
        }
        Fault::Evict => {
            let holder = scene.looks.holder();
            scene.store.fill(60_000, || scene.looks.holder() != holder);
            scene.until_lost()?;
            let info = scene.store.cli(&["info", "stats"]);
            let evicted = info
                .lines()
                .find_map(|line| line.trim().strip_prefix("evicted_keys:")?.parse::<u64>().ok());
            match evicted {
                Some(1..) => Ok(Some(proof("INFO: evicted_keys"))),
                _ => Err("nothing was evicted".to_owned()),
            }
        }
        Fault::StoreClock => {
            let target = scene.store.server().ok_or("no server")?.target().clone();
            let shim = scene.store.shim().ok_or("no shim")?.clone();
            let step = clock_step(
                &scene.warden,
                &target,
                &shim,
                3_600_000_000_000,
                HOLD,
                &FaultSink::none(),
            );
            let step = step.map_err(|error| error.to_string())?;
            scene.until_lost()?;
            scene.steps.push(step);
            Ok(Some(proof("the shim: mapped, and stepped by an hour")))
        }
        Fault::Delete => {
            let key = scene.draw.store_key();
            let said = scene.store.cli(&["del", &key]);
            if said.trim() != "1" {
                return Err(format!("DEL answered {said:?}"));
            }
            scene.until_lost()?;
            Ok(Some(proof("the store: DEL answered 1")))
        }
        Fault::Steal => {
            let key = scene.draw.store_key();
            let said = scene.store.cli(&["set", &key, "nightly-job:77", "px", "5000"]);
            if said.trim() != "OK" {
                return Err(format!("SET answered {said:?}"));
            }
            scene.until_lost()?;
            Ok(Some(proof("the store: SET answered OK")))
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a few seconds")]
fn millis(ms: u64) -> f64 {
    ms as f64
}

fn pause(scene: &Scene, target: &Target, method: Method) -> Result<Paused, String> {
    pause_tree(&scene.warden, target, method, HOLD, &FaultSink::none()).map_err(|error| error.to_string())
}

fn thaw(paused: Paused) -> Result<Proof, String> {
    let thawed = paused.thaw().map_err(|error| error.to_string())?;
    if thawed.by_warden {
        return Err("the warden ended the pause".to_owned());
    }
    let now = leaseproof_proc::clock::stamp_now();
    let wall = |boot: u64| now.wall.0 - i64::try_from(now.boot.0.saturating_sub(boot)).unwrap_or(0);
    Ok(Proof {
        from_ns: wall(thawed.confirmed.latest.0),
        until_ns: wall(thawed.undone.earliest.0),
        by: "the kernel: all threads stood still".to_owned(),
    })
}

/// Waits for such a line in a file.
fn until_line(path: &std::path::Path, wanted: impl Fn(&str) -> bool) -> Result<String, String> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if let Some(line) = text.lines().find(|line| wanted(line)) {
            return Ok(line.to_owned());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Err(format!("{} has no such line", path.display()))
}

fn until_line_at_once(path: &std::path::Path, wanted: impl Fn(&str) -> bool) -> bool {
    std::fs::read_to_string(path).unwrap_or_default().lines().any(wanted)
}

/// The kernel's lines about the death of this process.
fn killed_by_kernel(pid: u32) -> String {
    let output = Command::new("dmesg").output();
    let text = output
        .map(|it| String::from_utf8_lossy(&it.stdout).into_owned())
        .unwrap_or_default();
    let (task, process) = (format!("pid={pid},"), format!("Killed process {pid} "));
    let kept = text
        .lines()
        .filter(|line| line.contains(&task) || line.contains(&process));
    kept.map(|line| format!("{line}\n")).collect()
}
