//! Readings of many keys, on a connection of their own.

use crate::OneOfMany;
use crate::clock::boot_now;
use crate::error::StoreError;
use crate::patience::Patience;
use crate::redis::batch::{self, ExpiryCommand, KEYS, Strange};
use crate::redis::server::lasts;
use crate::redis::socket::{Socket, unreachable};
use crate::url::RedisUrl;
use crate::wire::Tls;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use std::pin::pin;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

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
    socket: Socket,
    epoch: Option<String>,
    replica: bool,
    /// When it was asked for its role.
    known: BootNanos,
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
    pub(crate) fn read(&mut self, keys: &[&[u8]]) -> Result<Vec<OneOfMany>, StoreError> {
        let mut all = Vec::with_capacity(keys.len());
        for keys in keys.chunks(KEYS) {
            all.extend(self.batch(keys)?);
        }
        Ok(all)
    }

    fn batch(&mut self, keys: &[&[u8]]) -> Result<Vec<OneOfMany>, StoreError> {
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
    fn ask(&mut self, keys: &[&[u8]]) -> Result<Result<Vec<OneOfMany>, Strange>, StoreError> {
        let mut patience = Patience::new(self.timeout);
        // A failed request leaves no connection behind.
        let link = self.link.take();
        let runtime = self.runtime()?;
        let mut link = match link {
            Some(link) if boot_now().since(link.known) < ROLE_AGE => link,
            Some(link) => self.again_known(&runtime, link, &mut patience)?,
            None => self.connect(&runtime, &mut patience)?,
        };
        batch::question(&mut link.socket.question, keys, self.expiry);
        link.socket.scanner.clear();
        let asked = boot_now();
        let done = runtime.block_on(async {
            let work = pin!(link.socket.exchange(|parts| batch::is_whole(parts, keys.len())));
            patience.wait(work).await
        });
        let during = Moment::between(asked, boot_now());
        self.runtime = Some(runtime);
        match done {
            None => Err(StoreError::TimedOut(self.timeout)),
            Some(Err(error)) => Err(unreachable(&self.url, &error)),
            Some(Ok(())) => {
                let readings = batch::readings(&link.socket.scanner, keys, self.expiry, during, link.epoch.as_deref());
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
        link.unwrap_or_else(|| Err(unreachable(&self.url, &format!("no answer within {allowed:?}"))))
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
        let mut link = Link {
            socket: Socket::open(&self.url, self.tls.as_ref()).await?,
            epoch: None,
            replica: false,
            known: boot_now(),
        };
        self.learn_role(&mut link).await?;
        Ok(link)
    }

    /// Asks who answers, and whether as a replica.
    async fn learn_role(&self, link: &mut Link) -> Result<(), StoreError> {
        link.known = boot_now();
        let server = link.socket.server(&self.url).await?;
        (link.epoch, link.replica) = (server.epoch(), server.is_replica());
        Ok(())
    }

    fn refused(&self, why: String) -> StoreError {
        let lasts = lasts(&why);
        StoreError::refused(&self.url, why, lasts)
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
