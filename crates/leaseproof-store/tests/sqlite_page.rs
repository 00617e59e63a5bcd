//! `docs/sqlite.md` is a contract: its table is ours, its statements work beside the adapter, and its
//! program prints what the page says.

use leaseproof_model::event::Outcome;
use leaseproof_model::name::Token;
use leaseproof_store::{Grant, Refusal, StoreUrl, open_administrator, open_lease, open_observer};
use rusqlite::types::Value;
use rusqlite::{Connection, ToSql};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const PAGE: &str = include_str!("../../../docs/sqlite.md");
const PATIENT: Duration = Duration::from_secs(20);
const LONG: Duration = Duration::from_secs(600);
const KEY: &str = "canary/page";

/// The page's blocks of one language.
fn blocks(language: &str) -> Vec<&'static str> {
    PAGE.split(&format!("```{language}\n"))
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect()
}

fn url(path: &Path) -> StoreUrl {
    format!("sqlite:{}", path.display()).parse().expect("a URL")
}

/// A foreign owner that knows nothing but the page.
struct Foreign {
    file: Connection,
    boot_id: String,
}

impl Foreign {
    /// Runs one of the page's statements, and says how many rows it changed.
    fn run(&self, statement: &str, holder: &str, incarnation: &str, token: u64) -> usize {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let values = [
            (":key", Value::Text(KEY.to_owned())),
            (":holder", Value::Text(holder.to_owned())),
            (":incarnation", Value::Text(incarnation.to_owned())),
            (":token", Value::Integer(token.try_into().expect("a small token"))),
            (":now", Value::Integer(now.tv_sec * 1_000_000_000 + now.tv_nsec)),
            (":ttl_ns", Value::Integer(600_000_000_000)),
            (":boot_id", Value::Text(self.boot_id.clone())),
        ];
        let used: Vec<(&str, &dyn ToSql)> = values
            .iter()
            .filter(|(name, _)| statement.contains(name))
            .map(|(name, value)| (*name, value as &dyn ToSql))
            .collect();
        self.file.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
        let changed = self.file.execute(statement, &used[..]).expect("the page's SQL");
        self.file.execute_batch("COMMIT").expect("a commit");
        changed
    }
}

#[test]
fn the_table_of_the_page_is_ours() {
    let schema = include_str!("../src/sqlite/schema.sql");
    assert_eq!(blocks("sql")[0], schema);
}

#[test]
fn the_statements_of_the_page_work_beside_ours() {
    let [_, acquire, renew, release] = blocks("sql")[..] else {
        panic!("the page has a table and three statements");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("locks.db");
    let url = url(&path);
    open_administrator(&url, PATIENT)
        .and_then(|mut lab| lab.prepare())
        .expect("it can be made");
    let foreign = Foreign {
        file: Connection::open(&path).expect("it opens"),
        boot_id: std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .expect("a boot id")
            .trim()
            .to_owned(),
    };
    let mut ours = open_lease(&url, PATIENT).expect("lazy");
    let mut observer = open_observer(&url, PATIENT).expect("it opens");

    // Our grant, by their statements.
    let grant = ours.acquire(KEY, "ours", LONG, PATIENT).value.expect("granted");
    let (name, incarnation) = grant.holder.as_str().split_once('#').expect("two parts");
    assert_eq!(foreign.run(acquire, "theirs", "f1", 0), 0, "it is held");
    assert_eq!(foreign.run(renew, name, "another", 1), 0);
    assert_eq!(foreign.run(renew, name, incarnation, 2), 0);
    assert_eq!(foreign.run(renew, name, incarnation, 1), 1);
    assert_eq!(foreign.run(release, name, "another", 1), 0);
    assert_eq!(foreign.run(release, name, incarnation, 1), 1);
    assert_eq!(ours.renew(&grant, LONG, PATIENT).refusal, Some(Refusal::Gone));

    // Their grant, by our hands.
    assert_eq!(foreign.run(acquire, "theirs", "f2", 0), 1);
    assert_eq!(ours.acquire(KEY, "ours", LONG, PATIENT).refusal, Some(Refusal::Held));
    let held = observer.read(KEY).expect("a reading").1.held.expect("held");
    assert_eq!((held.holder.as_str(), held.token), ("theirs#f2", Some(Token(2))));
    let theirs = Grant {
        key: KEY.to_owned(),
        holder: held.holder,
        token: Token(2),
    };
    assert_eq!(ours.renew(&theirs, LONG, PATIENT).outcome, Outcome::Applied);
    assert_eq!(ours.release(&theirs, PATIENT).outcome, Outcome::Applied);

    // Over, and of another boot: free for them, as for us.
    for ending in ["expires_boot_ns = 1", "boot_id = 'earlier'", "boot_id = NULL"] {
        let token = ours.acquire(KEY, "ours", LONG, PATIENT).value.expect("granted").token;
        foreign
            .file
            .execute(&format!("UPDATE lease SET {ending}"), [])
            .expect("plain SQL");
        assert_eq!(foreign.run(acquire, "theirs", "f3", 0), 1, "{ending}");
        assert_eq!(foreign.run(release, "theirs", "f3", token.0 + 1), 1, "{ending}");
    }
    // Held without an end is held.
    ours.acquire(KEY, "ours", LONG, PATIENT).value.expect("granted");
    foreign
        .file
        .execute("UPDATE lease SET expires_boot_ns = NULL", [])
        .expect("plain SQL");
    assert_eq!(foreign.run(acquire, "theirs", "f4", 0), 0);
}

#[test]
fn the_program_of_the_page_prints_what_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("owner.py");
    std::fs::write(&program, blocks("python")[0]).expect("a file");
    let python = std::env::var_os("LEASEPROOF_PYTHON").unwrap_or_else(|| "python3".into());
    let output = match Command::new(&python)
        .arg(&program)
        .arg("locks.db")
        .current_dir(&folder)
        .output()
    {
        Ok(output) => output,
        Err(why) => {
            // Straight to stderr: the harness captures what eprintln writes.
            let test = "the_program_of_the_page_prints_what_it_says";
            let _ = writeln!(std::io::stderr(), "skipped: {test}: python3: {why}");
            return;
        }
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(printed, blocks("text")[0]);
    // And the adapter reads the file that it left.
    let mut observer = open_observer(&url(&folder.path().join("locks.db")), PATIENT).expect("it opens");
    let reading = observer.read("canary/demo").expect("a reading").1;
    assert_eq!((reading.held, reading.counter), (None, Some(Token(2))));
}
