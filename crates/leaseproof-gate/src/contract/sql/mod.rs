//! A database: an error of the statement, or no row changed, says no.

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod server;
mod sqlite;

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
    /// A server's URL; MariaDB's, too.
    #[cfg(feature = "mysql")]
    Mysql(String),
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
        #[cfg(feature = "mysql")]
        if let Some(rest) = url.strip_prefix("mysql://").or_else(|| url.strip_prefix("mariadb://")) {
            let url = format!("mysql://{rest}");
            return match mysql::url_fault(&url) {
                None => Ok(Self::Mysql(url)),
                Some(why) => Err(format!("the database's URL can't be used: {why}")),
            };
        }
        Err(
            "use sqlite:PATH, postgres://… or mysql://…; any other database by `gate test command` and its own client"
                .to_owned(),
        )
    }
}

impl Target for SqlTarget {
    fn writer(&self, _holder: usize) -> Box<dyn Writer> {
        match &self.place {
            SqlPlace::Sqlite(_) => Box::new(sqlite::SqliteWriter::new(self.clone())),
            #[cfg(feature = "postgres")]
            SqlPlace::Postgres(_) => Box::new(postgres::PostgresWriter::new(self.clone())),
            #[cfg(feature = "mysql")]
            SqlPlace::Mysql(_) => Box::new(mysql::MysqlWriter::new(self.clone())),
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
