//! The threads of a process, and whether each of them stands still.

use std::{fs, io};

/// One thread.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Its id.
    pub tid: u32,
    /// The state letter of its stat line.
    pub state: char,
    /// Whether it is off the CPU, by the kernel's word: `/proc/<pid>/task/<tid>/syscall` says
    /// `running` until the scheduler has really taken the thread off. `None` where that file can't
    /// be read.
    pub off_cpu: Option<bool>,
}

impl Thread {
    /// It has ended.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Stopped by a signal, and off the CPU as far as that can be seen. The letter alone comes a
    /// moment too early: a thread sets it before it gives up the CPU.
    #[must_use]
    pub fn is_stopped(self) -> bool {
        self.state == 'T' && self.off_cpu != Some(false)
    }
}

/// The threads of a process by id; none when it is gone.
#[must_use]
pub fn of(pid: u32) -> Vec<Thread> {
    let mut threads: Vec<Thread> = tids(pid).into_iter().filter_map(|tid| look(pid, tid)).collect();
    threads.sort_by_key(|thread| thread.tid);
    threads
}

/// The ids of a process's threads; none when it is gone.
#[must_use]
pub fn tids(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// One look at one thread; `None` when it is gone.
#[must_use]
pub fn look(pid: u32, tid: u32) -> Option<Thread> {
    Some(Thread {
        tid,
        state: state(pid, tid)?,
        off_cpu: off_cpu(pid, tid).ok(),
    })
}

/// The state letter of one thread; `None` when it is gone.
#[must_use]
pub fn state(pid: u32, tid: u32) -> Option<char> {
    let line = fs::read(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    let line = String::from_utf8_lossy(&line);
    line.get(line.rfind(')')? + 1..)?.trim_start().chars().next()
}

fn off_cpu(pid: u32, tid: u32) -> io::Result<bool> {
    let text = fs::read(format!("/proc/{pid}/task/{tid}/syscall"))?;
    Ok(!text.starts_with(b"running"))
}
