//! A table of an attached SQLite database, `SCHEMA.TABLE`: there a trigger takes no schema within itself.

use leaseproof_gate::sql::{Dialect, Fence};
use rusqlite::Connection;

#[test]
fn an_attached_table_is_fenced_ok() {
    for deletes in [false, true] {
        let dir = tempfile::tempdir().expect("a folder");
        let open = || {
            let connection = Connection::open(dir.path().join("main.db")).expect("opens");
            let file = dir.path().join("side.db");
            let attach = format!("ATTACH '{}' AS side", file.display());
            connection.execute_batch(&attach).expect("attaches");
            connection
        };
        let connection = open();
        let table = "CREATE TABLE side.accounts (id TEXT PRIMARY KEY, v INTEGER, token INTEGER);
                     CREATE TABLE main.accounts (id TEXT PRIMARY KEY, v INTEGER, token INTEGER);
                     INSERT INTO side.accounts VALUES ('a', 1, 5);";
        connection.execute_batch(table).expect("tables");
        let fence = Fence::new(Dialect::Sqlite, "side.accounts", "id", "token", deletes).expect("names");
        connection.execute_batch(&fence.migration()).expect("the migration");
        // Whoever opens the file by itself meets the same fence.
        let alone = Connection::open(dir.path().join("side.db")).expect("opens");
        for (connection, table) in [
            (&connection, "side.accounts"),
            (&open(), "side.accounts"),
            (&alone, "accounts"),
        ] {
            let update = |token: u64| connection.execute(&format!("UPDATE {table} SET v = v + 1, token = {token}"), []);
            let says = update(4).expect_err("a stale token").to_string();
            assert!(says.contains("stale fencing token"), "{says}");
            update(5).expect("the same token");
            let unnamed = connection.execute(&format!("UPDATE {table} SET v = 0"), []);
            assert!(unnamed.expect_err("no token").to_string().contains("no fencing token"));
            let insert = format!("INSERT INTO {table} VALUES ('a', 1, 4) ON CONFLICT (id) DO UPDATE SET token = 4");
            assert!(connection.execute(&insert, []).is_err());
            let delete = connection.execute(&format!("DELETE FROM {table} WHERE id = 'z' OR v < 0"), []);
            assert_eq!(delete.expect("no row"), 0);
        }
        let delete = connection.execute("DELETE FROM side.accounts", []);
        assert_eq!(delete.is_ok(), deletes);
        connection
            .execute("INSERT INTO main.accounts VALUES ('a', 1, 1)", [])
            .expect("the other table is free");
        connection.execute_batch(&fence.undo()).expect("undone");
        connection
            .execute("INSERT INTO side.accounts (id) VALUES ('b')", [])
            .expect("free again");
    }
}
