//! One table of statements, the same on every database.

use crate::database::{Database, Session, all};

const TABLE: &str = "CREATE TABLE accounts (id varchar(40) PRIMARY KEY, v varchar(40), token bigint)";

/// A statement, and a word of the refusal; none where it passes.
type Step = (&'static str, Option<&'static str>);

const STALE: Option<&str> = Some("stale fencing token");
const MISSING: Option<&str> = Some("no fencing token");

const STEPS: &[Step] = &[
    // A row from before the migration had token 7.
    ("UPDATE accounts SET v = 'older', token = 6 WHERE id = 'old'", STALE),
    ("UPDATE accounts SET v = 'same', token = 7 WHERE id = 'old'", None),
    // One from before it without any.
    ("UPDATE accounts SET v = 'first', token = 0 WHERE id = 'none'", None),
    ("INSERT INTO accounts (id, v, token) VALUES ('a', 'v5', 5)", None),
    ("UPDATE accounts SET v = 'v4', token = 4 WHERE id = 'a'", STALE),
    ("UPDATE accounts SET v = 'v5 again', token = 5 WHERE id = 'a'", None),
    ("UPDATE accounts SET v = 'v10', token = 10 WHERE id = 'a'", None),
    // As text, 9 would be the greater one.
    ("UPDATE accounts SET v = 'v9', token = 9 WHERE id = 'a'", STALE),
    ("UPDATE accounts SET v = 'v5 late', token = 5 WHERE id = 'a'", STALE),
    // Names no token: it would pass with the row's own.
    ("UPDATE accounts SET v = 'unnamed' WHERE id = 'a'", MISSING),
    ("UPDATE accounts SET v = 'null', token = NULL WHERE id = 'a'", MISSING),
    ("UPDATE accounts SET v = 'below', token = -1 WHERE id = 'a'", MISSING),
    ("UPDATE accounts SET v = 'below', token = -11 WHERE id = 'a'", MISSING),
    ("INSERT INTO accounts (id, v) VALUES ('b', 'unnamed')", MISSING),
    ("INSERT INTO accounts (id, v, token) VALUES ('b', 'below', -1)", MISSING),
    (
        "UPDATE accounts SET id = 'c', token = 11 WHERE id = 'a'",
        Some("can not be changed"),
    ),
    // What was refused did not raise the mark, either.
    ("UPDATE accounts SET v = 'v10 again', token = 10 WHERE id = 'a'", None),
    // All rows or none.
    ("INSERT INTO accounts (id, v, token) VALUES ('b', 'v20', 20)", None),
    (
        "UPDATE accounts SET v = 'both', token = 11 WHERE id IN ('a', 'b')",
        STALE,
    ),
    ("UPDATE accounts SET v = 'v10 still', token = 10 WHERE id = 'a'", None),
    (
        "UPDATE accounts SET v = 'greatest', token = 9223372036854775807 WHERE id = 'b'",
        None,
    ),
    (
        "UPDATE accounts SET v = 'one less', token = 9223372036854775806 WHERE id = 'b'",
        STALE,
    ),
];

fn begin(database: &Database, deletes: bool) -> Session {
    let mut session = database.session();
    let name = database.name();
    session.run(TABLE).unwrap_or_else(|why| panic!("{name}: {why}"));
    session
        .run("INSERT INTO accounts VALUES ('old', 'before', 7), ('none', 'before', NULL)")
        .expect("unfenced");
    session
        .run(&database.fence(deletes).migration())
        .unwrap_or_else(|why| panic!("{name}: {why}"));
    session
}

fn step(name: &str, session: &mut Session, (statement, refused): Step) {
    let got = session.run(statement);
    match refused {
        None => assert!(got.is_ok(), "{name}: {statement}: {got:?}"),
        Some(word) => {
            let why = got.expect_err(&format!("{name}: {statement}"));
            assert!(why.contains(word), "{name}: {statement}: {why}");
        }
    }
}

#[test]
fn each_statement_on_each_database() {
    for database in all("each_statement_on_each_database") {
        let name = database.name();
        let mut session = begin(&database, false);
        for it in STEPS {
            step(name, &mut session, *it);
        }
        step(
            name,
            &mut session,
            ("DELETE FROM accounts WHERE id = 'a'", Some("carries no fencing token")),
        );
        for (id, v) in [
            ("old", "same"),
            ("none", "first"),
            ("a", "v10 still"),
            ("b", "greatest"),
        ] {
            let got = session.run(&format!("SELECT v FROM accounts WHERE id = '{id}'"));
            assert_eq!(got.as_deref(), Ok(v), "{name}: {id}");
        }
    }
}

