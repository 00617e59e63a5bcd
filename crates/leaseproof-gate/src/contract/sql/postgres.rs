//! PostgreSQL.

use super::server::{Failed, patiently};
use super::{Outcome, SqlPlace, SqlTarget, Writer};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

pub struct PostgresWriter {
    target: SqlTarget,
    runtime: Option<Runtime>,
    client: Option<Client>,
}

impl PostgresWriter {
    pub fn new(target: SqlTarget) -> Self {
        Self {
            target,
            runtime: Builder::new_current_thread().enable_all().build().ok(),
            client: None,
        }
    }

    fn ask(&mut self, statement: &str) -> Result<Vec<SimpleQueryMessage>, Failed> {
        let SqlPlace::Postgres(url) = &self.target.place else {
            return Err(Failed::Unknown("no server".to_owned()));
        };
        let runtime = self
            .runtime
            .as_ref()
            .ok_or(Failed::Unknown("no event loop".to_owned()))?;
        let client = self.client.take();
        let asked = async {
            let client = match client {
                Some(client) => client,
                None => connect(url).await?,
            };
            let answer = client.simple_query(statement).await.map_err(failed);
            Ok((client, answer))
        };
        let patience = self.target.patience;
        // A connection that was given up in the middle is dropped with what it had asked.
        let (client, answer) = runtime
            .block_on(async { timeout(patience, asked).await })
            .map_err(|_| Failed::Unknown(format!("no answer within {patience:?}")))??;
        if !client.is_closed() {
            self.client = Some(client);
        }
        answer
    }
}

async fn connect(url: &str) -> Result<Client, Failed> {
    let config: Config = url.parse().map_err(failed)?;
    let Some(Host::Tcp(host)) = config.get_hosts().first() else {
        return Err(Failed::Unknown("the URL names no host".to_owned()));
    };
    let place = (host.as_str(), config.get_ports().first().copied().unwrap_or(5432));
    let unreachable = |error: std::io::Error| Failed::Unknown(format!("{}:{}: {error}", place.0, place.1));
    let stream = TcpStream::connect(place).await.map_err(unreachable)?;
    let (client, connection) = config.connect_raw(stream, NoTls).await.map_err(failed)?;
    tokio::spawn(connection);
    Ok(client)
}

/// Classes of errors that are about the server's state or the statement's form, not about the token.
const OTHERS: [&str; 9] = ["08", "26", "28", "3D", "42", "53", "57", "58", "XX"];

fn failed(error: tokio_postgres::Error) -> Failed {
    match error.as_db_error() {
        Some(said) if said.code().code().starts_with("40") => Failed::Again(said.message().to_owned()),
        Some(said) if !OTHERS.iter().any(|class| said.code().code().starts_with(class)) => {
            Failed::Refused(format!("{}: {}", said.code().code(), said.message()))
        }
        Some(said) => Failed::Unknown(format!("{}: {}", said.code().code(), said.message())),
        None => Failed::Unknown(error.to_string()),
    }
}

impl Writer for PostgresWriter {
    fn write(&mut self, token: u64, value: &str) -> Outcome {
        let statement = self.target.write.fill(token, value);
        patiently(self.target.patience, || {
            Ok(self.ask(&statement)?.iter().fold(0, |rows, it| match it {
                SimpleQueryMessage::CommandComplete(more) => rows + more,
                _ => rows,
            }))
        })
    }

    fn read(&mut self) -> Result<String, String> {
        let query = self.target.read.as_ref().ok_or("there is no --read")?.plain();
        let messages = self.ask(&query).map_err(Failed::text)?;
        let row = messages.iter().find_map(|it| match it {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        row.ok_or_else(|| "no row".to_owned())
    }
}
