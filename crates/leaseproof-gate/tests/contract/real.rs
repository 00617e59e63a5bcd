//! Real resources with the fences that this crate makes, and without them.

use crate::mariadb_server::MariadbServer;
use crate::postgres_server::{PostgresServer, skip};
use crate::redis_server::RedisServer;
use crate::{LONG, asked, faults, key};
use leaseproof_gate::contract::command::CommandTarget;
use leaseproof_gate::contract::redis::{FUNCTION, GET, RedisTarget, words};
use leaseproof_gate::contract::sql::{SqlPlace, SqlTarget};
use leaseproof_gate::contract::{Report, Template};
use leaseproof_gate::redis::library;
use leaseproof_gate::sql::{Dialect, Fence};
use leaseproof_model::verdict::Verdict;
use std::io::Write as _;
use std::process::Stdio;

const TABLE: &str = "CREATE TABLE accounts (id varchar(80) PRIMARY KEY, v varchar(80), token bigint);\n";
const UPDATE: &str = "UPDATE accounts SET v = '{value}', token = {token} WHERE id = '{key}'";
/// A fence of the statement's own, without a trigger.
const CONDITION: &str = "UPDATE accounts SET v = '{value}', token = {token} WHERE id = '{key}' AND token <= {token}";
const READ: &str = "SELECT v FROM accounts WHERE id = '{key}'";

fn row(key: &str) -> String {
    format!("INSERT INTO accounts VALUES ('{key}', 'first', 0);\n")
}

fn fence(dialect: Dialect) -> String {
    Fence::new(dialect, "accounts", "id", "token", false)
        .expect("names")
        .migration()
}

fn sql(place: &SqlPlace, write: &str, key: &str) -> Report {
    let target = SqlTarget {
        place: place.clone(),
        write: Template::new(write, key),
        read: Some(Template::new(READ, key)),
        patience: LONG,
    };
    asked(&target, key, Some("true".to_owned()))
}

/// Unfenced it is violated; with the condition in the statement, or with the migration, it is proven.
fn in_three_ways(what: &str, mut apply: impl FnMut(&str), ask: impl Fn(&str, &str) -> Report, dialect: Dialect) {
    apply(TABLE);
    for (write, fenced, verdict) in [
        (UPDATE, false, Verdict::Violated),
        (CONDITION, false, Verdict::Proven),
        (UPDATE, true, Verdict::Proven),
    ] {
        let key = key();
        if fenced {
            apply(&fence(dialect));
        }
        apply(&row(&key));
        let report = ask(write, &key);
        assert_eq!(
            report.verdict,
            verdict,
            "{what}: {write}, fenced {fenced}: {}",
            report.text()
        );
    }
}

#[test]
fn sqlite() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("db");
    let connection = rusqlite::Connection::open(&path).expect("opens");
    let place = SqlPlace::Sqlite(path);
    in_three_ways(
        "sqlite",
        |text| connection.execute_batch(text).expect("applies"),
        |write, key| sql(&place, write, key),
        Dialect::Sqlite,
    );
}

#[cfg(feature = "postgres")]
#[test]
fn postgres() {
    let server = match PostgresServer::start() {
        Ok(server) => server,
        Err(why) => return skip("postgres", &why),
    };
    let place = SqlPlace::Postgres(server.url());
    in_three_ways(
        "postgres",
        |text| drop(server.psql(text)),
        |write, key| sql(&place, write, key),
        Dialect::Postgres,
    );
}

#[cfg(feature = "mysql")]
fn mariadb_url(server: &MariadbServer) -> String {
    format!("mysql://root@localhost/test?socket={}", server.socket().display())
}

