//! The control group of a command, where one can be made.

use leaseproof_model::name::ProcessId;
use leaseproof_proc::cgroup::{self, Cgroup};
use leaseproof_proc::identity;
use std::fs;
use std::path::Path;
use std::time::Duration;

const PREFIX: &str = "leaseproof-hold-";

/// Long enough for the kernel to bury what was killed.
const REMOVAL: Duration = Duration::from_millis(500);

/// A new control group, named after this process; or why there is none.
///
/// # Errors
/// A reason for people: no version 2, not ours to write, an old kernel.
pub fn create(number: u64) -> Result<Cgroup, String> {
    let home = cgroup::home()?;
    remove_left(&home);
    let me = identity::me().map_err(|error| error.to_string())?;
    let group = Cgroup::at(home.join(format!("{PREFIX}{}-{}-{number}", me.pid, me.start_ticks)));
    group
        .create()
        .map_err(|error| format!("{}: {error}", group.path().display()))?;
    let usable = ["cgroup.procs", "cgroup.kill"]
        .into_iter()
        .all(|name| rustix::fs::access(group.path().join(name), rustix::fs::Access::WRITE_OK).is_ok());
    if !usable {
        remove(&group);
        return Err(format!(
            "{}: it can't be joined, or not be killed",
            group.path().display()
        ));
    }
    Ok(group)
}

/// Removes it; whether nothing of it is left.
pub fn remove(group: &Cgroup) -> bool {
    group.remove(REMOVAL).is_ok()
}

/// Removes empty groups of `hold`s that were killed together with their guardians.
fn remove_left(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(maker) else {
            continue;
        };
        if !identity::is_alive(id) {
            // One in which something lives stays: the kernel refuses.
            let _ = Cgroup::at(entry.path()).remove(Duration::ZERO);
        }
    }
}

fn maker(name: &str) -> Option<ProcessId> {
    let mut numbers = name.strip_prefix(PREFIX)?.split('-');
    Some(ProcessId {
        pid: numbers.next()?.parse().ok()?,
        start_ticks: numbers.next()?.parse().ok()?,
    })
}
