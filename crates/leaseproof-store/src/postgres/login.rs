//! Making a connection: the socket, TLS by the server's own handshake, the login, and who answers.

use crate::error::{Lasts, StoreError};
use crate::patience::Patience;
use crate::postgres::looks;
use crate::postgres::server::{Server, refusal};
use crate::postgres::table::Table;
use crate::url::PostgresUrl;
use crate::wire::{Gate, Gated, Tls, secured, tcp};
use std::error::Error as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, Error, NoTls};

/// "Do you speak TLS?", eight bytes that come before the protocol itself.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// How often an answer in another protocol is looked for, which would never become a login.
const GLANCE: Duration = Duration::from_millis(50);

/// The first byte of whatever a server of this protocol may answer to a login: authentication, error,
/// notice, protocol version.
const FIRST_BYTES: &[u8] = b"RENv";

/// What a connection is for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// The server itself refuses writes on it.
    Read,
    /// Changes leases.
    Write,
}

/// An open connection.
pub(crate) struct Login {
    pub(crate) client: Client,
    pub(crate) driver: JoinHandle<()>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) server: Server,
}

/// A connection that is being made. It outlives the call that began it: a server starts a process for
/// each, and where many come at once, every one that is given up and begun anew makes it later for all.
pub(crate) struct Coming {
    url: PostgresUrl,
    work: Pin<Box<dyn Future<Output = Result<Login, StoreError>> + Send>>,
    gate: Arc<Gate>,
    patience: Patience,
}

impl Coming {
    /// Begins nothing yet; `timeout` bounds it in running time, over all calls.
    pub(crate) fn new(url: &PostgresUrl, tls: Option<&Tls>, access: Access, timeout: Duration) -> Self {
        let gate = Arc::new(Gate::default());
        let (place, tls, passed) = (url.clone(), tls.cloned(), Arc::clone(&gate));
        Self {
            url: url.clone(),
            work: Box::pin(async move { open(&place, tls.as_ref(), access, passed).await }),
            gate,
            patience: Patience::new(timeout),
        }
    }

    /// Goes on with it for as long as `patience` lasts; `None` when that was too short.
    pub(crate) async fn wait(&mut self, patience: &mut Patience) -> Option<Result<Login, StoreError>> {
        let mut part = Patience::new(self.patience.left().min(patience.left()));
        let allowed = part.left();
        let mut login = None;
        while login.is_none() && !part.left().is_zero() {
            let mut glance = Patience::new(part.left().min(GLANCE));
            login = glance.wait(Pin::new(&mut self.work)).await;
            part.take(glance.spent());
            let first = self.gate.first_heard().filter(|first| is_foreign(*first));
            if let (None, Some(first)) = (&login, first) {
                login = Some(Err(foreign(&self.url, first)));
            }
        }
        let spent = allowed.saturating_sub(part.left());
        patience.take(spent);
        self.patience.take(spent);
        login
    }

    /// Whether it has had its time.
    pub(crate) fn is_late(&self) -> bool {
        self.patience.left().is_zero()
    }

    /// Why it hasn't come within `allowed`.
    pub(crate) fn why(&self, allowed: Duration) -> StoreError {
        let why = format!("no answer within {allowed:?}: it stands still, or another server is there");
        unreachable(&self.url, &why)
    }
}

/// Connects and logs in.
async fn open(url: &PostgresUrl, tls: Option<&Tls>, access: Access, gate: Arc<Gate>) -> Result<Login, StoreError> {
    let stream = stream(url, tls, Arc::clone(&gate)).await?;
    let mut config = Config::new();
    // Whether TLS is spoken was settled by us, before the first word of the protocol.
    config.ssl_mode(SslMode::Disable).application_name("leaseproof");
    if let Some(user) = &url.user {
        config.user(user);
    }
    if let Some(password) = &url.password {
        config.password(password);
    }
    if let Some(db) = &url.db {
        config.dbname(db);
    }
    let connected = config.connect_raw(stream, NoTls).await;
    let (client, connection) = connected.map_err(|error| match gate.first_heard() {
        None if error.is_closed() => unreachable(
            url,
            &"it closed without an answer: either it speaks TLS alone, or another server is there",
        ),
        first => named(url, &error, first),
    })?;
    // The connection is a future that somebody has to drive. Its error shows as a closed client.
    let driver = tokio::spawn(async {
        let _ = connection.await;
    });
    match ask(&client, &url.table, access).await {
        Ok(server) => match server.unusable() {
            None => Ok(Login {
                client,
                driver,
                gate,
                server,
            }),
            Some(why) => Err(StoreError::refused(url, why, Lasts::Mended)),
        },
        Err(error) => Err(named(url, &error, gate.first_heard())),
    }
}