#[cfg(feature = "mysql")]
fn apply_to(server: &MariadbServer, text: &str) {
    let mut child = server
        .client()
        .arg("test")
        .stdin(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    assert!(child.wait().expect("it ends").success(), "{text}");
}

#[cfg(feature = "mysql")]
#[test]
fn mariadb() {
    let mut server = match MariadbServer::start() {
        Ok(server) => server,
        Err(why) => return skip("mariadb", &why),
    };
    let place: SqlPlace = mariadb_url(&server).parse().expect("a URL");
    in_three_ways(
        "mariadb",
        |text| apply_to(&server, text),
        |write, key| sql(&place, write, key),
        Dialect::Mysql,
    );
    // The fence is there now. What is no answer to the question of the token is none:
    for (write, what) in [
        ("UPDATE nowhere SET v = '{value}', token = {token}", "no table"),
        ("UPDATE accounts SET v = '{value}' token = {token}", "no statement"),
    ] {
        let key = key();
        apply_to(&server, &row(&key));
        let report = sql(&place, write, &key);
        assert_eq!(report.verdict, Verdict::CannotTell, "{what}: {}", report.text());
    }
    // A statement that names no token is refused from the first on, so that nothing can be told.
    let nameless = sql(&place, "UPDATE accounts SET v = '{value}' WHERE {token} > 0", &key());
    assert_eq!(nameless.verdict, Verdict::CannotTell, "{}", nameless.text());
    // Killed, it remembers; and a server that is gone is no fence.
    server.kill_and_start();
    let stays = key();
    apply_to(&server, &row(&stays));
    let report = sql(&place, UPDATE, &stays);
    assert_eq!(report.verdict, Verdict::Proven, "{}", report.text());
    drop(server);
    let gone = sql(&place, UPDATE, &stays);
    assert_eq!(gone.verdict, Verdict::CannotTell, "{}", gone.text());
}

/// Fences that somebody wrote by hand, each broken in a way of its own.
#[cfg(feature = "mysql")]
#[test]
fn mariadb_with_a_fence_that_is_broken() {
    let server = match MariadbServer::start() {
        Ok(server) => server,
        Err(why) => return skip("mariadb_with_a_fence_that_is_broken", &why),
    };
    let place: SqlPlace = mariadb_url(&server).parse().expect("a URL");
    let trigger = |condition: &str| {
        format!(
            "DELIMITER //\nCREATE OR REPLACE TRIGGER by_hand BEFORE UPDATE ON accounts FOR EACH ROW \
             IF {condition} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'stale'; END IF//\nDELIMITER ;\n"
        )
    };
    apply_to(&server, TABLE);
    for (condition, fault) in [
        ("OLD.token <> 0 AND NEW.token <> OLD.token", "greater-accepted LP026"),
        (
            "CAST(NEW.token AS CHAR) < CAST(OLD.token AS CHAR)",
            "numbers-not-text LP026",
        ),
        ("NEW.token * 1e0 < OLD.token * 1e0", "exact-numbers LP002"),
        ("OLD.token <> 0 AND NEW.token <= OLD.token", "same-accepted LP026"),
    ] {
        let key = key();
        apply_to(&server, &trigger(condition));
        apply_to(&server, &row(&key));
        let report = sql(&place, UPDATE, &key);
        assert_eq!(report.verdict, Verdict::Violated, "{condition}: {}", report.text());
        assert!(
            faults(&report).iter().any(|it| it == fault),
            "{condition}: {}",
            report.text()
        );
    }
}

#[test]
fn mariadb_by_its_own_client() {
    let server = match MariadbServer::start() {
        Ok(server) => server,
        Err(why) => return skip("mariadb_by_its_own_client", &why),
    };
    let client = server.client();
    let words: Vec<String> = [client.get_program()]
        .into_iter()
        .chain(client.get_args())
        .map(|word| format!("'{}'", word.to_str().expect("text")))
        .collect();
    let client = format!("{} --skip-column-names --silent test", words.join(" "));
    let apply = |text: &str| {
        let mut child = server
            .client()
            .arg("test")
            .stdin(Stdio::piped())
            .spawn()
            .expect("it runs");
        child
            .stdin
            .take()
            .expect("its input")
            .write_all(text.as_bytes())
            .expect("it reads");
        assert!(child.wait().expect("it ends").success(), "{text}");
    };
    let ask = |write: &str, key: &str| {
        // The statement's own condition shows in the count of rows only.
        let write = if write == CONDITION {
            format!("{client} -e \"{write}; SELECT ROW_COUNT()\" | grep -q -v '^0$'")
        } else {
            format!("{client} -e \"{write}\"")
        };
        let target = CommandTarget {
            write: Template::new(&write, key),
            read: Some(Template::new(&format!("{client} -e \"{READ}\""), key)),
        };
        asked(&target, key, Some("true".to_owned()))
    };
    in_three_ways("mariadb", apply, ask, Dialect::Mysql);
}

#[test]
fn redis() {
    let mut server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return skip("redis", &why),
    };
    server.cli(&["FUNCTION", "LOAD", "REPLACE", &library()]);
    let ask = |server: &RedisServer, command: &str, restart: &str| {
        let key = key();
        let target = RedisTarget {
            url: server.url(),
            command: words(command, &key),
            read: Some(words(GET, &key)),
            patience: LONG,
        };
        asked(&target, &key, Some(restart.to_owned()))
    };
    let fenced = ask(&server, FUNCTION, "true");
    assert_eq!(fenced.verdict, Verdict::Proven, "{}", fenced.text());
    let bare = ask(&server, "SET {key} {value}", "true");
    assert_eq!(bare.verdict, Verdict::Violated, "{}", bare.text());
    // A server that keeps nothing on disk: the functions come again, the marks don't.
    let flush = format!(
        "{} -p {} FLUSHALL",
        std::env::var("LEASEPROOF_REDIS_CLI").unwrap_or("redis-cli".to_owned()),
        server.port()
    );
    let forgotten = ask(&server, FUNCTION, &flush);
    assert_eq!(faults(&forgotten), ["restart-remembered LP002"], "{}", forgotten.text());
    server.kill();
    let gone = ask(&server, FUNCTION, "true");
    assert_eq!(gone.verdict, Verdict::CannotTell, "{}", gone.text());
}
