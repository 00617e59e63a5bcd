//! PostgreSQL.
//!
//! Which columns an UPDATE names is known to a trigger only by its `OF`: the first of two triggers fires for an
//! UPDATE that names the token, and turns it below zero; the second fires always, refuses what is not below zero,
//! and turns it back. PostgreSQL fires them in the order of their names.

use super::{Fence, Why};

pub fn migration(fence: &Fence) -> String {
    let table = fence.names.table();
    let (key, token) = (&fence.key, &fence.token);
    let marks = fence.names.made("marks");
    let (named, check) = (fence.names.made("named"), fence.names.made("check"));
    let (named_trigger, check_trigger) = (fence.names.trigger("1_named"), fence.names.trigger("2_check"));
    let (stale, missing) = (fence.says(Why::Stale), fence.says(Why::Missing));
    let (changed, no_key) = (fence.says(Why::KeyChanged), fence.says(Why::NoKey));
    let mut text = format!(
        r#"BEGIN;
LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE;

-- The greatest token of each key. It outlives the key's row.
CREATE TABLE {marks} AS
  SELECT {key} AS "key", max({token})::bigint AS "token" FROM {table} WHERE {token} IS NOT NULL GROUP BY {key};
ALTER TABLE {marks} ADD PRIMARY KEY ("key"), ALTER COLUMN "token" SET NOT NULL;

-- An UPDATE that names the token: shown to the next trigger by a value below zero.
CREATE FUNCTION {named}() RETURNS trigger LANGUAGE plpgsql AS $fence$
BEGIN
  IF NEW.{token} < 0 THEN
    RAISE EXCEPTION USING ERRCODE = 'LP024', MESSAGE = {missing};
  END IF;
  NEW.{token} := -1 - NEW.{token};
  RETURN NEW;
END $fence$;

CREATE FUNCTION {check}() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $fence$
DECLARE
  seen bigint;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF NEW.{key} IS DISTINCT FROM OLD.{key} THEN
      RAISE EXCEPTION USING ERRCODE = 'LP024', MESSAGE = {changed};
    END IF;
    IF NEW.{token} >= 0 THEN
      RAISE EXCEPTION USING ERRCODE = 'LP024', MESSAGE = {missing};
    END IF;
    NEW.{token} := -1 - NEW.{token};
  END IF;
  IF NEW.{token} IS NULL OR NEW.{token} < 0 THEN
    RAISE EXCEPTION USING ERRCODE = 'LP024', MESSAGE = {missing};
  END IF;
  IF NEW.{key} IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'LP024', MESSAGE = {no_key};
  END IF;
  -- The mark's row stays locked until this transaction ends: a write of the same key waits here.
  INSERT INTO {marks} AS mark ("key", "token") VALUES (NEW.{key}, NEW.{token})
    ON CONFLICT ("key") DO UPDATE SET "token" = greatest(mark."token", EXCLUDED."token")
    RETURNING mark."token" INTO seen;
  IF NEW.{token} < seen THEN
    RAISE EXCEPTION USING ERRCODE = 'LP002', MESSAGE = {stale},
      DETAIL = format('the token is %s, the greatest is %s', NEW.{token}, seen);
  END IF;
  RETURN NEW;
END $fence$;

CREATE TRIGGER {named_trigger} BEFORE UPDATE OF {token} ON {table} FOR EACH ROW EXECUTE FUNCTION {named}();
CREATE TRIGGER {check_trigger} BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION {check}();
"#
    );
    if !fence.deletes {
        let (refuse, trigger) = (fence.names.made("delete"), fence.names.trigger("delete"));
        let truncate = fence.names.trigger("truncate");
        let deleted = fence.says(Why::Deleted);
        text.push_str(&format!(
            r#"
CREATE FUNCTION {refuse}() RETURNS trigger LANGUAGE plpgsql AS $fence$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'LP024', MESSAGE = {deleted};
END $fence$;
CREATE TRIGGER {trigger} BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {refuse}();
CREATE TRIGGER {truncate} BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {refuse}();
"#
        ));
    }
    text.push_str("COMMIT;\n");
    text
}

pub fn undo(fence: &Fence) -> String {
    let table = fence.names.table();
    let mut text = "BEGIN;\n".to_owned();
    for what in ["1_named", "2_check", "delete", "truncate"] {
        let trigger = fence.names.trigger(what);
        text.push_str(&format!("DROP TRIGGER IF EXISTS {trigger} ON {table};\n"));
    }
    for what in ["named", "check", "delete"] {
        let function = fence.names.made(what);
        text.push_str(&format!("DROP FUNCTION IF EXISTS {function}();\n"));
    }
    text.push_str(&format!(
        "DROP TABLE IF EXISTS {};\nCOMMIT;\n",
        fence.names.made("marks")
    ));
    text
}
