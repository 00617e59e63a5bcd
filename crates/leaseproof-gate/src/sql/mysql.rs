//! MySQL and MariaDB.
//!
//! No trigger here sees which columns an UPDATE names. So the token's column is a letter box: a write puts its token
//! in, the trigger checks it and empties it again, and an UPDATE that names none finds it empty. The tokens are in
//! the table of marks.

use super::{Fence, Why};

pub fn migration(fence: &Fence) -> String {
    let table = fence.names.table();
    let (key, token) = (&fence.key, &fence.token);
    let marks = fence.names.made("marks");
    let changed = fence.says(Why::KeyChanged);
    let check = check(fence, &marks);
    let (insert, update) = (fence.names.trigger("insert"), fence.names.trigger("update"));
    let mut text = format!(
        "-- Nobody may write to {table} while this runs: MySQL ends a transaction at each change of a table.
-- The greatest token of each key. It outlives the key's row.
CREATE TABLE {marks} ENGINE=InnoDB AS
  SELECT {key} AS `key`, MAX({token}) AS `token` FROM {table} WHERE {token} IS NOT NULL AND {key} IS NOT NULL GROUP BY {key};
ALTER TABLE {marks} MODIFY `token` BIGINT NOT NULL, ADD PRIMARY KEY (`key`);
-- From here on this column is empty, but while a write is checked.
UPDATE {table} SET {token} = NULL;

DELIMITER //
CREATE TRIGGER {insert} BEFORE INSERT ON {table} FOR EACH ROW
BEGIN
  DECLARE seen BIGINT;
{check}END//

CREATE TRIGGER {update} BEFORE UPDATE ON {table} FOR EACH ROW
BEGIN
  DECLARE seen BIGINT;
  IF NOT (NEW.{key} <=> OLD.{key}) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = {changed};
  END IF;
{check}END//
"
    );
    if !fence.deletes {
        let trigger = fence.names.trigger("delete");
        let deleted = fence.says(Why::Deleted);
        text.push_str(&format!(
            "\nCREATE TRIGGER {trigger} BEFORE DELETE ON {table} FOR EACH ROW\nBEGIN\n  SIGNAL SQLSTATE '45000' SET \
             MESSAGE_TEXT = {deleted};\nEND//\n"
        ));
    }
    text.push_str("DELIMITER ;\n");
    text
}

/// What both triggers do with the token.
fn check(fence: &Fence, marks: &str) -> String {
    let (key, token) = (&fence.key, &fence.token);
    let (stale, missing, no_key) = (fence.says(Why::Stale), fence.says(Why::Missing), fence.says(Why::NoKey));
    format!(
        "  IF NEW.{token} IS NULL OR NEW.{token} < 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = {missing};
  END IF;
  IF NEW.{key} IS NULL THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = {no_key};
  END IF;
  -- The mark's row stays locked until this transaction ends: a write of the same key waits here.
  INSERT INTO {marks} (`key`, `token`) VALUES (NEW.{key}, NEW.{token})
    ON DUPLICATE KEY UPDATE `token` = GREATEST(`token`, VALUES(`token`));
  -- Without FOR UPDATE this would read the mark of the transaction's snapshot, and an old one passes.
  SELECT `token` INTO seen FROM {marks} WHERE `key` = NEW.{key} FOR UPDATE;
  IF NEW.{token} < seen THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = {stale};
  END IF;
  SET NEW.{token} = NULL;
"
    )
}

pub fn undo(fence: &Fence) -> String {
    let mut text = "-- The tokens go back to where they were, so that nothing is lost but the check.\n".to_owned();
    for what in ["insert", "update", "delete"] {
        text.push_str(&format!("DROP TRIGGER IF EXISTS {};\n", fence.names.trigger(what)));
    }
    let (table, marks) = (fence.names.table(), fence.names.made("marks"));
    let (key, token) = (&fence.key, &fence.token);
    text.push_str(&format!(
        "UPDATE {table} SET {token} = (SELECT `token` FROM {marks} WHERE `key` = {table}.{key});\nDROP TABLE IF EXISTS {marks};\n"
    ));
    text
}
