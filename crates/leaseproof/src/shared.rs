//! What the thread that renews and the threads that work share.
//!
//! What decides a permit is one atomic moment ([`Validity`]) and the clock: a thread that renews no more, for whatever
//! reason, needs not say so, since the moment passes by itself.

use crate::flaw::Bent;
use crate::fleet::Bell;
use crate::permit::Permit;
use crate::protocol::{Change, Loss, Validity};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::name::Token;
use leaseproof_store::boot_now;
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// Not granted, and asked for no more: what the store said has to be mended first.
    Refused(String),
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
    validity: Validity,
    /// When the work showed a sign of life last.
    worked: AtomicU64,
    /// After a loss the release waits for the guard.
    pub(crate) by_guard: bool,
    inner: Mutex<Inner>,
    changed: Condvar,
    /// By which the thread of a fleet is called.
    bell: Option<Bell>,
    #[cfg_attr(not(feature = "flaws"), expect(dead_code, reason = "there is none"))]
    bent: Bent,
}

impl Shared {
    pub(crate) fn new(by_guard: bool, bent: Bent, bell: Option<Bell>) -> Self {
        Self {
            validity: Validity::default(),
            worked: AtomicU64::new(0),
            by_guard,
            inner: Mutex::new(Inner {
                phase: Phase::Waiting(None),
                wish: Wish::Hold,
                wakers: Vec::new(),
            }),
            changed: Condvar::new(),
            bell,
            bent,
        }
    }

    /// A permit, if there is one now.
    #[inline]
    pub(crate) fn permit(&self) -> Option<Permit> {
        #[cfg(feature = "flaws")]
        if self.bent.has(crate::flaw::Flaw::PermitUnchecked) {
            return Some(Permit {
                token: self.token(),
                deadline: BootNanos(u64::MAX),
            });
        }
        // In this order, and no other: see there.
        let look = self.validity.look();
        let now = boot_now();
        let (token, deadline) = self.validity.permit(look, now)?;
        self.worked.store(now.0, Ordering::Relaxed);
        Some(Permit { token, deadline })
    }

    /// The validity that stands, whatever the time.
    pub(crate) fn until(&self) -> BootNanos {
        self.validity.until()
    }

    /// A sign of life of the work.
    pub(crate) fn work(&self, now: BootNanos) {
        self.worked.store(now.0, Ordering::Relaxed);
    }

    /// When the last one was.
    pub(crate) fn worked(&self) -> BootNanos {
        BootNanos(self.worked.load(Ordering::Relaxed))
    }

    /// The permits follow the protocol.
    pub(crate) fn change(&self, change: Change) {
        if self.validity.change(change) {
            self.stir();
        }
    }

    #[inline]
    pub(crate) fn is_doubted(&self) -> bool {
        self.validity.is_doubted()
    }

    /// No permit from here on.
    pub(crate) fn forbid(&self) {
        self.validity.end();
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
            (Phase::Waiting(_) | Phase::Refused(_) | Phase::Held, Wish::Hold) => None,
        }
    }

    pub(crate) fn token(&self) -> Token {
        self.validity.token()
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
        let is_new = inner.wish == Wish::Hold && wish != Wish::Hold;
        if is_new {
            inner.wish = wish;
        }
        self.wake(inner);
        if let Some(bell) = self.bell.as_ref().filter(|_| is_new) {
            bell.ring();
        }
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
