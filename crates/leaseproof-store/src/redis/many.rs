//! Readings of many keys, on a connection of their own.

use crate::OneOfMany;
use crate::clock::boot_now;
use crate::error::StoreError;
use crate::patience::Patience;
use crate::redis::batch::{self, ExpiryCommand, KEYS, Strange, command};
use crate::redis::server::Server;
use crate::redis::wire::{Part, Scanner};
use crate::url::RedisUrl;
use crate::wire::{Gate, Gated, Tls};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};

/// How much is read at a time.
const CHUNK: usize = 32 * 1024;

/// A role that was asked for longer ago is asked for again: a server that becomes a replica, or is none any more,
/// keeps its connections, and says nothing of it to those that read.
const ROLE_AGE: Duration = Duration::from_secs(1);

/// The reader of many keys; nothing is connected before the first use.
pub(crate) struct Many {
    url: RedisUrl,
    timeout: Duration,
    tls: Option<Tls>,
    expiry: ExpiryCommand,
    link: Option<Link>,
    /// Always there until it is dropped in the background: a look-up of a name may hang in it.
    runtime: Option<Runtime>,
}

/// An open connection. One that a request failed on is never used again, so that no answer is taken
/// for that of another request.
struct Link {
    stream: Gated,
    epoch: Option<String>,
    replica: bool,
    /// When it was asked for its role.
    known: BootNanos,
    question: Vec<u8>,
    scanner: Scanner,
}

