//! Our gated bytes as the HTTP library wants them.

use crate::wire::Gated;
use hyper::rt::ReadBufCursor;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// So many bytes are taken at once; answers here are small.
const CHUNK: usize = 8 * 1024;

/// A gated transport.
pub(super) struct Socket {
    pub(super) stream: Gated,
    /// The first byte that came.
    pub(super) first: Arc<OnceLock<u8>>,
}

impl hyper::rt::Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // A copy through a buffer of our own: the library's may be uninitialized.
        let mut bytes = [0; CHUNK];
        let mut buffer = ReadBuf::new(&mut bytes[..CHUNK.min(cursor.remaining())]);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        if let Some(&byte) = buffer.filled().first() {
            self.first.get_or_init(|| byte);
        }
        cursor.put_slice(buffer.filled());
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for Socket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
