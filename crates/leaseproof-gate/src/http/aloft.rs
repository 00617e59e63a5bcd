//! A write that outlives its client. It runs in the client's own task, which costs no change of tasks; only where that
//! is over before the write is, it goes on in a task of its own.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::RecvError;

/// A write under way, and what its client waits for.
pub struct Aloft<T> {
    write: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    answered: oneshot::Receiver<T>,
}

impl<T> Aloft<T> {
    /// This write, which gives its answer to the other end of `answered`.
    pub fn new(write: impl Future<Output = ()> + Send + 'static, answered: oneshot::Receiver<T>) -> Self {
        Self {
            write: Some(Box::pin(write)),
            answered,
        }
    }
}

impl<T> Future for Aloft<T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(write) = &mut self.write
            && write.as_mut().poll(context).is_ready()
        {
            self.write = None;
        }
        Pin::new(&mut self.answered).poll(context)
    }
}

impl<T> Drop for Aloft<T> {
    fn drop(&mut self) {
        // Without an event loop everything ends: then nobody knows what becomes of the write, and that is noted.
        if let Some(write) = self.write.take()
            && let Ok(here) = Handle::try_current()
        {
            here.spawn(write);
        }
    }
}
