//! What guards and the fleet's thread tell each other.

use crate::duty::{Duty, abandon};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// A word to the thread.
pub(super) enum Mail {
    /// One more lease is wanted.
    Join(u64, Box<Duty>),
    /// The wish of this one has changed.
    Stir(u64),
}

#[derive(Default)]
struct Tray {
    mail: Vec<Mail>,
    /// Nobody has the fleet, or a lease of it, any more.
    closed: bool,
    /// The thread is gone.
    ended: bool,
}

/// Shared with the thread.
pub(super) struct Office {
    inner: Mutex<Tray>,
    waker: Waker,
    next: AtomicU64,
    pub(super) counts: Counts,
}

/// What is counted; see [`Tally`].
#[derive(Default)]
pub(super) struct Counts {
    held: AtomicU64,
    renewed: AtomicU64,
    failed: AtomicU64,
    lost: AtomicU64,
    latest_ns: AtomicU64,
}

/// What a fleet has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Tally {
    /// Leases that are held now, as far as the thread that renews has looked.
    pub held: u64,
    /// Renewals that were applied.
    pub renewed: u64,
    /// Renewals that were refused, not applied, or are unknown.
    pub failed: u64,
    /// Leases that were lost; those that were released are not among them.
    pub lost: u64,
    /// By how much a renewal was sent after it was due, at worst.
    pub worst_lateness: Duration,
}

impl Counts {
    pub(super) fn held(&self) {
        self.held.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn over(&self, lost: bool) {
        self.held.fetch_sub(1, Ordering::Relaxed);
        self.lost.fetch_add(u64::from(lost), Ordering::Relaxed);
    }

    pub(super) fn renewed(&self, applied: bool) {
        let count = if applied { &self.renewed } else { &self.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn late(&self, by: Duration) {
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.latest_ns.fetch_max(nanos, Ordering::Relaxed);
    }

    fn tally(&self) -> Tally {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Tally {
            held: read(&self.held),
            renewed: read(&self.renewed),
            failed: read(&self.failed),
            lost: read(&self.lost),
            worst_lateness: Duration::from_nanos(read(&self.latest_ns)),
        }
    }
}

impl Office {
    pub(super) fn new(waker: Waker) -> Self {
        Self {
            inner: Mutex::default(),
            waker,
            next: AtomicU64::new(1),
            counts: Counts::default(),
        }
    }

    /// Takes what has come; whether nothing more can come.
    pub(super) fn take(&self, into: &mut Vec<Mail>) -> bool {
        let mut inner = self.lock();
        into.append(&mut inner.mail);
        inner.closed
    }

    /// The thread's last word: whoever has not been seen by it is told.
    pub(super) fn end(&self) {
        let mail = {
            let mut inner = self.lock();
            inner.ended = true;
            std::mem::take(&mut inner.mail)
        };
        for mail in mail {
            if let Mail::Join(_, duty) = mail {
                abandon(&duty.shared);
            }
        }
    }

    /// False: the thread is gone.
    fn post(&self, mail: Mail) -> bool {
        let mut inner = self.lock();
        if inner.ended {
            return false;
        }
        // Not more than one call of the bell for what is taken together.
        let ring = inner.mail.is_empty();
        inner.mail.push(mail);
        drop(inner);
        if ring {
            self.waker.wake_by_ref();
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Tray> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by the fleet's owner and by each of its leases: with the last one the thread has nothing to do any more.
pub(super) struct Handle(pub(super) Arc<Office>);

impl Handle {
    pub(super) fn number(&self) -> u64 {
        self.0.next.fetch_add(1, Ordering::Relaxed)
    }

    /// False: the thread is gone.
    pub(super) fn join(&self, id: u64, duty: Duty) -> bool {
        self.0.post(Mail::Join(id, Box::new(duty)))
    }

    pub(super) fn tally(&self) -> Tally {
        self.0.counts.tally()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.waker.wake_by_ref();
    }
}

/// By which a lease calls the thread.
pub(crate) struct Bell {
    pub(super) handle: Arc<Handle>,
    pub(super) id: u64,
}

impl Bell {
    pub(crate) fn ring(&self) {
        self.handle.0.post(Mail::Stir(self.id));
    }
}
