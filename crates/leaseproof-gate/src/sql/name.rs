//! Names in SQL, quoted for a dialect. Pure.

use super::Dialect;

/// No derived name may be longer, in bytes: PostgreSQL cuts at 63, MySQL refuses above 64.
const LONGEST: usize = 63;

/// A table and what is made for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names {
    dialect: Dialect,
    schema: Option<String>,
    table: String,
}

impl Names {
    /// The names for `TABLE` or `SCHEMA.TABLE`.
    ///
    /// # Errors
    /// When a name can't be one, or a derived one would be too long.
    pub fn new(dialect: Dialect, table: &str) -> Result<Self, String> {
        let (schema, table) = match table.split_once('.') {
            Some((schema, table)) => (Some(schema), table),
            // The function's own search path has no schema of the user's.
            None if dialect == Dialect::Postgres => (Some("public"), table),
            None => (None, table),
        };
        if let Some(schema) = schema {
            check("--table", schema)?;
        }
        check("--table", table)?;
        let names = Self {
            dialect,
            schema: schema.map(str::to_owned),
            table: table.to_owned(),
        };
        let longest = format!("{table}_fence_marks");
        if longest.len() > LONGEST {
            return Err(format!(
                "--table: `{table}` is too long: `{longest}` would be above {LONGEST} bytes"
            ));
        }
        Ok(names)
    }

    /// The table.
    pub fn table(&self) -> String {
        self.qualified(&self.table)
    }

    /// The same without its schema.
    pub fn table_bare(&self) -> String {
        quoted(self.dialect, &self.table)
    }

    /// A table, function or trigger made for it.
    pub fn made(&self, what: &str) -> String {
        self.qualified(&format!("{}_fence_{what}", self.table))
    }

    /// The same without its schema, where the statement names that elsewhere.
    pub fn made_bare(&self, what: &str) -> String {
        quoted(self.dialect, &format!("{}_fence_{what}", self.table))
    }

    /// A trigger made for it, where a trigger's name has no schema.
    pub fn trigger(&self, what: &str) -> String {
        let name = format!("{}_fence_{what}", self.table);
        match self.dialect {
            Dialect::Postgres => quoted(self.dialect, &name),
            Dialect::Sqlite | Dialect::Mysql => self.qualified(&name),
        }
    }

    /// The table's name as people know it.
    pub fn plain(&self) -> &str {
        &self.table
    }

    fn qualified(&self, name: &str) -> String {
        match &self.schema {
            Some(schema) => format!("{}.{}", quoted(self.dialect, schema), quoted(self.dialect, name)),
            None => quoted(self.dialect, name),
        }
    }
}

/// A column's name.
///
/// # Errors
/// When it can't be one.
pub fn column(dialect: Dialect, flag: &str, name: &str) -> Result<String, String> {
    check(flag, name)?;
    Ok(quoted(dialect, name))
}

fn check(flag: &str, name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > LONGEST || name.chars().any(char::is_control) || name.contains('.') {
        return Err(format!(
            "{flag}: `{name}` is no name: give it as the database has it, without quotes"
        ));
    }
    Ok(())
}

fn quoted(dialect: Dialect, name: &str) -> String {
    match dialect {
        Dialect::Postgres | Dialect::Sqlite => format!("\"{}\"", name.replace('"', "\"\"")),
        Dialect::Mysql => format!("`{}`", name.replace('`', "``")),
    }
}

/// A string in SQL.
pub fn text(words: &str) -> String {
    format!("'{}'", words.replace('\'', "''").replace('\\', ""))
}
