//! A connection of our own on the wire's bytes, logged in: for those that ask so much that a value on the heap for
//! each part of each answer would be too dear.

use crate::error::StoreError;
use crate::redis::batch::command;
use crate::redis::server::{Server, lasts};
use crate::redis::wire::{Part, Scanner};
use crate::url::RedisUrl;
use crate::wire::{Gate, Gated, Tls};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// How much is read at a time.
const CHUNK: usize = 32 * 1024;

/// See the module. One that a request failed on must not be used again: its answer may come yet.
pub(super) struct Socket {
    pub(super) stream: Gated,
    pub(super) question: Vec<u8>,
    pub(super) scanner: Scanner,
}

impl Socket {
    /// Connects and logs in.
    pub(super) async fn open(url: &RedisUrl, tls: Option<&Tls>) -> Result<Self, StoreError> {
        let place = url.place();
        let stream = Gated::connect(&place.host, place.port, tls, Arc::new(Gate::default()))
            .await
            .map_err(|error| unreachable(url, &error))?;
        let mut socket = Self {
            stream,
            question: Vec::new(),
            scanner: Scanner::default(),
        };
        match (&url.user, &url.password) {
            (Some(user), Some(password)) => {
                let words = [&b"AUTH"[..], user.as_bytes(), password.as_bytes()];
                socket.must(url, &words).await?;
            }
            (None, Some(password)) => socket.must(url, &[b"AUTH", password.as_bytes()]).await?,
            _ => {}
        }
        if url.db != 0 {
            socket.must(url, &[b"SELECT", url.db.to_string().as_bytes()]).await?;
        }
        Ok(socket)
    }

    /// Asks who answers; a user who may not ask learns nothing.
    pub(super) async fn server(&mut self, url: &RedisUrl) -> Result<Server, StoreError> {
        let mut info = String::new();
        for section in [&b"server"[..], b"replication"] {
            match self.one(url, &[b"INFO", section]).await? {
                Part::Bulk(place) => info.push_str(&String::from_utf8_lossy(self.scanner.text(place))),
                Part::Error(place) if self.scanner.text(place).starts_with(b"NOPERM") => {}
                Part::Error(place) => return Err(refused(url, self.scanner.text(place))),
                _ => {}
            }
        }
        Ok(Server::parse(&info))
    }

    /// Sends the question and reads until the answer is whole.
    pub(super) async fn exchange(&mut self, is_whole: impl Fn(&[Part]) -> bool) -> io::Result<()> {
        self.stream.write_all(&self.question).await?;
        self.stream.flush().await?;
        let mut chunk = vec![0; CHUNK];
        while !is_whole(&self.scanner.parts) {
            match self.stream.read(&mut chunk).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => self.scanner.take(&chunk[..count]).map_err(|_| no_redis())?,
            }
        }
        Ok(())
    }

    async fn one(&mut self, url: &RedisUrl, words: &[&[u8]]) -> Result<Part, StoreError> {
        self.question.clear();
        self.scanner.clear();
        command(&mut self.question, words);
        self.exchange(|parts| !parts.is_empty())
            .await
            .map_err(|error| unreachable(url, &error))?;
        Ok(self.scanner.parts[0])
    }

    async fn must(&mut self, url: &RedisUrl, words: &[&[u8]]) -> Result<(), StoreError> {
        match self.one(url, words).await? {
            Part::Error(place) => Err(refused(url, self.scanner.text(place))),
            _ => Ok(()),
        }
    }
}

/// What answers is no Redis server.
pub(super) fn no_redis() -> io::Error {
    let says = "it answers in another protocol: is it a Redis server?";
    io::Error::new(io::ErrorKind::InvalidData, says)
}

pub(super) fn refused(url: &RedisUrl, words: &[u8]) -> StoreError {
    let words = String::from_utf8_lossy(words);
    StoreError::refused(url, &*words, lasts(&words))
}

pub(super) fn unreachable(url: &RedisUrl, why: &impl ToString) -> StoreError {
    StoreError::Unreachable {
        url: url.to_string(),
        why: why.to_string(),
    }
}
