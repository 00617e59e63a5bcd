//! A database: an error of the statement, or no row changed, says no.

use super::target::{Outcome, Target, Template, Writer};
use std::path::PathBuf;
use std::time::Duration;

/// A database.
#[derive(Clone, Debug)]
pub struct SqlTarget {
    /// Which.
    pub place: SqlPlace,
    /// The statement that writes.
    pub write: Template,
    /// The query that reads: one row, one column of text.
    pub read: Option<Template>,
    /// How long an answer may take.
    pub patience: Duration,
}

/// Where it is.
#[derive(Clone, Debug)]
pub enum SqlPlace {
    /// A file.
    Sqlite(PathBuf),
    /// A server's URL.
    #[cfg(feature = "postgres")]
    Postgres(String),
}

impl std::str::FromStr for SqlPlace {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            return Ok(Self::Sqlite(PathBuf::from(path)));
        }
        #[cfg(feature = "postgres")]
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Postgres(url.to_owned()));
        }
        Err("use sqlite:PATH or postgres://…; any other database by `gate test command` and its own client".to_owned())
    }
}

impl Target for SqlTarget {
    fn writer(&self, _holder: usize) -> Box<dyn Writer> {
        match &self.place {
            SqlPlace::Sqlite(_) => Box::new(sqlite::SqliteWriter::new(self.clone())),
            #[cfg(feature = "postgres")]
            SqlPlace::Postgres(_) => Box::new(postgres::PostgresWriter::new(self.clone())),
        }
    }

    fn reads(&self) -> bool {
        self.read.is_some()
    }
}

/// What so many changed rows mean.
fn changed(rows: u64) -> Outcome {
    if rows == 0 {
        Outcome::Refused("no row was changed".to_owned())
    } else {
        Outcome::Accepted
    }
}

mod sqlite {
    //! SQLite.

    use super::{Outcome, SqlPlace, SqlTarget, Writer, changed};
    use rusqlite::{Connection, Error, ErrorCode, OpenFlags};

    pub struct SqliteWriter {
        target: SqlTarget,
        connection: Option<Connection>,
    }

    impl SqliteWriter {
        pub fn new(target: SqlTarget) -> Self {
            Self {
                target,
                connection: None,
            }
        }

        #[cfg_attr(
            not(feature = "postgres"),
            expect(irrefutable_let_patterns, reason = "the only kind then")
        )]
        fn connection(&mut self) -> Result<&Connection, Error> {
            let opened = match self.connection.take() {
                Some(connection) => connection,
                None => {
                    let SqlPlace::Sqlite(path) = &self.target.place else {
                        return Err(Error::InvalidQuery);
                    };
                    // A file that isn't there is no database to test.
                    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
                    connection.busy_timeout(self.target.patience)?;
                    connection
                }
            };
            Ok(self.connection.insert(opened))
        }
    }

    impl Writer for SqliteWriter {
        fn write(&mut self, token: u64, value: &str) -> Outcome {
            let statement = self.target.write.fill(token, value);
            match self
                .connection()
                .and_then(|connection| connection.execute(&statement, []))
            {
                Ok(rows) => changed(rows as u64),
                // A trigger's RAISE is a violated constraint.
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                    Outcome::Refused(error.to_string())
                }
                Err(error) => Outcome::Unknown(error.to_string()),
            }
        }

        fn read(&mut self) -> Result<String, String> {
            let query = self.target.read.as_ref().ok_or("there is no --read")?.plain();
            let read = |connection: &Connection| connection.query_row(&query, [], |row| row.get(0));
            self.connection().and_then(read).map_err(|error| error.to_string())
        }
    }
}

#[cfg(feature = "postgres")]
mod postgres {
    //! PostgreSQL.

    use super::{Outcome, SqlPlace, SqlTarget, Writer, changed};
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

    enum Failed {
        Refused(String),
        Unknown(String),
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
            match self.ask(&statement) {
                Ok(messages) => changed(messages.iter().fold(0, |rows, it| match it {
                    SimpleQueryMessage::CommandComplete(more) => rows + more,
                    _ => rows,
                })),
                Err(Failed::Refused(why)) => Outcome::Refused(why),
                Err(Failed::Unknown(why)) => Outcome::Unknown(why),
            }
        }

        fn read(&mut self) -> Result<String, String> {
            let query = self.target.read.as_ref().ok_or("there is no --read")?.plain();
            let messages = self
                .ask(&query)
                .map_err(|(Failed::Refused(why) | Failed::Unknown(why))| why)?;
            let row = messages.iter().find_map(|it| match it {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            });
            row.ok_or_else(|| "no row".to_owned())
        }
    }
}
