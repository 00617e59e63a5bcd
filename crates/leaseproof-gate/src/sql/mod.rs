//! The fence in a database: a migration that makes a trigger refuse stale tokens, and its undo. Pure text.
//!
//! The same in each dialect: a table of marks of its own, so that a row that is deleted and made again keeps its
//! mark; the mark's row is locked until the writing transaction ends, so that writes of one key follow each other;
//! an UPDATE that doesn't name the token is refused, since it would pass with the token that the row has.

mod mysql;
mod name;
mod postgres;
mod sqlite;

use name::Names;

/// A kind of database.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// PostgreSQL.
    Postgres,
    /// SQLite.
    Sqlite,
    /// MySQL and MariaDB.
    Mysql,
}

/// What the migration is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fence {
    names: Names,
    dialect: Dialect,
    /// The column that names the resource, quoted.
    key: String,
    /// The column that takes the token, quoted.
    token: String,
    deletes: bool,
}

impl Fence {
    /// For this table and these columns. With `deletes` a DELETE passes; it can't carry a token, so that else it is
    /// refused.
    ///
    /// # Errors
    /// When a name can't be one.
    pub fn new(dialect: Dialect, table: &str, key: &str, token: &str, deletes: bool) -> Result<Self, String> {
        if key == token {
            return Err("--key and --token are one column: the token needs a column of its own".to_owned());
        }
        Ok(Self {
            names: Names::new(dialect, table)?,
            dialect,
            key: name::column(dialect, "--key", key)?,
            token: name::column(dialect, "--token", token)?,
            deletes,
        })
    }

    /// The migration.
    #[must_use]
    pub fn migration(&self) -> String {
        match self.dialect {
            Dialect::Postgres => postgres::migration(self),
            Dialect::Sqlite => sqlite::migration(self),
            Dialect::Mysql => mysql::migration(self),
        }
    }

    /// What undoes it. The marks are lost with it.
    #[must_use]
    pub fn undo(&self) -> String {
        match self.dialect {
            Dialect::Postgres => postgres::undo(self),
            Dialect::Sqlite => sqlite::undo(self),
            Dialect::Mysql => mysql::undo(self),
        }
    }

    /// The words of a refusal. They are one literal, since not every database can put a number into it.
    fn says(&self, why: Why) -> String {
        let table = self.names.plain();
        name::text(&match why {
            Why::Stale => format!("stale fencing token: a greater one was admitted for this key of {table}"),
            Why::Missing => format!("no fencing token: every write to {table} names one, a whole number from 0"),
            Why::KeyChanged => format!("the key of a row of {table} is fenced, and can not be changed"),
            Why::NoKey => format!("a row of {table} without a key can not be fenced"),
            Why::Deleted => format!("a DELETE carries no fencing token: mark the row of {table} as deleted"),
        })
    }
}

/// Why a write is refused.
#[derive(Copy, Clone)]
enum Why {
    Stale,
    Missing,
    KeyChanged,
    NoKey,
    Deleted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_none() {
        for (table, key, token) in [
            ("", "k", "t"),
            ("a.b.c", "k", "t"),
            ("a", "", "t"),
            ("a", "k", "k"),
            ("a\n", "k", "t"),
            ("a", "k", "t.u"),
        ] {
            assert!(
                Fence::new(Dialect::Sqlite, table, key, token, false).is_err(),
                "{table} {key} {token}"
            );
        }
        assert!(Fence::new(Dialect::Postgres, &"x".repeat(60), "k", "t", false).is_err());
    }

    #[test]
    fn names_are_quoted() {
        let fence = Fence::new(Dialect::Sqlite, "my \"table\"; --", "k", "t", false).expect("a name");
        assert!(fence.migration().contains("ON \"my \"\"table\"\"; --\""));
        let fence = Fence::new(Dialect::Mysql, "a`b", "k'", "t", false).expect("a name");
        assert!(fence.migration().contains("ON `a``b`"));
    }
}
