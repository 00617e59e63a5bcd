//! One connection to one server, hidden behind blocking calls that end in running time.

use crate::clock::boot_now;
use crate::done::Done;
use crate::error::StoreError;
use crate::patience::Patience;
use crate::postgres::login::{Access, Coming, Login, named, unreachable};
use crate::postgres::server::{Server, is_definite, refusal};
use crate::postgres::statement::Statements;
use crate::url::PostgresUrl;
use crate::wire::Tls;
use leaseproof_model::moment::Moment;
use std::pin::pin;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio_postgres::Row;
use tokio_postgres::error::DbError;
use tokio_postgres::types::{ToSql, Type};

/// After so many time-outs in a row a connection is given up: the network may have forgotten it.
const TIME_OUTS: u8 = 3;

/// How long a connection may take to be made, where the caller's own time-out is shorter: a call that
/// ends before leaves it to the next one.
const CONNECTING: Duration = Duration::from_secs(1);

/// The same for an observer's first one, which is waited for.
pub(crate) const OPENING: Duration = Duration::from_secs(3);

/// A parameter and its type: a statement with both needs no round trip to be prepared.
pub(crate) type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// How a statement failed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// It certainly never left.
    NotSent(StoreError),
    /// It left, at least in part, and nobody knows.
    Unknown(StoreError),
    /// The server refused it, and changed nothing.
    Refused(Box<DbError>),
}

/// A client of one server.
pub(crate) struct Client {
    url: PostgresUrl,
    access: Access,
    connect_timeout: Duration,
    statements: Statements,
    tls: Option<Tls>,
    link: Option<Link>,
    coming: Option<Coming>,
    /// Always there until it is dropped in the background: a look-up of a name may hang in it.
    runtime: Option<Runtime>,
}

/// An open connection.
struct Link {
    login: Login,
    time_outs: u8,
}

