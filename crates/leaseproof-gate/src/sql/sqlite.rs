//! SQLite.
//!
//! A trigger here can't change the row, but it sees which columns an UPDATE names by its `OF`: the one before the
//! UPDATE of the token notes that at the mark, and the one after any UPDATE asks for the note and takes it away.
//! SQLite fires both for one row before it goes to the next.
//!
//! Keys are compared with the guarded column on the left: its collation decides then, whatever it is, so that two
//! spellings that are one row to the table have one mark.

use super::{Fence, Why};

pub fn migration(fence: &Fence) -> String {
    let table = fence.names.table();
    let (key, token) = (&fence.key, &fence.token);
    let marks = fence.names.made("marks");
    // An index and a trigger take their schema from their own names, and allow none within.
    let (bare, bare_table) = (fence.names.made_bare("marks"), fence.names.table_bare());
    let (nocase, rtrim) = (fence.names.made("marks_nocase"), fence.names.made("marks_rtrim"));
    let (insert, named, update) = (
        fence.names.trigger("insert"),
        fence.names.trigger("named"),
        fence.names.trigger("update"),
    );
    let (stale, missing) = (fence.says(Why::Stale), fence.says(Why::Missing));
    let (changed, no_key) = (fence.says(Why::KeyChanged), fence.says(Why::NoKey));
    let mut text = format!(
        r#"BEGIN IMMEDIATE;

-- The greatest token of each key. It outlives the key's row.
CREATE TABLE {marks} (
  "key" NOT NULL PRIMARY KEY,
  "token" INTEGER NOT NULL,
  "named" INTEGER NOT NULL DEFAULT 0
);
-- Found without a search through all of them, whichever of SQLite's own collations the column has.
CREATE INDEX {nocase} ON {bare} ("key" COLLATE NOCASE);
CREATE INDEX {rtrim} ON {bare} ("key" COLLATE RTRIM);
INSERT INTO {marks} ("key", "token")
  SELECT {key}, max({token}) FROM {table} WHERE {token} IS NOT NULL AND {key} IS NOT NULL GROUP BY {key};

CREATE TRIGGER {insert} AFTER INSERT ON {bare_table} BEGIN
  SELECT CASE
    WHEN NEW.{key} IS NULL THEN RAISE(ABORT, {no_key})
    WHEN typeof(NEW.{token}) <> 'integer' OR NEW.{token} < 0 THEN RAISE(ABORT, {missing})
    WHEN NEW.{token} < (SELECT "token" FROM {bare} WHERE NEW.{key} = "key") THEN RAISE(ABORT, {stale})
  END;
  INSERT INTO {bare} ("key", "token")
    SELECT NEW.{key}, NEW.{token} WHERE NOT EXISTS (SELECT 1 FROM {bare} WHERE NEW.{key} = "key");
  UPDATE {bare} SET "token" = NEW.{token} WHERE NEW.{key} = "key";
END;

CREATE TRIGGER {named} BEFORE UPDATE OF {token} ON {bare_table} BEGIN
  INSERT INTO {bare} ("key", "token")
    SELECT OLD.{key}, 0 WHERE NOT EXISTS (SELECT 1 FROM {bare} WHERE OLD.{key} = "key");
  UPDATE {bare} SET "named" = 1 WHERE OLD.{key} = "key";
END;

CREATE TRIGGER {update} AFTER UPDATE ON {bare_table} BEGIN
  SELECT CASE
    WHEN NEW.{key} IS NOT OLD.{key} THEN RAISE(ABORT, {changed})
    WHEN NOT EXISTS (SELECT 1 FROM {bare} WHERE OLD.{key} = "key" AND "named" = 1) THEN RAISE(ABORT, {missing})
    WHEN typeof(NEW.{token}) <> 'integer' OR NEW.{token} < 0 THEN RAISE(ABORT, {missing})
    WHEN NEW.{token} < (SELECT "token" FROM {bare} WHERE NEW.{key} = "key") THEN RAISE(ABORT, {stale})
  END;
  UPDATE {bare} SET "token" = NEW.{token}, "named" = 0 WHERE NEW.{key} = "key";
END;
"#
    );
    if !fence.deletes {
        let trigger = fence.names.trigger("delete");
        let deleted = fence.says(Why::Deleted);
        text.push_str(REPLACES);
        text.push_str(&format!(
            "CREATE TRIGGER {trigger} BEFORE DELETE ON {bare_table} BEGIN\n  SELECT RAISE(ABORT, {deleted});\nEND;\n"
        ));
    }
    text.push_str("COMMIT;\n");
    text
}

/// What no trigger here can see, said where whoever applies it reads it.
const REPLACES: &str = "
-- INSERT OR REPLACE and UPDATE OR REPLACE delete the rows that stand in their way. Where the table has a UNIQUE column
-- besides the key that may be the row of another key, whose mark is not asked, and this trigger fires for it only in a
-- connection that has said PRAGMA recursive_triggers = ON; say so in each one that writes. It then refuses any REPLACE
-- that deletes a row: INSERT ... ON CONFLICT (key) DO UPDATE takes its place.
";

pub fn undo(fence: &Fence) -> String {
    let mut text = "BEGIN IMMEDIATE;\n".to_owned();
    for what in ["insert", "named", "update", "delete"] {
        text.push_str(&format!("DROP TRIGGER IF EXISTS {};\n", fence.names.trigger(what)));
    }
    text.push_str(&format!(
        "DROP TABLE IF EXISTS {};\nCOMMIT;\n",
        fence.names.made("marks")
    ));
    text
}
