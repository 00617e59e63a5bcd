//! SQLite.

use super::{Outcome, SqlPlace, SqlTarget, Writer, changed};
use rusqlite::{Connection, Error, ErrorCode, OpenFlags};
use std::thread::sleep;
use std::time::{Duration, Instant};

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
        not(any(feature = "mysql", feature = "postgres")),
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

    /// Asks again where the file was locked: SQLite gives up at once where two would wait for each other, and has
    /// changed nothing then.
    fn ask<T>(&mut self, question: impl Fn(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        let until = Instant::now() + self.target.patience;
        loop {
            let answer = self.connection().and_then(&question);
            match answer {
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < until => {
                    sleep(Duration::from_millis(1));
                }
                answer => return answer,
            }
        }
    }
}

impl Writer for SqliteWriter {
    fn write(&mut self, token: u64, value: &str) -> Outcome {
        let statement = self.target.write.fill(token, value);
        match self.ask(|connection| connection.execute(&statement, [])) {
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
        self.ask(|connection| connection.query_row(&query, [], |row| row.get(0)))
            .map_err(|error| error.to_string())
    }
}
