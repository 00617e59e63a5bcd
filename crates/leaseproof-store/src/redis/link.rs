//! One connection to one server, and what that server said about itself when it was made.
//!
//! The library's own time-outs (500 ms, on by default) are off: they run on CLOCK_MONOTONIC and
//! count a pause of ours as the server's silence.

use crate::error::{Lasts, StoreError};
use crate::redis::server::{Server, lasts, refusal, text};
use crate::url::{Place, RedisUrl, Way};
use crate::wire::{Gate, Gated, Tls};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ErrorKind, RedisConnectionInfo, RedisError, Value};
use std::sync::Arc;
use tokio::task::JoinHandle;

/// An open connection.
pub(super) struct Link {
    pub(super) place: Place,
    pub(super) connection: MultiplexedConnection,
    pub(super) driver: JoinHandle<()>,
    pub(super) gate: Arc<Gate>,
    pub(super) server: Server,
    /// Time-outs in a row.
    pub(super) time_outs: u8,
}

impl Link {
    /// Connects, logs in and asks who answers. A server that the URL's way can't use is refused.
    pub(super) async fn open(url: &RedisUrl, place: &Place, tls: Option<&Tls>) -> Result<Self, StoreError> {
        let login = RedisConnectionInfo::default().set_db(url.db);
        let (connection, driver, gate) = connect(url, place, tls, login, (&url.user, &url.password)).await?;
        let mut link = Self {
            place: place.clone(),
            connection,
            driver,
            gate,
            server: Server::default(),
            time_outs: 0,
        };
        link.ask_who(url).await?;
        Ok(link)
    }

    async fn ask_who(&mut self, url: &RedisUrl) -> Result<(), StoreError> {
        let mut info = String::new();
        // As single commands: an answer that is not of this protocol is told as such only there.
        for section in ["server", "replication"] {
            let answer = self
                .connection
                .send_packed_command(redis::cmd("INFO").arg(section))
                .await;
            match answer.map_err(|error| failed(url, &error, &self.gate))? {
                // A read-only user may not be allowed to ask; then the epoch stays unknown.
                Value::ServerError(error) if error.code() == "NOPERM" => {}
                Value::ServerError(error) => return Err(refusal(url, &error)),
                answer => info += &text(&answer).unwrap_or_default(),
            }
        }
        self.server = Server::parse(&info);
        let refused = |why: String| StoreError::refused(url, why, Lasts::Mended);
        if let Some(why) = self.server.unusable(&url.way) {
            return Err(refused(why.to_owned()));
        }
        if matches!(url.way, Way::Sentinel { .. }) {
            // The Sentinels' word is not enough: the server itself must say it.
            let answer = self.connection.send_packed_command(&redis::cmd("ROLE")).await;
            let role = match answer.map_err(|error| failed(url, &error, &self.gate))? {
                Value::ServerError(_) => self.server.role.clone(),
                Value::Array(parts) => parts.first().and_then(text),
                _ => None,
            };
            let place = &self.place;
            match role.as_deref() {
                Some("master") => {}
                Some(_) => {
                    return Err(unreachable(
                        url,
                        &format!("the Sentinels name {place} as the primary, and it does not say so itself (yet)"),
                    ));
                }
                None => {
                    return Err(refused(format!(
                        "this user may ask {place} neither ROLE nor INFO, so that nobody knows whether it is the primary: \
                         allow it one of them"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Lets nothing of it reach the server any more.
    pub(super) fn cut(self) {
        self.gate.shut();
        self.driver.abort();
    }
}

/// A connection that is logged in.
pub(super) async fn connect(
    url: &RedisUrl,
    place: &Place,
    tls: Option<&Tls>,
    login: RedisConnectionInfo,
    (user, password): (&Option<String>, &Option<String>),
) -> Result<(MultiplexedConnection, JoinHandle<()>, Arc<Gate>), StoreError> {
    let gate = Arc::new(Gate::default());
    let tls = tls.map(|tls| tls.named(url.tls_name(place), url)).transpose()?;
    let stream = Gated::connect(&place.host, place.port, tls.as_ref(), Arc::clone(&gate))
        .await
        .map_err(|error| match url.way {
            Way::Server => unreachable(url, &error),
            _ => unreachable(url, &format!("{place}: {error}")),
        })?
        .bounded();
    let mut login = login.set_skip_set_lib_name();
    if let Some(user) = user {
        login = login.set_username(user);
    }
    if let Some(password) = password {
        login = login.set_password(password);
    }
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(None)
        .set_connection_timeout(None);
    let (connection, driver) = MultiplexedConnection::new_with_config(&login, stream, config)
        .await
        .map_err(|error| failed(url, &error, &gate))?;
    Ok((connection, tokio::spawn(driver), gate))
}

pub(super) fn unreachable(url: &RedisUrl, why: &impl ToString) -> StoreError {
    StoreError::Unreachable {
        url: url.to_string(),
        why: why.to_string(),
    }
}

/// An error of the library on this connection, in our words.
pub(super) fn failed(url: &RedisUrl, error: &RedisError, gate: &Gate) -> StoreError {
    match gate.flood() {
        // The library says only that the connection is gone.
        Some(flood) => unreachable(url, &flood),
        None => named(url, error),
    }
}

/// What an answer is that is no Redis's. The parser names the bytes that it did not expect, the first one last.
fn answer_words(why: &str) -> &'static str {
    match why.rsplit('`').nth(1) {
        // The H of HTTP.
        Some("72") => "it answers in HTTP",
        // An alert, a handshake.
        Some("21" | "22") => "it answers in TLS, which rediss:// asks for; if that is not it",
        _ => "it answers in another protocol",
    }
}

/// An error of the library, in our words.
fn named(url: &RedisUrl, error: &RedisError) -> StoreError {
    match error.kind() {
        ErrorKind::Io if !url.tls && error.is_connection_dropped() && !error.is_connection_refusal() => unreachable(
            url,
            &"it closed without an answer: either this port wants TLS (rediss:// asks for it), or another server is there",
        ),
        ErrorKind::Io => unreachable(url, error),
        ErrorKind::AuthenticationFailed => {
            StoreError::refused(url, "user or password of the URL are wrong", Lasts::Mended)
        }
        ErrorKind::Server(_) | ErrorKind::Extension => {
            let said = [error.code(), error.detail()].map(Option::unwrap_or_default).join(" ");
            StoreError::refused(url, error.to_string(), lasts(&said))
        }
        // The parser's words have lines of their own.
        _ => match error.to_string().split_whitespace().collect::<Vec<_>>().join(" ") {
            why if why.contains("end of input") => unreachable(url, &"its answer broke off in the middle"),
            why if why.contains("Parse error") => {
                StoreError::OtherProtocol(format!("{url}: {}: is it a Redis server?", answer_words(&why)))
            }
            why => StoreError::Unexpected(format!("{url}: {why}: is it a Redis server?")),
        },
    }
}
