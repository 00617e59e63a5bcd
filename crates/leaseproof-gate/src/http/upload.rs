//! A request's body on its way to the upstream, and whether all of it went.

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::sync::oneshot;

/// A body that says when the last of it was taken by the connection to the upstream. Trailers do not go on.
#[derive(Debug)]
pub struct Upload {
    inner: Incoming,
    over: Option<oneshot::Sender<()>>,
}

impl Upload {
    /// Wraps a body; the receiver has a value once all of it was taken, and is closed if that can't be any more.
    pub fn new(inner: Incoming) -> (Self, oneshot::Receiver<()>) {
        let (over, is_over) = oneshot::channel();
        let mut upload = Self {
            inner,
            over: Some(over),
        };
        if upload.inner.is_end_stream() {
            upload.all_taken();
        }
        (upload, is_over)
    }

    fn all_taken(&mut self) {
        if let Some(over) = self.over.take() {
            // Whoever sends a read does not ask.
            let _ = over.send(());
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        loop {
            let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
            match frame {
                None => self.all_taken(),
                Some(Ok(ref frame)) if frame.is_trailers() => continue,
                Some(Ok(_)) if self.inner.is_end_stream() => self.all_taken(),
                Some(_) => {}
            }
            return Poll::Ready(frame);
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