/// A row that is deleted and made again has its old mark.
#[test]
fn a_new_row_has_the_old_mark() {
    for database in all("a_new_row_has_the_old_mark") {
        let name = database.name();
        let mut session = begin(&database, true);
        for it in [
            ("DELETE FROM accounts WHERE id = 'old'", None),
            ("INSERT INTO accounts (id, v, token) VALUES ('old', 'back', 6)", STALE),
            ("INSERT INTO accounts (id, v, token) VALUES ('old', 'back', 7)", None),
        ] {
            step(name, &mut session, it);
        }
    }
}

/// The undo takes all of it back, and the migration can be applied again: with the rows' own tokens.
#[test]
fn undone_and_done_again() {
    for database in all("undone_and_done_again") {
        let name = database.name();
        let mut session = begin(&database, false);
        step(
            name,
            &mut session,
            ("UPDATE accounts SET v = 'x', token = 9 WHERE id = 'old'", None),
        );
        session
            .run(&database.fence(false).undo())
            .unwrap_or_else(|why| panic!("{name}: {why}"));
        for it in [
            ("UPDATE accounts SET v = 'free' WHERE id = 'old'", None),
            ("DELETE FROM accounts WHERE id = 'none'", None),
        ] {
            step(name, &mut session, it);
        }
        session
            .run(&database.fence(false).migration())
            .unwrap_or_else(|why| panic!("{name}: {why}"));
        step(
            name,
            &mut session,
            ("UPDATE accounts SET v = 'y', token = 8 WHERE id = 'old'", STALE),
        );
        step(
            name,
            &mut session,
            ("UPDATE accounts SET v = 'y', token = 9 WHERE id = 'old'", None),
        );
    }
}

/// SQLite compares as the guarded column does: what is one row to the table has one mark.
#[test]
fn keys_are_compared_as_the_column_does() {
    for database in all("keys_are_compared_as_the_column_does") {
        let (Database::SqliteCommand(_) | Database::SqliteLibrary(_)) = database else {
            continue;
        };
        let name = database.name();
        for (collation, other) in [("NOCASE", "ABC"), ("RTRIM", "abc  ")] {
            let mut session = database.session();
            for statement in [
                "DROP TABLE IF EXISTS accounts; DROP TABLE IF EXISTS accounts_fence_marks",
                &format!("CREATE TABLE accounts (id text COLLATE {collation} PRIMARY KEY, v text, token integer)"),
                &database.fence(false).migration(),
            ] {
                session.run(statement).unwrap_or_else(|why| panic!("{name}: {why}"));
            }
            step(
                name,
                &mut session,
                ("INSERT INTO accounts VALUES ('abc', 'new', 10)", None),
            );
            for statement in [
                format!("INSERT OR REPLACE INTO accounts VALUES ('{other}', 'STALE', 3)"),
                format!("UPDATE accounts SET v = 'STALE', token = 3 WHERE id = '{other}'"),
                format!("UPDATE accounts SET id = '{other}', v = 'STALE', token = 9"),
            ] {
                let why = session.run(&statement).expect_err(&format!("{name}: {statement}"));
                assert!(why.contains("stale fencing token"), "{name}: {statement}: {why}");
            }
            let replaced = session.run(&format!(
                "INSERT OR REPLACE INTO accounts VALUES ('{other}', 'newer', 11)"
            ));
            assert!(replaced.is_ok(), "{name}: {replaced:?}");
            step(
                name,
                &mut session,
                ("INSERT OR REPLACE INTO accounts VALUES ('abc', 'x', 10)", STALE),
            );
            let got = session.run("SELECT v FROM accounts");
            assert_eq!(got.as_deref(), Ok("newer"), "{name} {collation}");
            // None of them is searched through.
            let plan =
                "SELECT count(*) || '' FROM sqlite_master WHERE type = 'index' AND tbl_name = 'accounts_fence_marks'";
            assert_eq!(session.run(plan).as_deref(), Ok("3"), "{name}");
        }
    }
}

