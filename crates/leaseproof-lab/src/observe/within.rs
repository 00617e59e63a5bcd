//! Looks at what the running part of an owner's tree sends to the part that stands still: a local agent, a proxy.
//!
//! No relay lies between them, so the kernel is asked. A request that lies unread at a stopped process is one that
//! nobody answers.

use crate::bundle::Recorder;
use leaseproof_model::event::{Source, What, Within, WithinSeen};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{OwnerName, ProcessId};
use leaseproof_proc::clock::boot_now;
use leaseproof_proc::family::Family;
use leaseproof_proc::sockets;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks: a client gives up, or connects anew, in far longer than this.
const NAP: Duration = Duration::from_millis(100);

/// A running watch; it stops when dropped.
pub struct WithinWatch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WithinWatch {
    /// Watches what `owner`'s family sends to its root, which stands still.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn start(owner: &OwnerName, family: &Family, recorder: &Recorder) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, owner, family, recorder) = (Arc::clone(&stop), owner.clone(), family.clone(), recorder.clone());
        let thread = std::thread::Builder::new()
            .name("within".to_owned())
            .stack_size(256 << 10)
            .spawn(move || {
                let mut looked = boot_now();
                let mut known = None;
                while !stopped.load(Ordering::Relaxed) {
                    let asked = boot_now();
                    let seen = look(&family);
                    let at = Moment::between(looked, boot_now());
                    for within in changes(known.as_ref(), &seen, family.root) {
                        recorder.record(Source::Process, Some(&owner), at, What::Within(within));
                    }
                    (known, looked) = (Some(seen), asked);
                    std::thread::sleep(NAP);
                }
            })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for WithinWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Each connection to the root, by its process and its ends, and what lies unread.
type Seen = BTreeMap<(ProcessId, String), u32>;

/// What can't be looked at is not there: a process that ends meanwhile has no connections.
fn look(family: &Family) -> Seen {
    let mut seen = Seen::new();
    for process in family.look().unwrap_or_default() {
        if process == family.root {
            continue;
        }
        for it in sockets::between(process.pid, family.root.pid).unwrap_or_default() {
            seen.insert((process, format!("{} {}", it.remote, it.local)), it.unread);
        }
    }
    seen
}

fn changes(before: Option<&Seen>, now: &Seen, root: ProcessId) -> Vec<Within> {
    let within = |(from, connection): &(ProcessId, String), seen| Within {
        from: *from,
        to: root,
        connection: connection.clone(),
        seen,
    };
    let mut all = Vec::new();
    for (key, unread) in now {
        let was = before.and_then(|before| before.get(key));
        match (before, was) {
            (None, _) => all.push(within(key, WithinSeen::Stood)),
            (Some(_), None) => all.push(within(key, WithinSeen::Opened)),
            _ => {}
        }
        if *unread > 0 && was.is_none_or(|was| *was == 0) {
            all.push(within(key, WithinSeen::Unread(*unread)));
        }
    }
    let gone = before.into_iter().flatten().filter(|(key, _)| !now.contains_key(*key));
    all.extend(gone.map(|(key, _)| within(key, WithinSeen::Gone)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32) -> ProcessId {
        ProcessId { pid, start_ticks: 1 }
    }

    #[test]
    fn what_changes_is_told_once() {
        let root = process(1);
        let seen = |all: &[(&str, u32)]| -> Seen {
            all.iter()
                .map(|(ends, unread)| ((process(2), (*ends).to_owned()), *unread))
                .collect()
        };
        let told = |before: Option<&Seen>, now: &Seen| -> Vec<(String, WithinSeen)> {
            let changes = changes(before, now, root);
            changes.into_iter().map(|it| (it.connection, it.seen)).collect()
        };
        let (first, second, third) = (seen(&[("a", 0)]), seen(&[("a", 40), ("b", 7)]), seen(&[("b", 9)]));
        let of = |ends: &str, what| (ends.to_owned(), what);
        assert_eq!(told(None, &first), [of("a", WithinSeen::Stood)]);
        assert_eq!(told(Some(&first), &first), []);
        assert_eq!(
            told(Some(&first), &second),
            [
                of("a", WithinSeen::Unread(40)),
                of("b", WithinSeen::Opened),
                of("b", WithinSeen::Unread(7)),
            ]
        );
        assert_eq!(told(Some(&second), &third), [of("a", WithinSeen::Gone)]);
    }
}