impl Client {
    /// A client that is not connected yet.
    pub(crate) fn new(url: &PostgresUrl, access: Access, connect_timeout: Duration) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .map_err(|error| StoreError::Unexpected(format!("no event loop: {error}")))?;
        Ok(Self {
            url: url.clone(),
            access,
            connect_timeout,
            statements: Statements::new(&url.table),
            tls: url
                .tls
                .then(|| Tls::new(url.ca.as_deref(), url.tls_name(), url))
                .transpose()?,
            link: None,
            coming: None,
            runtime: Some(runtime),
        })
    }

    /// Drops the connection; nothing of it reaches the server any more.
    pub(crate) fn disconnect(&mut self) {
        self.coming = None;
        if let Some(link) = self.link.take() {
            link.login.gate.shut();
            link.login.driver.abort();
        }
    }

    /// Who answers, connecting if need be.
    pub(crate) fn server(&mut self, patience: &mut Patience) -> Result<&Server, StoreError> {
        Ok(&self.connected(patience)?.1.login.server)
    }

    /// Who answered last, without a look at the network.
    pub(crate) fn connected_server(&self) -> Option<&Server> {
        self.link.as_ref().map(|link| &link.login.server)
    }

    /// Runs a statement that `choose` picks, and reads all its rows.
    pub(crate) fn ask(
        &mut self,
        choose: impl Fn(&Statements) -> &str,
        values: &[Value<'_>],
        patience: &mut Patience,
    ) -> Result<Vec<Row>, Failed> {
        if self.access == Access::Read && !self.statements.is_look(choose(&self.statements)) {
            return Err(Failed::NotSent(StoreError::Unexpected(format!(
                "{} is not among what a look may send: nothing was sent",
                choose(&self.statements)
            ))));
        }
        self.connected(patience).map_err(Failed::NotSent)?;
        let (Some(runtime), Some(link)) = (&self.runtime, &mut self.link) else {
            return Err(Failed::NotSent(unreachable(&self.url, &"not connected")));
        };
        let before = link.login.gate.sent();
        let waited = patience.left();
        let answer = runtime.block_on(async {
            let work = pin!(link.login.client.query_typed(choose(&self.statements), values));
            patience.wait(work).await
        });
        let unsent = link.login.gate.sent() == before;
        let error = match answer {
            Some(Ok(rows)) => {
                link.time_outs = 0;
                return Ok(rows);
            }
            Some(Err(error)) => {
                if let Some(error) = error.as_db_error().filter(|error| is_definite(error)) {
                    link.time_outs = 0;
                    return Err(Failed::Refused(Box::new(error.clone())));
                }
                // The library says only that the connection is closed.
                let flood = link.login.gate.flood();
                self.disconnect();
                match flood {
                    Some(flood) => unreachable(&self.url, &flood),
                    None => named(&self.url, &error, None),
                }
            }
            None => {
                link.time_outs += 1;
                if unsent || link.time_outs >= TIME_OUTS {
                    self.disconnect();
                }
                StoreError::TimedOut(waited)
            }
        };
        Err(if unsent {
            Failed::NotSent(error)
        } else {
            Failed::Unknown(error)
        })
    }

    /// As `ask`, for those who change nothing.
    pub(crate) fn look(
        &mut self,
        choose: impl Fn(&Statements) -> &str,
        values: &[Value<'_>],
        patience: &mut Patience,
    ) -> Result<Vec<Row>, StoreError> {
        self.ask(choose, values, patience)
            .map_err(|failed| self.in_words(failed))
    }

    pub(crate) fn in_words(&self, failed: Failed) -> StoreError {
        match failed {
            Failed::NotSent(error) | Failed::Unknown(error) => error,
            Failed::Refused(error) => refusal(&self.url, &error),
        }
    }

    /// Runs a statement that changes a lease; `judge` says what its rows mean.
    pub(crate) fn change<T>(
        &mut self,
        choose: impl Fn(&Statements) -> &str,
        values: &[Value<'_>],
        timeout: Duration,
        judge: impl FnOnce(&[Row], Moment) -> Done<T>,
    ) -> Done<T> {
        let asked = boot_now();
        let mut patience = Patience::new(timeout);
        let answer = match self.writable(&mut patience) {
            Ok(()) => self.ask(choose, values, &mut patience),
            Err(error) => Err(Failed::NotSent(error)),
        };
        let during = Moment::between(asked, boot_now());
        match answer {
            Ok(rows) => judge(&rows, during),
            Err(Failed::Unknown(error)) => Done::unknown(error, during),
            Err(failed) => Done::failed(self.in_words(failed), during),
        }
    }

    /// A standby is refused before anything is sent to it.
    fn writable(&mut self, patience: &mut Patience) -> Result<(), StoreError> {
        if self.server(patience)?.replica {
            return Err(StoreError::Replica {
                url: self.url.to_string(),
                primary: "its primary".to_owned(),
            });
        }
        Ok(())
    }

    /// The runtime and a link that was open a moment ago.
    fn connected(&mut self, patience: &mut Patience) -> Result<(&Runtime, &mut Link), StoreError> {
        // Invariant: taken by drop alone.
        let runtime = self.runtime.as_ref().expect("the runtime lives as long as the client");
        if let Some(link) = &self.link {
            // Between calls nobody looks at the socket. A close that already lies there is found
            // here, before a request is lost in it: one yield lets the socket be polled, the next
            // lets the driver read it.
            runtime.block_on(async {
                for _ in 0..3 {
                    yield_now().await;
                }
            });
            if link.login.driver.is_finished() {
                self.link = None;
            }
        }
        if self.link.is_none() {
            let mut part = Patience::new(self.connect_timeout.min(patience.left()));
            let allowed = part.left();
            let mut coming = self.coming.take().unwrap_or_else(|| {
                let timeout = self.connect_timeout.max(CONNECTING);
                Coming::new(&self.url, self.tls.as_ref(), self.access, timeout)
            });
            let login = runtime.block_on(coming.wait(&mut part));
            patience.take(allowed.saturating_sub(part.left()));
            let Some(login) = login else {
                let why = coming.why(allowed);
                if !coming.is_late() {
                    self.coming = Some(coming);
                }
                return Err(why);
            };
            let login = login?;
            self.link = Some(Link { login, time_outs: 0 });
        }
        // Invariant: set above.
        Ok((runtime, self.link.as_mut().expect("the link was just made")))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.disconnect();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
