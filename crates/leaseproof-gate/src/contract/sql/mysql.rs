//! MySQL and MariaDB.

use super::server::{Failed, patiently};
use super::{Outcome, SqlPlace, SqlTarget, Writer};
use mysql::prelude::Queryable as _;
use mysql::{Conn, Error, Opts, OptsBuilder};

pub struct MysqlWriter {
    target: SqlTarget,
    connection: Option<Conn>,
}

impl MysqlWriter {
    pub fn new(target: SqlTarget) -> Self {
        Self {
            target,
            connection: None,
        }
    }

    /// Asks; a connection on which something went wrong with more than the statement is not used again.
    fn ask<T>(&mut self, question: impl FnOnce(&mut Conn) -> Result<T, Error>) -> Result<T, Failed> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let answer = question(&mut connection);
        if matches!(answer, Ok(_) | Err(Error::MySqlError(_))) {
            self.connection = Some(connection);
        }
        answer.map_err(|error| failed(&error))
    }

    fn connect(&self) -> Result<Conn, Failed> {
        let SqlPlace::Mysql(url) = &self.target.place else {
            return Err(Failed::Unknown("no server".to_owned()));
        };
        let patience = Some(self.target.patience);
        let given = Opts::from_url(url).map_err(|error| Failed::Unknown(error.to_string()))?;
        let options = OptsBuilder::from_opts(given)
            // What the URL names is asked, and no socket that the server tells of.
            .prefer_socket(false)
            .tcp_connect_timeout(patience)
            .read_timeout(patience)
            .write_timeout(patience);
        Conn::new(options).map_err(|error| Failed::Unknown(format!("it can't be connected to: {error}")))
    }
}

/// What is wrong with a URL, if anything is.
pub fn url_fault(url: &str) -> Option<String> {
    Opts::from_url(url).err().map(|error| error.to_string())
}

fn failed(error: &Error) -> Failed {
    /// The statement waited too long for a lock, and was taken back.
    const LOCK_WAIT: u16 = 1205;
    /// MySQL's own number for a CHECK that does not hold; it has no class of its own.
    const CHECK_FAILS: u16 = 3819;
    let Error::MySqlError(said) = error else {
        return Failed::Unknown(error.to_string());
    };
    let text = format!("{} ({}): {}", said.code, said.state, said.message);
    match (said.code, said.state.get(..2).unwrap_or_default()) {
        (LOCK_WAIT, _) | (_, "40") => Failed::Again(text),
        // A value or a constraint that does not hold, a view's condition, a trigger's SIGNAL.
        (CHECK_FAILS, _) | (_, "22" | "23" | "44" | "45") => Failed::Refused(text),
        _ => Failed::Unknown(text),
    }
}

impl Writer for MysqlWriter {
    fn write(&mut self, token: u64, value: &str) -> Outcome {
        let statement = self.target.write.fill(token, value);
        patiently(self.target.patience, || {
            self.ask(|connection| {
                let mut answer = connection.query_iter(&statement)?;
                let mut rows = answer.affected_rows();
                // The first of several statements may have gone well.
                while let Some(set) = answer.iter() {
                    rows += set.affected_rows();
                    set.for_each(drop);
                }
                Ok(rows)
            })
        })
    }

    fn read(&mut self) -> Result<String, String> {
        let query = self.target.read.as_ref().ok_or("there is no --read")?.plain();
        let row: Option<String> = self
            .ask(|connection| connection.query_first(&query))
            .map_err(Failed::text)?;
        row.ok_or_else(|| "no row".to_owned())
    }
}