/// A REPLACE that deletes the row of another key passes by SQLite's trigger, unless it is told to fire for that.
#[test]
fn a_replaced_row_of_another_key() {
    for database in all("a_replaced_row_of_another_key") {
        let (Database::SqliteCommand(_) | Database::SqliteLibrary(_)) = database else {
            continue;
        };
        let name = database.name();
        let mut session = database.session();
        for statement in [
            "CREATE TABLE accounts (id text PRIMARY KEY, mail text UNIQUE, token integer)",
            &database.fence(false).migration(),
            "INSERT INTO accounts VALUES ('a', 'm', 10)",
            "INSERT INTO accounts VALUES ('b', 'n', 1)",
            "PRAGMA recursive_triggers = ON",
        ] {
            session.run(statement).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
        let deletes = Some("carries no fencing token");
        let replaces = "INSERT OR REPLACE INTO accounts VALUES ('c', 'm', 1)";
        for it in [
            (replaces, deletes),
            (
                "UPDATE OR REPLACE accounts SET mail = 'm', token = 1 WHERE id = 'b'",
                deletes,
            ),
            ("INSERT OR REPLACE INTO accounts VALUES ('b', 'n', 2)", deletes),
            (
                "INSERT INTO accounts VALUES ('b', 'n', 3) ON CONFLICT (id) DO UPDATE SET token = excluded.token",
                None,
            ),
            // What the migration says in its words.
            ("PRAGMA recursive_triggers = OFF", None),
            (replaces, None),
        ] {
            step(name, &mut session, it);
        }
        let left = "SELECT group_concat(id) FROM (SELECT id FROM accounts ORDER BY id)";
        assert_eq!(session.run(left).as_deref(), Ok("b,c"), "{name}");
        assert!(database.fence(false).migration().contains("PRAGMA recursive_triggers"));
    }
}

/// Other ways to write a row.
#[test]
fn upserts() {
    const UPSERTS: &[(&str, &[Step])] = &[
        (
            "postgres",
            &[
                (
                    "INSERT INTO accounts VALUES ('old', 'up', 6) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v, token = EXCLUDED.token",
                    STALE,
                ),
                (
                    "INSERT INTO accounts VALUES ('old', 'up', 8) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v",
                    MISSING,
                ),
                (
                    "INSERT INTO accounts VALUES ('old', 'up', 8) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v, token = EXCLUDED.token",
                    None,
                ),
                ("TRUNCATE accounts", Some("carries no fencing token")),
            ],
        ),
        (
            "sqlite",
            &[
                ("INSERT OR REPLACE INTO accounts VALUES ('old', 'up', 6)", STALE),
                ("INSERT OR ROLLBACK INTO accounts VALUES ('new', 'up', 8)", None),
                ("INSERT OR REPLACE INTO accounts VALUES ('old', 'up', 8)", None),
                ("INSERT OR REPLACE INTO accounts VALUES ('old', 'up', 7)", STALE),
                (
                    "UPDATE OR IGNORE accounts SET v = 'x', token = 7 WHERE id = 'old'",
                    STALE,
                ),
                (
                    "UPDATE OR REPLACE accounts SET v = 'x', token = 7 WHERE id = 'old'",
                    STALE,
                ),
                (
                    "INSERT INTO accounts VALUES ('old', 'up', 7) ON CONFLICT (id) DO UPDATE SET v = excluded.v, token = excluded.token",
                    STALE,
                ),
                (
                    "INSERT INTO accounts VALUES ('old', 'up', 9) ON CONFLICT (id) DO UPDATE SET v = excluded.v, token = excluded.token",
                    None,
                ),
                (
                    "UPDATE accounts SET v = 'text', token = 'ten' WHERE id = 'old'",
                    MISSING,
                ),
            ],
        ),
        (
            "mariadb",
            &[
                ("REPLACE INTO accounts VALUES ('old', 'up', 6)", STALE),
                (
                    "INSERT INTO accounts VALUES ('old', 'up', 6) ON DUPLICATE KEY UPDATE v = 'up', token = 6",
                    STALE,
                ),
                (
                    "INSERT INTO accounts VALUES ('old', 'up', 8) ON DUPLICATE KEY UPDATE v = 'up'",
                    MISSING,
                ),
                (
                    "INSERT INTO accounts VALUES ('old', 'up', 8) ON DUPLICATE KEY UPDATE v = 'up', token = 8",
                    None,
                ),
                ("UPDATE IGNORE accounts SET v = 'x', token = 7 WHERE id = 'old'", STALE),
                // One key to the database's own comparison.
                (
                    "INSERT INTO accounts VALUES ('OLD', 'up', 1) ON DUPLICATE KEY UPDATE v = 'x', token = 1",
                    STALE,
                ),
            ],
        ),
    ];
    for database in all("upserts") {
        let name = database.name();
        let mut session = begin(&database, false);
        let own = UPSERTS
            .iter()
            .find(|(of, _)| name.starts_with(of))
            .map_or(&[][..], |(_, steps)| steps);
        assert!(!own.is_empty(), "{name}");
        for it in own {
            step(name, &mut session, *it);
        }
    }
}