impl Many {
    pub(crate) fn new(url: &RedisUrl, timeout: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            url: url.clone(),
            timeout,
            tls: url
                .tls
                .then(|| Tls::new(url.ca.as_deref(), url.tls_name(url.place()), url))
                .transpose()?,
            expiry: ExpiryCommand::PexpireTime,
            link: None,
            runtime: None,
        })
    }

    /// Reads them all, a batch after the other; each batch has the whole time-out.
    pub(crate) fn read(&mut self, keys: &[&str]) -> Result<Vec<OneOfMany>, StoreError> {
        let mut all = Vec::with_capacity(keys.len());
        for keys in keys.chunks(KEYS) {
            all.extend(self.batch(keys)?);
        }
        Ok(all)
    }

    fn batch(&mut self, keys: &[&str]) -> Result<Vec<OneOfMany>, StoreError> {
        let mut repeated = false;
        loop {
            let fresh = self.link.is_none();
            match self.ask(keys) {
                // A restarted server is seen at once: a read may be repeated.
                Err(StoreError::Unreachable { .. }) if !fresh && !repeated => repeated = true,
                Err(error) => return Err(error),
                Ok(Err(Strange::LacksExpiry)) if self.expiry == ExpiryCommand::PexpireTime => {
                    self.expiry = ExpiryCommand::Pttl;
                }
                Ok(Err(Strange::Refused(why))) => return Err(self.refused(why)),
                Ok(Err(_)) => {
                    self.link = None;
                    let what = format!("{}: an answer of another shape: is it a Redis server?", self.url);
                    return Err(StoreError::Unexpected(what));
                }
                Ok(Ok(readings)) => return Ok(readings),
            }
        }
    }

    /// Whether a replica answered last.
    pub(crate) fn of_replica(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.replica)
    }

    /// One transaction: asked, and looked at.
    fn ask(&mut self, keys: &[&str]) -> Result<Result<Vec<OneOfMany>, Strange>, StoreError> {
        let mut patience = Patience::new(self.timeout);
        // A failed request leaves no connection behind.
        let link = self.link.take();
        let runtime = self.runtime()?;
        let mut link = match link {
            Some(link) if boot_now().since(link.known) < ROLE_AGE => link,
            Some(link) => self.again_known(&runtime, link, &mut patience)?,
            None => self.connect(&runtime, &mut patience)?,
        };
        batch::question(&mut link.question, keys, self.expiry);
        link.scanner.clear();
        let asked = boot_now();
        let done = runtime.block_on(async {
            let work = pin!(link.exchange(|parts| batch::is_whole(parts, keys.len())));
            patience.wait(work).await
        });
        let during = Moment::between(asked, boot_now());
        self.runtime = Some(runtime);
        match done {
            None => Err(StoreError::TimedOut(self.timeout)),
            Some(Err(error)) => Err(self.unreachable(&error)),
            Some(Ok(())) => {
                let readings = batch::readings(&link.scanner, keys, self.expiry, during, link.epoch.as_deref());
                self.link = Some(link);
                Ok(readings)
            }
        }
    }

    fn runtime(&mut self) -> Result<Runtime, StoreError> {
        match self.runtime.take() {
            Some(runtime) => Ok(runtime),
            None => Builder::new_current_thread()
                .enable_all()
                .max_blocking_threads(1)
                .build()
                .map_err(|error| StoreError::Unexpected(format!("no event loop: {error}"))),
        }
    }

    fn connect(&mut self, runtime: &Runtime, patience: &mut Patience) -> Result<Link, StoreError> {
        let allowed = patience.left();
        let link = runtime.block_on(async {
            let work = pin!(self.open());
            patience.wait(work).await
        });
        link.unwrap_or_else(|| Err(self.unreachable(&format!("no answer within {allowed:?}"))))
    }

    /// The same connection, after its server was asked for its role.
    fn again_known(&self, runtime: &Runtime, mut link: Link, patience: &mut Patience) -> Result<Link, StoreError> {
        let learnt = runtime.block_on(async {
            let work = pin!(self.learn_role(&mut link));
            patience.wait(work).await
        });
        learnt.unwrap_or(Err(StoreError::TimedOut(self.timeout)))?;
        Ok(link)
    }

    async fn open(&self) -> Result<Link, StoreError> {
        let stream = Gated::connect(
            &self.url.place().host,
            self.url.place().port,
            self.tls.as_ref(),
            Arc::new(Gate::default()),
        )
        .await
        .map_err(|error| self.unreachable(&error))?;
        let mut link = Link {
            stream,
            epoch: None,
            replica: false,
            known: boot_now(),
            question: Vec::new(),
            scanner: Scanner::default(),
        };
        match (&self.url.user, &self.url.password) {
            (Some(user), Some(password)) => {
                let words = [&b"AUTH"[..], user.as_bytes(), password.as_bytes()];
                self.must(&mut link, &words).await?;
            }
            (None, Some(password)) => self.must(&mut link, &[b"AUTH", password.as_bytes()]).await?,
            _ => {}
        }
        if self.url.db != 0 {
            self.must(&mut link, &[b"SELECT", self.url.db.to_string().as_bytes()])
                .await?;
        }
        self.learn_role(&mut link).await?;
        Ok(link)
    }

    /// Asks who answers, and whether as a replica.
    async fn learn_role(&self, link: &mut Link) -> Result<(), StoreError> {
        link.known = boot_now();
        let mut info = String::new();
        for section in [&b"server"[..], b"replication"] {
            match self.one(link, &[b"INFO", section]).await? {
                Part::Bulk(place) => info.push_str(&String::from_utf8_lossy(link.scanner.text(place))),
                // A read-only user may not be allowed to ask; then the epoch stays unknown.
                Part::Error(place) if link.scanner.text(place).starts_with(b"NOPERM") => {}
                Part::Error(place) => {
                    return Err(self.refused(String::from_utf8_lossy(link.scanner.text(place)).into_owned()));
                }
                _ => {}
            }
        }
        let server = Server::parse(&info);
        (link.epoch, link.replica) = (server.epoch(), server.is_replica());
        Ok(())
    }

    async fn one(&self, link: &mut Link, words: &[&[u8]]) -> Result<Part, StoreError> {
        link.question.clear();
        link.scanner.clear();
        command(&mut link.question, words);
        link.exchange(|parts| !parts.is_empty())
            .await
            .map_err(|error| self.unreachable(&error))?;
        Ok(link.scanner.parts[0])
    }

    async fn must(&self, link: &mut Link, words: &[&[u8]]) -> Result<(), StoreError> {
        match self.one(link, words).await? {
            Part::Error(place) => Err(self.refused(String::from_utf8_lossy(link.scanner.text(place)).into_owned())),
            _ => Ok(()),
        }
    }

    fn refused(&self, why: String) -> StoreError {
        StoreError::Refused {
            url: self.url.to_string(),
            why,
        }
    }

    fn unreachable(&self, why: &impl ToString) -> StoreError {
        StoreError::Unreachable {
            url: self.url.to_string(),
            why: why.to_string(),
        }
    }
}

impl Link {
    /// Sends the question and reads until the answer is whole.
    async fn exchange(&mut self, is_whole: impl Fn(&[Part]) -> bool) -> io::Result<()> {
        self.stream.write_all(&self.question).await?;
        self.stream.flush().await?;
        let mut chunk = vec![0; CHUNK];
        while !is_whole(&self.scanner.parts) {
            match self.stream.read(&mut chunk).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => self.scanner.take(&chunk[..count]).map_err(|_| {
                    let says = "it answers in another protocol: is it a Redis server?";
                    io::Error::new(io::ErrorKind::InvalidData, says)
                })?,
            }
        }
        Ok(())
    }
}

impl Drop for Many {
    fn drop(&mut self) {
        self.link = None;
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
