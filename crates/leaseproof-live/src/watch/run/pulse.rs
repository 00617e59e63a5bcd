//! Notices when nothing of us ran.

use super::{PULSE, Shared};
use leaseproof_proc::clock::boot_now;

/// Beats until it is to end: whoever stops us, or takes the processor, stops this thread too.
pub(super) fn pulse(shared: &Shared) {
    let mut due = boot_now();
    while !shared.stopped() {
        due = due.plus(PULSE);
        std::thread::sleep(due.since(boot_now()));
        let now = boot_now();
        let mut notices = Vec::new();
        shared.board().woke(now.since(due), now, &mut notices);
        shared.tell(notices);
        due = due.max(now);
    }
}
