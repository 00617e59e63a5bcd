//! What keeps a process from the CPU: the freezer, its control group's quota, others that want it too.
//! Both versions of control groups, since hybrid hosts use each for a part.

use crate::cgroup::{self, Cgroup};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Whether a control group is frozen, and which one says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Freezer {
    /// The group.
    pub group: Cgroup,
    /// Whether every process in it is frozen by the kernel's word.
    pub frozen: bool,
    /// Whether a freeze was asked for and is not complete.
    pub freezing: bool,
}

/// The freezer of a process; none where it is in no control group that has one (the root has none).
#[must_use]
pub fn freezer(pid: u32) -> Option<Freezer> {
    let second = cgroup::of(pid, None).and_then(|group| {
        let frozen = group.is_frozen().ok()?;
        let asked = read(&group, "cgroup.freeze").is_some_and(|text| text.trim() == "1");
        Some(Freezer {
            frozen,
            freezing: asked && !frozen,
            group,
        })
    });
    let first = || {
        let group = cgroup::of(pid, Some("freezer"))?;
        let state = read(&group, "freezer.state")?;
        Some(Freezer {
            frozen: state.trim() == "FROZEN",
            freezing: state.trim() == "FREEZING",
            group,
        })
    };
    match second {
        Some(freezer) if freezer.frozen || freezer.freezing => Some(freezer),
        calm => first().or(calm),
    }
}

/// How often, and for how long, a control group had used up its quota.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Throttling {
    /// The group.
    pub group: Cgroup,
    /// How often, since it was made.
    pub times: u64,
    /// For how long in all.
    pub for_all: Duration,
}

/// The throttling of a process's control group; none where it has no quota of its own.
#[must_use]
pub fn throttling(pid: u32) -> Option<Throttling> {
    let of = |controller, name, scale| {
        let group = cgroup::of(pid, controller)?;
        let text = read(&group, "cpu.stat")?;
        Some(Throttling {
            times: value(&text, "nr_throttled")?,
            for_all: Duration::from_nanos(value(&text, name)?.saturating_mul(scale)),
            group,
        })
    };
    of(None, "throttled_usec", 1000).or_else(|| of(Some("cpu"), "throttled_time", 1))
}

/// The share of the last ten seconds in which something waited for a CPU, in percent; of the process's
/// control group (its path), or else of the whole machine.
#[must_use]
pub fn cpu_pressure(pid: u32) -> Option<(Option<Cgroup>, f64)> {
    let own = cgroup::of(pid, None).and_then(|group| {
        let text = read(&group, "cpu.pressure")?;
        Some((Some(group), some_10s(&text)?))
    });
    own.or_else(|| {
        let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
        Some((None, some_10s(&text)?))
    })
}

fn some_10s(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split(' ')
        .find_map(|field| field.strip_prefix("avg10="))?
        .parse()
        .ok()
}

fn read(group: &Cgroup, name: &str) -> Option<String> {
    fs::read_to_string(Path::new(group.path()).join(name)).ok()
}

fn value(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_read() {
        let text = "some avg10=97.76 avg60=79.89 avg300=48.81 total=4850066614\nfull avg10=0.00 total=0\n";
        assert_eq!(some_10s(text), Some(97.76));
        assert_eq!(some_10s("full avg10=1.00\n"), None);
    }

    #[test]
    fn this_process_is_not_frozen() {
        let freezer = freezer(std::process::id());
        assert!(freezer.is_none_or(|it| !it.frozen));
    }
}
