//! What stands behind the table's name: the proof of an expiry looks at the locks of one plain table, and at nothing
//! behind or beside it.

use tokio_postgres::{Error, Row};

/// The relation that the name stands for in this session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Table {
    /// With its schema, quoted where it must be.
    pub(crate) name: String,
    /// `relkind`.
    kind: String,
    /// Whether it inherits, or is a partition.
    child: bool,
    /// Whether others inherit from it.
    parent: bool,
}

impl Table {
    /// From the answer to [`TABLE`](crate::postgres::looks::TABLE).
    pub(crate) fn parse(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            name: row.try_get("name")?,
            kind: row.try_get("kind")?,
            child: row.try_get("child")?,
            parent: row.try_get("parent")?,
        })
    }

    /// Why no lease can be judged by it.
    pub(crate) fn unusable(&self) -> Option<String> {
        let what = match self.kind.as_str() {
            "r" if self.child => "a table that inherits from another, or a partition of it",
            "r" if self.parent => "a table that others inherit from",
            "r" => return None,
            "v" => "a view",
            "m" => "a materialized view",
            "p" => "a partitioned table",
            "f" => "a foreign table",
            _ => "no table",
        };
        Some(format!(
            "{} is {what}: the proof of an expiry looks at the locks of one plain table: name the plain table that \
             owners write, with ?table=NAME",
            self.name
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_table_will_do() {
        for (kind, child, parent, part) in [
            ("r", false, false, None),
            ("r", true, false, Some("inherits from another")),
            ("r", false, true, Some("others inherit")),
            ("v", false, false, Some("is a view")),
            ("m", false, false, Some("materialized")),
            ("p", false, true, Some("partitioned")),
            ("f", false, false, Some("foreign")),
            ("S", false, false, Some("no table")),
        ] {
            let table = Table {
                name: "public.leases".to_owned(),
                kind: kind.to_owned(),
                child,
                parent,
            };
            let why = table.unusable();
            assert_eq!(why.is_some(), part.is_some(), "{why:?}");
            if let (Some(why), Some(part)) = (why, part) {
                assert!(why.contains(part) && why.contains("?table=NAME"), "{why}");
            }
        }
    }
}
