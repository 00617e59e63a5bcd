//! The CPU time of processes, thread by thread, in nanoseconds.

use crate::threads;
use std::collections::BTreeMap;
use std::fs::File;
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
}

/// The CPU time of these processes in nanoseconds, all threads together.
#[must_use]
pub fn total(pids: impl IntoIterator<Item = u32>) -> Option<u64> {
    Some(CpuProbe::open(pids)?.read().values().sum())
}
