//! One connection to one server, hidden behind blocking calls that end in running time.
//!
//! The library's own time-outs (500 ms, on by default) are off: they run on CLOCK_MONOTONIC and
//! count a pause of ours as the server's silence. Its reconnecting manager is not used either: a new
//! connection is an event, with a new look at who answers.

use crate::error::StoreError;
use crate::inspect::Allowed;
use crate::patience::Patience;
use crate::redis::allow::allows;
use crate::redis::monitor::follow;
use crate::redis::server::{Server, refusal, text};
use crate::url::RedisUrl;
use crate::wire::{Failed, Gate, Gated, Tls};
use leaseproof_model::inspect::store_view::Monitored;
use redis::aio::MultiplexedConnection;
use redis::{Arg, AsyncConnectionConfig, Cmd, ErrorKind, Pipeline, RedisConnectionInfo, RedisError, Value};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, yield_now};

/// After so many time-outs in a row a connection is given up: the network may have forgotten it.
const TIME_OUTS: u8 = 3;

/// A client of one server.
pub(crate) struct Client {
    url: RedisUrl,
    connect_timeout: Duration,
    /// All that may be sent, where that is bounded.
    allowed: Option<&'static [Allowed]>,
    tls: Option<Tls>,
    link: Option<Link>,
    /// Always there until it is dropped in the background: a look-up of a name may hang in it.
    runtime: Option<Runtime>,
}

/// An open connection.
struct Link {
    connection: MultiplexedConnection,
    driver: JoinHandle<()>,
    gate: Arc<Gate>,
    server: Server,
    time_outs: u8,
}

