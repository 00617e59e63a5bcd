//! Who a process is: pid, start tick, and the boot in which both mean something.

use crate::stat;
use leaseproof_model::name::ProcessId;
use std::fs::File;
use std::io::Read;
use std::{fs, io};

/// Reads the identity of the process that has `pid` now.
///
/// # Errors
/// When there is no such process.
pub fn identify(pid: u32) -> io::Result<ProcessId> {
    Ok(stat::read(pid)?.id)
}

/// The identity of this process.
///
/// # Errors
/// When `/proc` isn't there.
pub fn me() -> io::Result<ProcessId> {
    identify(std::process::id())
}

/// Whether this very process is there and has not ended.
#[must_use]
pub fn is_alive(id: ProcessId) -> bool {
    stat::read(id.pid).is_ok_and(|row| row.id == id && !row.is_over())
}

/// The id of this boot: a pid and a start tick of another boot mean nothing.
///
/// # Errors
/// When `/proc` isn't there.
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// 128 random bits as text: what a run's processes carry in their environment, so that one which
/// left its tree and its session is still known as the run's.
///
/// # Errors
/// When the kernel's random source can't be read.
pub fn new_mark() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
