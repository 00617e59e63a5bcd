//! A thread's turn on the CPU.

use std::io;

/// Puts the calling thread before all ordinary ones, so that it ends a pause when that is due even
/// while other programs keep every CPU busy. Its children and new threads don't inherit it: an owner
/// must run like any program.
///
/// Only for a thread that sleeps nearly all the time.
///
/// # Errors
/// Where that takes a right that we don't have; then pauses end as late as the machine is busy, and
/// are reported as they were.
#[expect(unsafe_code, reason = "neither std nor rustix can set a scheduling class")]
pub fn raise_this_thread() -> io::Result<()> {
    // SAFETY: all-zero is a valid value of this plain C structure on every libc.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = 1;
    // SAFETY: the call reads the structure, and changes nothing but the calling thread's class.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const param) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
