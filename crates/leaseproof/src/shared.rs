//! What the thread that renews and the threads that work share.
//!
//! What decides a permit is one atomic moment and the clock. Whoever is stopped between the two reads the clock
//! afterwards, so that the moment is never compared with a clock of before the pause; and a thread that renews no
//! more, for whatever reason, needs not say so: the moment passes by itself.

use crate::clock::boot_now;
use crate::permit::Permit;
use crate::protocol::Loss;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::name::Token;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// The longest sleep at a time: timers stand still while the machine is suspended, and this bounds by how much.
pub(crate) const SLICE: Duration = Duration::from_millis(100);

/// How far it has come.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// Not granted yet; what the store said last, once it was asked at all.
    Waiting(Option<String>),
    /// Granted.
    Held,
    /// Held no more.
    Over(Loss),
    /// Over, and this came of its release; an error where it may not have been applied.
    Released(Result<(), String>),
}

/// What is asked of the thread that renews.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wish {
    /// Hold on.
    Hold,
    /// End the lease for this reason, and release it.
    End(Loss),
}

struct Inner {
    phase: Phase,
    wish: Wish,
    wakers: Vec<Waker>,
}

/// See the module.
pub(crate) struct Shared {
    /// Until when permits are given, in nanoseconds of the boot clock; 0: none.
    until: AtomicU64,
    token: AtomicU64,
    /// Whether nothing is permitted although that moment has not come: see [`Self::doubt`].
    doubted: AtomicBool,
    /// When the work showed a sign of life last.
    worked: AtomicU64,
    inner: Mutex<Inner>,
    changed: Condvar,
}

impl Shared {
    pub(crate) fn new() -> Self {
        Self {
            until: AtomicU64::new(0),
            token: AtomicU64::new(0),
            doubted: AtomicBool::new(false),
            worked: AtomicU64::new(0),
            inner: Mutex::new(Inner {
                phase: Phase::Waiting(None),
                wish: Wish::Hold,
                wakers: Vec::new(),
            }),
            changed: Condvar::new(),
        }
    }

    /// A permit, if there is one now.
    #[inline]
    pub(crate) fn permit(&self) -> Option<Permit> {
        let until = self.until.load(Ordering::Acquire);
        // In this order, and not the other: see the module.
        let now = boot_now();
        if now.0 >= until || self.is_doubted() {
            return None;
        }
        self.worked.store(now.0, Ordering::Relaxed);
        let token = Token(self.token.load(Ordering::Relaxed));
        Some(Permit {
            token,
            deadline: BootNanos(until),
        })
    }

    /// The validity that stands, whatever the time.
    pub(crate) fn until(&self) -> BootNanos {
        BootNanos(self.until.load(Ordering::Acquire))
    }

    /// A sign of life of the work.
    pub(crate) fn work(&self, now: BootNanos) {
        self.worked.store(now.0, Ordering::Relaxed);
    }

    /// When the last one was.
    pub(crate) fn worked(&self) -> BootNanos {
        BootNanos(self.worked.load(Ordering::Relaxed))
    }

    /// The store granted it, or extended it.
    pub(crate) fn extend(&self, token: Token, until: BootNanos) {
        self.token.store(token.0, Ordering::Relaxed);
        self.until.store(until.0, Ordering::Release);
        if self.doubted.swap(false, Ordering::AcqRel) {
            self.stir();
        }
    }

    /// Nothing is permitted until it is extended.
    pub(crate) fn doubt(&self) {
        self.doubted.store(true, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_doubted(&self) -> bool {
        self.doubted.load(Ordering::Acquire)
    }

    /// No permit from here on.
    pub(crate) fn forbid(&self) {
        self.until.store(0, Ordering::Release);
    }

    /// Moves on and wakes everybody who waits.
    pub(crate) fn enter(&self, phase: Phase) {
        let mut inner = self.lock();
        inner.phase = phase;
        self.wake(inner);
    }

    /// Wakes all who wait, without anything new: their deadline is near.
    pub(crate) fn stir(&self) {
        self.wake(self.lock());
    }

    fn wake(&self, mut inner: MutexGuard<'_, Inner>) {
        let wakers = std::mem::take(&mut inner.wakers);
        drop(inner);
        self.changed.notify_all();
        for waker in wakers {
            waker.wake();
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.lock().phase.clone()
    }

    /// Why it is over, if it is; or why it is about to be, once that was asked for.
    pub(crate) fn loss(&self) -> Option<Loss> {
        let inner = self.lock();
        match (&inner.phase, inner.wish) {
            (Phase::Over(loss), _) => Some(*loss),
            (_, Wish::End(loss)) => Some(loss),
            (Phase::Released(_), _) => Some(Loss::Released),
            (Phase::Waiting(_) | Phase::Held, Wish::Hold) => None,
        }
    }

    pub(crate) fn token(&self) -> Token {
        Token(self.token.load(Ordering::Relaxed))
    }

    /// Leaves a waker for the next change.
    pub(crate) fn register(&self, waker: &Waker) {
        let wakers = &mut self.lock().wakers;
        if !wakers.iter().any(|it| it.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }

    pub(crate) fn wish(&self) -> Wish {
        self.lock().wish
    }

    /// Asks for the end. The first reason counts.
    pub(crate) fn ask(&self, wish: Wish) {
        let mut inner = self.lock();
        if inner.wish == Wish::Hold {
            inner.wish = wish;
        }
        self.wake(inner);
    }

    /// Waits for a change, but no longer than to `until`, and not for long: who waits looks again.
    pub(crate) fn wait(&self, until: BootNanos, seen: impl Fn(&Phase, Wish) -> bool) {
        let inner = self.lock();
        let span = until.since(boot_now()).min(SLICE);
        if span.is_zero() || seen(&inner.phase, inner.wish) {
            return;
        }
        // A waiter that panicked has broken nothing here.
        drop(
            self.changed
                .wait_timeout(inner, span)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
