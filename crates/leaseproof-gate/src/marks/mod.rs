//! Durable high-water marks, one a resource key.
//!
//! One thread owns the file. Requests that wait while it writes are one batch after it: they share a line and an
//! fdatasync.

mod checksum;
mod journal;
mod line;

pub use journal::{Found, Journal, MarksError};

use leaseproof_model::name::Token;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use thiserror::Error;
use tokio::sync::oneshot;

/// So many marks go into one line at most.
const BATCH: usize = 1000;

/// Why a mark is not written down.
#[derive(Clone, Debug, Error)]
#[error("the mark can't be written down: {0}")]
pub struct NotWritten(Arc<io::Error>);

impl NotWritten {
    /// Whether the disk, or the owner's share of it, is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(
            self.0.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        )
    }
}

struct Wish {
    key: Vec<u8>,
    token: Token,
    answer: oneshot::Sender<Result<(), NotWritten>>,
}

/// The thread that writes marks down.
#[derive(Debug)]
pub struct Marks {
    wishes: Wishes,
    thread: JoinHandle<Journal>,
}

/// Has marks written down, from any task.
#[derive(Clone, Debug)]
pub struct Wishes(Sender<Wish>);

impl Wishes {
    /// Returns once the mark is written down.
    ///
    /// # Errors
    /// When the disk refuses it: the write must not go on.
    pub async fn raise(&self, key: &[u8], token: Token) -> Result<(), NotWritten> {
        let (answer, answered) = oneshot::channel();
        let wish = Wish {
            key: key.to_vec(),
            token,
            answer,
        };
        let gone = || NotWritten(Arc::new(io::Error::other("its thread has ended")));
        self.0.send(wish).map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

impl Marks {
    /// Starts the thread that owns the journal.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(journal: Journal) -> io::Result<Self> {
        let (wishes, wished) = channel();
        let thread = std::thread::Builder::new()
            .name("marks".to_owned())
            .spawn(move || run(journal, &wished))?;
        let wishes = Wishes(wishes);
        Ok(Self { wishes, thread })
    }

    /// For whoever raises marks.
    #[must_use]
    pub fn wishes(&self) -> Wishes {
        self.wishes.clone()
    }

    /// Ends the thread, once nobody has [`Wishes`] any more; with `in_order` nothing is under way, and the file says so.
    ///
    /// # Errors
    /// When that can't be written.
    pub fn end(self, in_order: bool) -> io::Result<()> {
        drop(self.wishes);
        let mut journal = self
            .thread
            .join()
            .map_err(|_| io::Error::other("the thread of the marks has panicked"))?;
        if in_order { journal.end() } else { Ok(()) }
    }
}

fn run(mut journal: Journal, wished: &Receiver<Wish>) -> Journal {
    while let Ok(first) = wished.recv() {
        let mut batch = vec![first];
        batch.extend(wished.try_iter().take(BATCH - 1));
        let marks: Vec<(Vec<u8>, Token)> = batch.iter().map(|wish| (wish.key.clone(), wish.token)).collect();
        let written = journal.raise(&marks).map_err(|error| NotWritten(Arc::new(error)));
        for wish in batch {
            // Whoever asked may have gone.
            let _ = wish.answer.send(written.clone());
        }
    }
    journal
}
