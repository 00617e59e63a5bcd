//! The asynchronous face: futures that the thread which renews wakes. They need no particular runtime.

use crate::error::{AcquireError, LockNotHeld, ReleaseError};
use crate::lease::Lease;
use crate::options::Options;
use crate::permit::Permit;
use crate::protocol::Loss;
use crate::shared::{Phase, Shared};
use leaseproof_model::clock::BootNanos;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Completes once the lease is over; see [`Lease::lost`].
#[must_use = "a future does nothing unless it is polled"]
pub struct Lost {
    shared: Arc<Shared>,
}

impl Lost {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl Future for Lost {
    type Output = Loss;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Loss> {
        // Before the look: a change in between wakes.
        self.shared.register(context.waker());
        match self.shared.loss() {
            Some(loss) => Poll::Ready(loss),
            None => Poll::Pending,
        }
    }
}

/// Waits for a lease; see [`Options::acquire_async`].
#[must_use = "a future does nothing unless it is polled"]
pub struct Acquiring {
    options: Options,
    began: BootNanos,
    lease: Option<Lease>,
}

impl Acquiring {
    pub(crate) fn new(options: Options, began: BootNanos) -> Self {
        Self {
            options,
            began,
            lease: None,
        }
    }
}

impl Future for Acquiring {
    type Output = Result<Lease, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let lease = match self.lease.take() {
            Some(lease) => lease,
            None => match self.options.start() {
                Ok(lease) => lease,
                Err(error) => return Poll::Ready(Err(error)),
            },
        };
        lease.shared.register(context.waker());
        let last = match lease.shared.phase() {
            Phase::Waiting(last) => last,
            Phase::Refused(why) => return Poll::Ready(Err(self.options.refused(why))),
            _ => return Poll::Ready(Ok(lease)),
        };
        // Each try of the store wakes this future, so that it needs no timer of its own.
        if let Err(error) = self.options.still_in_time(&lease, self.began, last) {
            return Poll::Ready(Err(error));
        }
        self.lease = Some(lease);
        Poll::Pending
    }
}

/// Waits for the outcome of a release; see [`Lease::release_async`].
#[must_use = "a future does nothing unless it is polled"]
pub struct Releasing {
    lease: Lease,
}

impl Releasing {
    pub(crate) fn new(lease: Lease) -> Self {
        Self { lease }
    }
}

impl Future for Releasing {
    type Output = Result<(), ReleaseError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.lease.shared.register(context.waker());
        match self.lease.outcome() {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
        }
    }
}

/// Work under a lease; see [`Lease::run`].
#[must_use = "a future does nothing unless it is polled"]
pub struct Run<'lease, W, F> {
    lease: &'lease Lease,
    work: Option<W>,
    running: Option<Pin<Box<F>>>,
}

impl<'lease, W, F> Run<'lease, W, F> {
    pub(crate) fn new(lease: &'lease Lease, work: W) -> Self {
        Self {
            lease,
            work: Some(work),
            running: None,
        }
    }
}

// The work itself is pinned in its box; nothing else here is.
impl<W, F> Unpin for Run<'_, W, F> {}

impl<W, F> Future for Run<'_, W, F>
where
    W: FnOnce(Permit) -> F,
    F: Future,
{
    type Output = Result<F::Output, LockNotHeld>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.lease.shared.register(context.waker());
        // Before each poll, so that nothing runs on after a pause; and a little before the end, so that what the
        // work does when it is dropped is done in time.
        let permit = match this.lease.permit() {
            Ok(permit) if permit.left() > this.lease.ahead => permit,
            // The store may say yet that it holds: the work stands still meanwhile.
            Err(_) if this.lease.is_doubted() => return Poll::Pending,
            Ok(_) => {
                this.running = None;
                return Poll::Ready(Err(LockNotHeld { loss: Loss::Expired }));
            }
            Err(error) => {
                this.running = None;
                return Poll::Ready(Err(error));
            }
        };
        if let Some(work) = this.work.take() {
            this.running = Some(Box::pin(work(permit)));
        }
        let Some(running) = &mut this.running else {
            // It was polled after its end.
            return Poll::Pending;
        };
        match running.as_mut().poll(context) {
            Poll::Ready(output) => {
                this.running = None;
                Poll::Ready(Ok(output))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