impl Client {
    /// A client that is not connected yet.
    pub(crate) fn new(url: &RedisUrl, connect_timeout: Duration) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .map_err(|error| StoreError::Unexpected(format!("no event loop: {error}")))?;
        Ok(Self {
            url: url.clone(),
            connect_timeout,
            allowed: None,
            tls: url
                .tls
                .then(|| Tls::new(url.ca.as_deref(), url.tls_name(), url))
                .transpose()?,
            link: None,
            runtime: Some(runtime),
        })
    }

    /// Lets nothing through that is not in this list.
    pub(crate) fn only(mut self, allowed: &'static [Allowed]) -> Self {
        self.allowed = Some(allowed);
        self
    }

    pub(crate) fn url(&self) -> &RedisUrl {
        &self.url
    }

    /// Drops the connection; nothing of it reaches the server any more.
    pub(crate) fn disconnect(&mut self) {
        if let Some(link) = self.link.take() {
            link.gate.shut();
            link.driver.abort();
        }
    }

    /// Who answers, connecting if need be.
    pub(crate) fn server(&mut self, patience: &mut Patience) -> Result<&Server, StoreError> {
        Ok(&self.connected(patience)?.1.server)
    }

    /// Who answered last, without a look at the network.
    pub(crate) fn connected_server(&self) -> Option<&Server> {
        self.link.as_ref().map(|link| &link.server)
    }

    /// Sends commands and reads an answer to each; errors of the server are answers.
    pub(crate) fn ask(&mut self, commands: &Pipeline, patience: &mut Patience) -> Result<Vec<Value>, Failed> {
        self.check(commands.cmd_iter()).map_err(Failed::NotSent)?;
        let (runtime, link) = self.connected(patience).map_err(Failed::NotSent)?;
        let count = commands.cmd_iter().count();
        let before = link.gate.sent();
        let connection = &mut link.connection;
        let waited = patience.left();
        let answer = runtime.block_on(async {
            let work = pin!(connection.send_packed_commands(commands, 0, count));
            patience.wait(work).await
        });
        let error = match answer {
            Some(Ok(values)) => {
                link.time_outs = 0;
                return Ok(values);
            }
            Some(Err(error)) => Some(error),
            None => None,
        };
        link.time_outs += 1;
        let unsent = link.gate.sent() == before;
        if unsent || error.is_some() || link.time_outs >= TIME_OUTS {
            self.disconnect();
        }
        let error = match error {
            Some(error) => self.named(&error),
            None => StoreError::TimedOut(waited),
        };
        Err(if unsent {
            Failed::NotSent(error)
        } else {
            Failed::Unknown(error)
        })
    }

    /// The one place that everything passes before it is sent, but for the login.
    fn check<'a>(&self, mut commands: impl Iterator<Item = &'a Cmd>) -> Result<(), StoreError> {
        let Some(allowed) = self.allowed else { return Ok(()) };
        match commands.find(|command| !allows(allowed, command)) {
            None => Ok(()),
            Some(command) => Err(StoreError::Unexpected(format!(
                "{} was not sent: it is not in the list of what looking may send",
                name(command)
            ))),
        }
    }

    /// Watches what passes at the server (MONITOR), on a connection of its own.
    pub(crate) fn monitor(&mut self, key: &[u8], span: Duration, lines: u64) -> Result<Monitored, StoreError> {
        let mut login = Vec::new();
        if let Some(password) = &self.url.password {
            let mut auth = redis::cmd("AUTH");
            auth.arg(&self.url.user).arg(password);
            login.push(auth);
        }
        login.push(redis::cmd("MONITOR"));
        self.check(login.iter())?;
        let runtime = self.runtime.as_ref().expect("the runtime lives as long as the client");
        let work = async {
            let gate = Arc::new(Gate::default());
            let open = Gated::connect(&self.url.host, self.url.port, self.tls.as_ref(), gate);
            let mut stream = tokio::time::timeout(self.connect_timeout, open)
                .await
                .map_err(|_| format!("no answer within {:?}", self.connect_timeout))?
                .map_err(|error| error.to_string())?;
            for command in &login {
                let packed = command.get_packed_command();
                stream.write_all(&packed).await.map_err(|error| error.to_string())?;
            }
            follow(stream, key, login.len(), span, lines).await
        };
        runtime.block_on(work).map_err(|why| self.unreachable(&why))
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
            if link.driver.is_finished() {
                self.link = None;
            }
        }
        if self.link.is_none() {
            let mut part = Patience::new(self.connect_timeout.min(patience.left()));
            let allowed = part.left();
            let link = self.connect(&mut part);
            patience.take(allowed - part.left());
            self.link = Some(link?);
        }
        let runtime = self.runtime.as_ref().expect("the runtime lives as long as the client");
        // Invariant: set above.
        Ok((runtime, self.link.as_mut().expect("the link was just made")))
    }

    fn connect(&self, patience: &mut Patience) -> Result<Link, StoreError> {
        let runtime = self.runtime.as_ref().expect("the runtime lives as long as the client");
        let allowed = patience.left();
        let link = runtime.block_on(async {
            let work = pin!(self.open());
            patience.wait(work).await
        });
        link.unwrap_or_else(|| {
            Err(StoreError::Unreachable {
                url: self.url.to_string(),
                why: format!("no answer within {allowed:?}"),
            })
        })
    }

    async fn open(&self) -> Result<Link, StoreError> {
        let gate = Arc::new(Gate::default());
        let stream = Gated::connect(&self.url.host, self.url.port, self.tls.as_ref(), Arc::clone(&gate))
            .await
            .map_err(|error| self.unreachable(&error))?;
        let mut login = RedisConnectionInfo::default()
            .set_db(self.url.db)
            .set_skip_set_lib_name();
        if let Some(user) = &self.url.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.url.password {
            login = login.set_password(password);
        }
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(None);
        let (mut connection, driver) = MultiplexedConnection::new_with_config(&login, stream, config)
            .await
            .map_err(|error| self.named(&error))?;
        let driver = tokio::spawn(driver);
        let mut info = String::new();
        // As single commands: an answer that is not of this protocol is told as such only there.
        for section in ["server", "replication"] {
            let answer = connection.send_packed_command(redis::cmd("INFO").arg(section)).await;
            match answer.map_err(|error| self.named(&error))? {
                // A read-only user may not be allowed to ask; then the epoch stays unknown.
                Value::ServerError(error) if error.code() == "NOPERM" => {}
                Value::ServerError(error) => return Err(refusal(&self.url, &error)),
                answer => info += &text(&answer).unwrap_or_default(),
            }
        }
        let server = Server::parse(&info);
        if let Some(why) = server.unusable() {
            return Err(StoreError::Refused {
                url: self.url.to_string(),
                why: why.to_owned(),
            });
        }
        Ok(Link {
            connection,
            driver,
            gate,
            server,
            time_outs: 0,
        })
    }

    fn unreachable(&self, why: &impl ToString) -> StoreError {
        StoreError::Unreachable {
            url: self.url.to_string(),
            why: why.to_string(),
        }
    }

    /// An error of the library, in our words.
    fn named(&self, error: &RedisError) -> StoreError {
        match error.kind() {
            ErrorKind::Io => self.unreachable(error),
            ErrorKind::AuthenticationFailed => StoreError::Refused {
                url: self.url.to_string(),
                why: "user or password of the URL are wrong".to_owned(),
            },
            ErrorKind::Server(_) | ErrorKind::Extension => StoreError::Refused {
                url: self.url.to_string(),
                why: error.to_string(),
            },
            // The parser's words have lines of their own.
            _ => match error.to_string().split_whitespace().collect::<Vec<_>>().join(" ") {
                why if why.contains("end of input") => self.unreachable(&"its answer broke off in the middle"),
                why => StoreError::Unexpected(format!("{}: {why}: is it a Redis server?", self.url)),
            },
        }
    }
}

/// A command's name, for an error: never its arguments.
fn name(command: &Cmd) -> String {
    match command.args_iter().next() {
        Some(Arg::Simple(name)) => String::from_utf8_lossy(name).into_owned(),
        _ => "a command".to_owned(),
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
