//! A request's body on its way to the upstream: whether all of it went, and an end in the middle where it must.
//!
//! Both are decided where the connection takes the next piece, so that they exclude each other: a body that was cut
//! never has its last byte on the way, however late the connection itself ends.

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use thiserror::Error;
use tokio::sync::oneshot;

/// A body that says when the last of it was taken by the connection to the upstream. Trailers do not go on.
#[derive(Debug)]
pub struct Upload {
    inner: Incoming,
    over: Option<oneshot::Sender<()>>,
    cut: Option<oneshot::Receiver<()>>,
    last: bool,
}

/// The other side of an [`Upload`].
#[derive(Debug)]
pub struct Watch {
    /// Has a value once all of the body was taken, and is closed if that can't be any more.
    pub over: oneshot::Receiver<()>,
    cut: Option<oneshot::Sender<()>>,
}

impl Watch {
    /// Ends the body where it is; nothing happens if all of it was taken.
    pub fn cut(&mut self) {
        if let Some(cut) = self.cut.take() {
            // The body is gone: then nothing more of it is taken, either.
            let _ = cut.send(());
        }
    }
}

/// Why a body ends too early.
#[derive(Debug, Error)]
pub enum Ends {
    /// The client sends no more.
    #[error("the client's body ends too early, or its framing is none: {0}")]
    Client(#[from] hyper::Error),
    /// It was cut.
    #[error("a greater token was admitted")]
    Cut,
}

impl Upload {
    /// Wraps a body. Where there is one, and `may_stay` unread at the upstream, it is the last on its connection.
    pub fn new(inner: Incoming, may_stay: bool) -> (Self, Watch) {
        let (over, is_over) = oneshot::channel();
        let (cut, is_cut) = oneshot::channel();
        let mut upload = Self {
            inner,
            over: Some(over),
            cut: Some(is_cut),
            last: false,
        };
        upload.last = may_stay && !upload.inner.is_end_stream();
        if upload.inner.is_end_stream() {
            upload.all_taken();
        }
        let watch = Watch {
            over: is_over,
            cut: Some(cut),
        };
        (upload, watch)
    }

    /// Whether no other request may follow it on the connection.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.last
    }

    fn all_taken(&mut self) {
        self.cut = None;
        if let Some(over) = self.over.take() {
            // Whoever sends a read does not ask.
            let _ = over.send(());
        }
    }

    fn is_cut(&mut self, context: &mut Context<'_>) -> bool {
        let Some(cut) = &mut self.cut else { return false };
        match Pin::new(cut).poll(context) {
            Poll::Ready(Ok(())) => true,
            Poll::Ready(Err(_)) => {
                // Nobody will.
                self.cut = None;
                false
            }
            Poll::Pending => false,
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Ends;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Ends>>> {
        if self.is_cut(context) {
            return Poll::Ready(Some(Err(Ends::Cut)));
        }
        loop {
            let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
            match frame {
                None => self.all_taken(),
                Some(Ok(ref frame)) if frame.is_trailers() => continue,
                Some(Ok(_)) if self.inner.is_end_stream() => self.all_taken(),
                Some(_) => {}
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Ends::Client)));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
