//! The CPU time of processes, thread by thread, in nanoseconds.

use crate::{stat, threads};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Open files on the CPU time of some processes' threads, so that a second look costs little: it
/// stands between the moment at which a pause is due to end and its end.
#[derive(Debug, Default)]
pub struct CpuProbe {
    threads: BTreeMap<(u32, u32), File>,
}

/// The CPU time that each thread (pid, tid) has used.
pub type CpuTimes = BTreeMap<(u32, u32), u64>;

impl CpuProbe {
    /// Opens all threads that these processes have now. `None` where the kernel doesn't keep
    /// `schedstat`, whose nanoseconds nothing else has.
    #[must_use]
    pub fn open(pids: impl IntoIterator<Item = u32>) -> Option<Self> {
        let mut probe = Self::default();
        for pid in pids {
            for tid in threads::tids(pid) {
                match File::open(format!("/proc/{pid}/task/{tid}/schedstat")) {
                    Ok(file) => {
                        probe.threads.insert((pid, tid), file);
                    }
                    // The thread ended between the two looks, or there is no such file at all.
                    Err(_) if threads::look(pid, tid).is_none() => {}
                    Err(_) => return None,
                }
            }
        }
        Some(probe)
    }

    /// Reads them. A thread that has ended is left out.
    #[must_use]
    pub fn read(&self) -> CpuTimes {
        let mut buffer = [0_u8; 96];
        let mut times = CpuTimes::new();
        for (key, file) in &self.threads {
            let Ok(length) = file.read_at(&mut buffer, 0) else {
                continue;
            };
            let text = String::from_utf8_lossy(&buffer[..length]);
            if let Some(time) = text.split(' ').next().and_then(|text| text.parse().ok()) {
                times.insert(*key, time);
            }
        }
        times
    }

    /// Whether no thread has run since they read `before`.
    ///
    /// One that was killed where it stood has run no instruction of its own: the kernel alone ended it, and what that
    /// took is on its account. So a process that SIGKILL ended is left out, as long as its status shows that.
    #[must_use]
    pub fn is_flat(&self, before: &CpuTimes) -> bool {
        let now = self.read();
        before
            .iter()
            .all(|(key, time)| now.get(key) == Some(time) || was_killed(key.0))
    }
}

/// Whether the process waits to be reaped, and SIGKILL ended it.
fn was_killed(pid: u32) -> bool {
    // The last field of the line: the status as `wait` gives it. It is 0 to those who may not know it.
    let status = |line: &str| line.trim_end().rsplit(' ').next()?.parse::<u32>().ok();
    let line = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line);
    stat::parse(&line).is_some_and(|row| row.is_over()) && status(&line).is_some_and(|status| status & 0x7f == SIGKILL)
}

const SIGKILL: u32 = 9;

/// The CPU time of these processes in nanoseconds, all threads together.
#[must_use]
pub fn total(pids: impl IntoIterator<Item = u32>) -> Option<u64> {
    Some(CpuProbe::open(pids)?.read().values().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, Signal, kill_process};
    use std::process::{Child, Command};

    /// A shell that spins, stopped; what it had used then.
    fn stopped() -> (Child, CpuProbe, CpuTimes) {
        let child = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .expect("a shell");
        signal(&child, Signal::STOP);
        while stat::read(child.id()).expect("it is there").state != 'T' {
            std::thread::yield_now();
        }
        let probe = CpuProbe::open([child.id()]).expect("this kernel keeps schedstat");
        let times = probe.read();
        (child, probe, times)
    }

    fn signal(child: &Child, signal: Signal) {
        kill_process(Pid::from_child(child), signal).expect("it is ours");
    }

    #[test]
    fn killed_where_it_stood_ok() {
        let (mut child, probe, before) = stopped();
        assert!(probe.is_flat(&before));
        signal(&child, Signal::KILL);
        while !stat::read(child.id()).expect("not reaped").is_over() {
            std::thread::yield_now();
        }
        assert!(probe.is_flat(&before));
        let _ = child.wait();
        // Reaped: nobody knows any more how it ended.
        assert!(!probe.is_flat(&before));
    }

    #[test]
    fn ran_on_bad() {
        let (mut child, probe, before) = stopped();
        signal(&child, Signal::CONT);
        while probe.read() == before {
            std::thread::yield_now();
        }
        assert!(!probe.is_flat(&before));
        let _ = child.kill();
        let _ = child.wait();
    }
}
