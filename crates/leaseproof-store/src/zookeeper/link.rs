//! One connection to a server: frames, and the replies in them.

use super::request::Reply;
use crate::wire::{Gate, Gated};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};

/// The most that a frame may have. The server's own limit is 1 MiB, but for the names below a node, whose
/// list may be longer; what is longer than this is no frame.
const LIMIT: usize = 32 << 20;

/// What came breaks the protocol.
pub(super) fn invalid() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// What came is none of this protocol's frames, and what it looks like.
#[derive(Copy, Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NoFrame(&'static str);

impl NoFrame {
    fn by(bytes: &[u8]) -> Self {
        Self(match bytes.first() {
            Some(0x15 | 0x16) => "it answers in TLS, which zookeepers:// asks for; if that is not it",
            Some(b'H') => "it answers in HTTP",
            Some(b'-' | b'+') => "it answers as Redis does",
            _ => "what came is no frame of its protocol",
        })
    }
}

/// One connection.
pub(crate) struct Link {
    /// To which member.
    pub(super) place: usize,
    pub(super) stream: Gated,
    pub(super) gate: Arc<Gate>,
    /// What has come and is not a whole frame yet: a wait that ends loses nothing of it.
    pub(super) inbox: Vec<u8>,
    /// Of the last request.
    pub(super) number: i32,
    pub(super) time_outs: u8,
}

impl Link {
    /// The next frame.
    pub(super) async fn frame(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(length) = self.inbox.first_chunk::<4>() {
                let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(usize::MAX);
                if length > LIMIT {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, NoFrame::by(&self.inbox)));
                }
                if self.inbox.len() >= 4 + length {
                    let rest = self.inbox.split_off(4 + length);
                    let frame = std::mem::replace(&mut self.inbox, rest);
                    return Ok(frame[4..].to_vec());
                }
            }
            if self.stream.read_buf(&mut self.inbox).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    pub(super) async fn exchange(&mut self, bytes: &[u8], first: i32, count: usize) -> io::Result<Vec<Reply>> {
        self.stream.write_all(bytes).await?;
        let mut replies = Vec::with_capacity(count);
        let mut number = first;
        while replies.len() < count {
            let frame = self.frame().await?;
            let (answered, reply) = Reply::parse(&frame).map_err(|_| invalid())?;
            // Numbers below zero are events and pings, lower ones answer what nobody waits for.
            if answered == number {
                replies.push(reply);
                number += 1;
            } else if answered > number {
                return Err(invalid());
            }
        }
        Ok(replies)
    }

    /// Takes what lies in the socket; false when it is closed.
    pub(super) async fn look(&mut self) -> bool {
        std::future::poll_fn(|context| {
            let mut bytes = [0; 512];
            let mut buffer = ReadBuf::new(&mut bytes);
            Poll::Ready(match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Pending => true,
                Poll::Ready(Ok(())) => {
                    self.inbox.extend(buffer.filled());
                    !buffer.filled().is_empty()
                }
                Poll::Ready(Err(_)) => false,
            })
        })
        .await
    }
}
