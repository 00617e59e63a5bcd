//! Two sessions at one key.

use crate::database::{Database, LONG, Session, all};
use std::time::Instant;

fn begin(database: &Database) -> Session {
    let mut session = database.session();
    let table = "CREATE TABLE accounts (id varchar(40) PRIMARY KEY, v varchar(40), token bigint)";
    session.run(table).expect("a table");
    session.run(&database.fence(false).migration()).expect("fenced");
    session
        .run("INSERT INTO accounts (id, v, token) VALUES ('a', 'first', 4)")
        .expect("the first token");
    session
}

/// How the database shows that a session waits for a lock; none where a whole file is locked at once.
fn waiting(database: &Database) -> Option<&'static str> {
    match database {
        Database::Postgres(_) => Some("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"),
        Database::Mariadb(_) => Some(
            "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS'",
        ),
        Database::SqliteCommand(_) | Database::SqliteLibrary(_) => None,
    }
}

fn value(session: &mut Session) -> String {
    session.run("SELECT v FROM accounts WHERE id = 'a'").expect("a value")
}

/// 5 is not committed yet: 6 waits for it, and is the last word. The other way round 5 is refused.
#[test]
fn the_greater_one_is_the_last() {
    for database in all("the_greater_one_is_the_last") {
        let Some(waiting) = waiting(&database) else { continue };
        let name = database.name();
        let mut look = begin(&database);
        for (first, second, refused) in [(5, 6, false), (8, 7, true)] {
            let (mut one, mut other) = (database.session(), database.session());
            let write = |token: u32| format!("UPDATE accounts SET v = 'by {token}', token = {token} WHERE id = 'a'");
            one.run("BEGIN").expect("begins");
            one.run(&write(first)).unwrap_or_else(|why| panic!("{name}: {why}"));
            other.client().start(&write(second));
            let until = Instant::now() + LONG;
            while look.run(waiting).expect("a count") != "1" {
                assert!(Instant::now() < until, "{name}: nobody waits");
            }
            one.run("COMMIT").expect("commits");
            let got = other.client().finish();
            assert_eq!(got.is_err(), refused, "{name}: {second} after {first}: {got:?}");
            assert_eq!(value(&mut look), format!("by {}", first.max(second)), "{name}");
        }
    }
}

/// A transaction that looked before the greater token came, and writes after it: its snapshot has the old mark.
#[test]
fn an_old_snapshot_does_not_help() {
    for database in all("an_old_snapshot_does_not_help") {
        let name = database.name();
        let mut other = begin(&database);
        let mut old = database.session();
        let start = match database {
            Database::Postgres(_) => "BEGIN ISOLATION LEVEL REPEATABLE READ",
            Database::Mariadb(_) => {
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT"
            }
            Database::SqliteCommand(_) | Database::SqliteLibrary(_) => "BEGIN",
        };
        if waiting(&database).is_none() {
            // A reader beside a writer needs the log mode.
            other.run("PRAGMA journal_mode = wal").expect("the log mode");
        }
        old.run(start).expect("begins");
        assert_eq!(value(&mut old), "first", "{name}");
        let got = other.run("UPDATE accounts SET v = 'by 6', token = 6 WHERE id = 'a'");
        assert!(got.is_ok(), "{name}: {got:?}");
        let late = old.run("UPDATE accounts SET v = 'by 5', token = 5 WHERE id = 'a'");
        assert!(late.is_err(), "{name}: {late:?}");
        let _ = old.run("ROLLBACK");
        assert_eq!(value(&mut other), "by 6", "{name}");
    }
}

/// The same for a row that is made anew: no lock on the row itself stands in the way.
#[test]
fn an_old_snapshot_does_not_help_a_new_row() {
    for database in all("an_old_snapshot_does_not_help_a_new_row") {
        let Database::Mariadb(_) = database else { continue };
        let mut other = begin(&database);
        other.run("CREATE TABLE other (x int)").expect("a table");
        let mut old = database.session();
        old.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT")
            .expect("begins");
        other
            .run("INSERT INTO accounts (id, v, token) VALUES ('b', 'by 9', 9)")
            .expect("a row");
        let late = old.run(
            "INSERT INTO accounts (id, v, token) VALUES ('b', 'by 8', 8) ON DUPLICATE KEY UPDATE v = 'by 8', token = 8",
        );
        assert!(late.as_ref().is_err_and(|why| why.contains("stale")), "{late:?}");
        let _ = old.run("ROLLBACK");
    }
}
