//! For how long this thread has been ready to run and was not let: the kernel's own count.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

/// The count of one thread.
#[derive(Debug)]
pub struct Lateness(Option<File>);

impl Lateness {
    /// Of the thread that calls this.
    #[must_use]
    pub fn of_this_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// So much until now; none where the kernel doesn't count it.
    #[must_use]
    pub fn so_far(&self) -> Option<Duration> {
        let mut text = [0; 96];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        // Time on a processor, time waiting for one (ns), number of times it got one.
        let text = std::str::from_utf8(&text[..length]).ok()?;
        text.split_ascii_whitespace()
            .nth(1)?
            .parse()
            .ok()
            .map(Duration::from_nanos)
    }
}