async fn stream(url: &PostgresUrl, tls: Option<&Tls>, gate: Arc<Gate>) -> Result<Gated, StoreError> {
    let lost = |error: io::Error| unreachable(url, &error);
    let mut stream = tcp(&url.host, url.port).await.map_err(lost)?;
    if tls.is_some() {
        stream.write_all(&TLS_REQUEST).await.map_err(lost)?;
        // One byte and no more: whatever was slipped in behind it is read as TLS, and fails there.
        match stream.read_u8().await.map_err(lost)? {
            b'S' => {}
            b'N' => {
                let why = "it speaks no TLS: set ssl = on there, or write sslmode=disable";
                return Err(StoreError::refused(url, why, Lasts::Mended));
            }
            other => return Err(foreign(url, other)),
        }
    }
    let inner = secured(stream, tls).await.map_err(lost)?;
    Ok(Gated::over(inner, gate).bounded())
}

/// Settles what a session depends on, whatever the server's defaults are, and asks who it is.
async fn ask(client: &Client, table: &str, access: Access) -> Result<Server, Error> {
    let settings = match access {
        Access::Read => looks::SETTLE,
        // As for those who look. And a grant that a crash of the server takes back would be granted twice,
        // with one token.
        Access::Write => {
            "SET default_transaction_isolation = 'read committed'; \
             SELECT set_config('synchronous_commit', 'local', false) \
             WHERE current_setting('synchronous_commit') = 'off'"
        }
    };
    let table = looks::of(looks::TABLE, &looks::quoted(table));
    // All in one round trip. Some hosters don't let their users ask for the identity.
    let (settled, who, identity, table) = tokio::join!(
        client.batch_execute(settings),
        client.query_typed(looks::WHO, &[]),
        client.query_typed(looks::IDENTITY, &[]),
        client.query_typed(&table, &[]),
    );
    settled?;
    let mut server = Server::default();
    if let Some(row) = who?.first() {
        server.full_version = row.try_get(0)?;
        server.number = row.try_get(1)?;
        server.replica = row.try_get(2)?;
    }
    server.identity = identity.ok().and_then(|rows| rows.first()?.try_get(0).ok());
    // A server of another kind may not understand this question: then it is refused for what it is.
    if server.unusable().is_none() {
        server.table = table?.first().map(Table::parse).transpose()?;
    }
    Ok(server)
}

/// An error of the library, in our words.
pub(crate) fn named(url: &PostgresUrl, error: &Error, first: Option<u8>) -> StoreError {
    if let Some(error) = error.as_db_error() {
        return refusal(url, error);
    }
    if let Some(first) = first.filter(|it| is_foreign(*it)) {
        return foreign(url, first);
    }
    let words = words(error);
    if words.contains("password missing") {
        let why = "it wants a password: put it into the URL, postgres://USER:PASSWORD@host/db";
        return StoreError::refused(url, why, Lasts::Mended);
    }
    if words.contains("authentication") {
        let why = format!("{words}: passwords (SCRAM, MD5, plain) and trust are understood here");
        return StoreError::refused(url, why, Lasts::Mended);
    }
    let io = error.source().is_some_and(|source| source.is::<io::Error>());
    if io || error.is_closed() {
        return unreachable(url, &words);
    }
    StoreError::Unexpected(format!("{url}: {words}: is it a PostgreSQL server?"))
}

/// The error with what caused it.
fn words(error: &Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Whether no server of this protocol begins its answer like this.
fn is_foreign(first: u8) -> bool {
    !FIRST_BYTES.contains(&first)
}

/// By the first byte of the answer.
fn foreign(url: &PostgresUrl, first: u8) -> StoreError {
    let what = match first {
        b'H' => "in HTTP",
        b'-' | b'+' => "as Redis does",
        // A server that wants TLS is asked for it in its own way, and never begins by itself.
        0x15 | 0x16 => "in TLS at once, as no PostgreSQL does",
        _ => "in another protocol",
    };
    StoreError::OtherProtocol(format!("{url} answers {what}: is it a PostgreSQL server?"))
}

pub(crate) fn unreachable(url: &PostgresUrl, why: &impl ToString) -> StoreError {
    StoreError::Unreachable {
        url: url.to_string(),
        why: why.to_string(),
    }
}
