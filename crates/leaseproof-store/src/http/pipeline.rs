//! Many requests at once on one connection, answered in their order: for readings of thousands of keys,
//! where a wait for each answer, and a library's objects around each, would be most of the work.

use super::LIMIT;
use super::client::Place;
use super::scanner::Scanner;
use crate::clock::boot_now;
use crate::error::StoreError;
use crate::patience::Patience;
use crate::wire::{Gate, Gated};
use leaseproof_model::clock::BootNanos;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};

/// How much is read at a time.
const CHUNK: usize = 64 * 1024;

/// An answer.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// When it had been read.
    pub(crate) at: BootNanos,
}

/// A connection for many requests at once; nothing is connected before the first use.
pub(crate) struct Pipeline {
    place: Place,
    stream: Option<Gated>,
    question: Vec<u8>,
    asked: usize,
    /// Always there until it is dropped in the background: a look-up of a name may hang in it.
    runtime: Option<Runtime>,
}

impl Pipeline {
    pub(crate) fn new(place: Place) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .map_err(|error| StoreError::Unexpected(format!("no event loop: {error}")))?;
        Ok(Self {
            place,
            stream: None,
            question: Vec::new(),
            asked: 0,
            runtime: Some(runtime),
        })
    }

    /// Forgets what was to be sent.
    pub(crate) fn begin(&mut self) {
        self.question.clear();
        self.asked = 0;
    }

    /// Adds a request. `path` and `token` are ours or the server's own words, free of line ends.
    pub(crate) fn post(&mut self, path: &str, token: Option<&str>, body: &str) {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
            self.place.authority(),
            body.len()
        );
        self.question.extend_from_slice(head.as_bytes());
        if let Some(token) = token.filter(|token| !token.contains(['\r', '\n'])) {
            self.question.extend_from_slice(b"Authorization: ");
            self.question.extend_from_slice(token.as_bytes());
            self.question.extend_from_slice(b"\r\n");
        }
        self.question.extend_from_slice(b"\r\n");
        self.question.extend_from_slice(body.as_bytes());
        self.asked += 1;
    }

    /// Sends them all, and reads an answer to each. After a failure the connection is gone: an answer that
    /// comes late must not be taken for another's.
    pub(crate) fn exchange(&mut self, patience: &mut Patience) -> Result<Vec<Answered>, StoreError> {
        let waited = patience.left();
        // Invariant: taken by drop alone.
        let runtime = self
            .runtime
            .as_ref()
            .expect("the runtime lives as long as the pipeline");
        let mut stream = self.stream.take();
        let done = runtime.block_on(async {
            let work = pin!(async {
                let mut stream = match stream.take() {
                    Some(stream) => stream,
                    None => {
                        let gate = Arc::new(Gate::default());
                        Gated::connect(&self.place.host, self.place.port, self.place.tls.as_ref(), gate).await?
                    }
                };
                let answers = exchange(&mut stream, &self.question, self.asked).await?;
                Ok::<_, io::Error>((stream, answers))
            });
            patience.wait(work).await
        });
        match done {
            Some(Ok((stream, answers))) => {
                self.stream = Some(stream);
                Ok(answers)
            }
            Some(Err(error)) if error.get_ref().is_some_and(|it| it.is::<NoAnswer>()) => {
                let place = &self.place;
                Err(StoreError::Unexpected(format!(
                    "{}: {error}: is it {}?",
                    place.shown, place.what
                )))
            }
            Some(Err(error)) => Err(self.unreachable(&error)),
            None => Err(StoreError::TimedOut(waited)),
        }
    }

    fn unreachable(&self, why: &impl ToString) -> StoreError {
        StoreError::Unreachable {
            url: self.place.shown.clone(),
            why: why.to_string(),
        }
    }
}

/// What came is no answer that is understood.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoAnswer(&'static str);

/// Writes and reads at the same time: a server that answers while it is asked would else wait for us, and
/// we for it.
async fn exchange(stream: &mut Gated, question: &[u8], count: usize) -> io::Result<Vec<Answered>> {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let writing = async {
        writer.write_all(question).await?;
        writer.flush().await
    };
    let reading = async {
        let mut answers = Vec::with_capacity(count);
        let mut scanner = Scanner::new(LIMIT);
        let mut chunk = vec![0; CHUNK];
        while answers.len() < count {
            let read = reader.read(&mut chunk).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            scanner.take(&chunk[..read]);
            let at = boot_now();
            while let Some((status, body)) = scanner.next().map_err(|what| io::Error::other(NoAnswer(what)))? {
                answers.push(Answered { status, body, at });
            }
        }
        Ok(answers)
    };
    let ((), answers) = tokio::try_join!(writing, reading)?;
    Ok(answers)
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.stream = None;
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
