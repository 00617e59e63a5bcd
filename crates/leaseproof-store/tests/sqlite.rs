//! What only the embedded store does: files, boots, a writer that dies or freezes in its transaction.

use leaseproof_model::event::Outcome;
use leaseproof_store::{Refusal, StoreError, StoreUrl, open_administrator, open_lease, open_observer};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(600);
const KEY: &str = "canary/sqlite";

/// Names the file for [`a_writer_in_its_transaction`] when this binary runs as a child.
const CHILD: &str = "LEASEPROOF_TEST_WRITER";

fn url(path: &Path) -> StoreUrl {
    format!("sqlite:{}", path.display()).parse().expect("a URL")
}

/// A file with its table, in a folder that goes with it.
fn store() -> (tempfile::TempDir, StoreUrl) {
    let folder = tempfile::tempdir().expect("a folder");
    let url = url(&folder.path().join("locks.db"));
    open_administrator(&url, PATIENT)
        .and_then(|mut lab| lab.prepare())
        .expect("the file can be made");
    (folder, url)
}

/// Not a test by itself: with [`CHILD`] set it takes the write lock, says so, and stays.
#[test]
fn a_writer_in_its_transaction() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let writer = Connection::open(path).expect("it opens");
    writer
        .execute_batch("BEGIN IMMEDIATE; UPDATE lease SET holder = 'zombie'")
        .expect("the write lock");
    println!("\nlocked");
    std::thread::sleep(PATIENT * 3);
}

/// A child process that holds the write lock with a change that is not committed.
fn writer(path: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "a_writer_in_its_transaction", "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let output = BufReader::new(child.stdout.take().expect("its output"));
    let locked = output.lines().map_while(Result::ok).any(|line| line == "locked");
    assert!(locked, "the child takes the lock");
    child
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a pid"), signal).expect("a child can be signalled");
}

#[test]
fn a_writer_frozen_in_its_transaction_blocks_writers_and_no_reader() {
    let (_folder, url) = store();
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let mut observer = open_observer(&url, BRIEF).expect("it opens");
    let mut child = writer(url.path().expect("a file"));
    signal(&child, Signal::STOP);
    // Also a reader that comes later, and a new connection.
    let late = open_observer(&url, BRIEF).map(|mut late| late.read(KEY).map(|(_, reading)| reading));
    let (read, proof) = (observer.read(KEY), observer.read_proving_expiry(KEY));
    let renewal = owner.renew(&grant, LONG, BRIEF);
    // A process that dies gives its lock back, and its change is gone.
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    let held = late.expect("it opens").expect("it reads").held.expect("held");
    assert_eq!(held.holder, grant.holder);
    assert_eq!(read.expect("it reads").1.held.expect("held").holder, grant.holder);
    assert!(matches!(proof, Err(StoreError::Blocked)), "{proof:?}");
    assert_eq!((renewal.outcome, renewal.refusal), (Outcome::NotApplied, None));
    assert_eq!(renewal.reason.as_deref(), Some("a writer holds the store's write lock"));
    let (_, reading) = observer.read_proving_expiry(KEY).expect("the lock is free");
    let held = reading.held.expect("held");
    assert_eq!((&held.holder, held.write_lock), (&grant.holder, true));
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
}

#[test]
fn a_renewal_that_waited_past_the_expiry_does_not_revive() {
    let (_folder, url) = store();
    let ttl = Duration::from_millis(300);
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", ttl, PATIENT).value.expect("granted");
    let blocker = Connection::open(url.path().expect("a file")).expect("it opens");
    blocker.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
    // Asked while the lease was good, and the write lock comes when it no longer is.
    let renewal = std::thread::spawn(move || owner.renew(&grant, LONG, PATIENT));
    std::thread::sleep(ttl * 2);
    blocker.execute_batch("ROLLBACK").expect("the lock is given back");
    let done = renewal.join().expect("the renewal ends");
    assert_eq!(done.refusal, Some(Refusal::Gone), "{done:?}");
}

#[test]
fn another_boot_ends_a_lease_and_keeps_the_counter() {
    let (_folder, url) = store();
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    Connection::open(url.path().expect("a file"))
        .and_then(|file| file.execute("UPDATE lease SET boot_id = 'of an earlier boot'", []))
        .expect("plain SQL");
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let held = observer.read(KEY).expect("a reading").1.held.expect("the row stays");
    assert!(held.expired);
    assert_eq!((held.granted, held.renewed), (None, None), "that clock is gone");
    assert_eq!(owner.renew(&grant, LONG, PATIENT).refusal, Some(Refusal::Gone));
    let next = owner.acquire(KEY, "b", LONG, PATIENT).value.expect("granted");
    assert_eq!(next.token.0, 2);
}

#[test]
fn an_expiry_is_exact() {
    let (_folder, url) = store();
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let held = observer.read(KEY).expect("a reading").1.held.expect("held");
    let granted = held.granted.expect("exact");
    assert_eq!(held.expires.expect("a TTL").earliest, granted.plus(LONG));
    assert_eq!(held.expires.expect("a TTL").uncertainty(), Duration::ZERO);
    let renewal = owner.renew(&done.value.expect("granted"), LONG, PATIENT);
    let held = observer.read(KEY).expect("a reading").1.held.expect("held");
    let renewed = held.renewed.expect("exact");
    assert!(renewal.during.earliest <= renewed && renewed <= renewal.during.latest);
    assert_eq!(held.granted, Some(granted));
    assert_eq!(held.expires.expect("a TTL").earliest, renewed.plus(LONG));
}

#[test]
fn files_bad() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing.db");
    let error = open_observer(&url(&missing), PATIENT).err().expect("no file");
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    assert!(!missing.exists(), "looking makes no file");
    let text = folder.path().join("text.db");
    std::fs::write(
        &text,
        "this is no database, and longer than the header of one is\n".repeat(9),
    )
    .expect("a file");
    let error = open_observer(&url(&text), PATIENT).err().expect("no database");
    assert!(error.to_string().contains("not a database"), "{error}");
    let other = folder.path().join("other.db");
    Connection::open(&other)
        .and_then(|file| file.execute_batch("CREATE TABLE lease (id INTEGER)"))
        .expect("plain SQL");
    let error = open_observer(&url(&other), PATIENT).err().expect("another table");
    assert!(error.to_string().contains("no such column"), "{error}");
    let empty = folder.path().join("empty.db");
    std::fs::write(&empty, "").expect("a file");
    let error = open_observer(&url(&empty), PATIENT).err().expect("no table");
    assert!(error.to_string().contains("no table of leases"), "{error}");
    let inside = text.join("locks.db");
    let done = open_lease(&url(&inside), PATIENT)
        .expect("lazy")
        .acquire(KEY, "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None));
    assert!(done.reason.expect("a reason").contains("no store answers"));
}

#[test]
fn an_owner_needs_no_preparation() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = url(&folder.path().join("locks.db"));
    let done = open_lease(&url, PATIENT)
        .expect("lazy")
        .acquire(KEY, "a", LONG, PATIENT);
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
}

#[test]
fn an_observer_writes_nothing() {
    let (folder, url) = store();
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).ok();
    // The same file content before and after, the log included; the folder goes when it is dropped.
    drop(owner);
    let before = bytes("locks.db");
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    observer.read(KEY).expect("a reading");
    observer.read_proving_expiry(KEY).expect("a reading");
    drop(observer);
    assert_eq!(bytes("locks.db"), before);
}

#[test]
fn a_token_that_can_not_be_counted_up_grants_nothing() {
    let (folder, url) = store();
    let file = Connection::open(folder.path().join("locks.db")).expect("it opens");
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
    for token in [i64::MAX, -1, -3] {
        file.execute("UPDATE lease SET token = ?1", [token]).expect("plain SQL");
        let done = owner.acquire(KEY, "a", LONG, PATIENT);
        assert_eq!(
            (done.outcome, done.refusal),
            (Outcome::NotApplied, None),
            "{token}: {done:?}"
        );
        assert!(done.reason.expect("a reason").contains("no greater token can come"));
        let row: (i64, Option<String>) = file
            .query_row("SELECT token, holder FROM lease", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .expect("a row");
        assert_eq!(row, (token, None), "nobody holds it");
    }
}

#[test]
fn a_folder_that_is_not_there_is_not_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("mistyped");
    let done = open_lease(&url(&missing.join("locks.db")), PATIENT)
        .expect("lazy")
        .acquire(KEY, "a", LONG, PATIENT);
    assert_eq!(
        (done.outcome, done.needs_mending),
        (Outcome::NotApplied, true),
        "{done:?}"
    );
    assert!(done.reason.expect("a reason").contains("is not there"));
    assert!(!missing.exists());
    // The lab's is made for a run.
    let url = url(&missing.join("locks.db"));
    let lab = open_administrator(&url, PATIENT).and_then(|mut lab| lab.prepare());
    lab.expect("it is made");
}

/// Whoever opens the path now gets the new file: one that still reads the old one sees two holders as one.
#[test]
fn a_file_that_is_made_anew_is_another_store() {
    let (folder, url) = store();
    let path = folder.path().join("locks.db");
    let mut old = open_lease(&url, PATIENT).expect("lazy");
    assert_eq!(old.acquire(KEY, "a", LONG, PATIENT).outcome, Outcome::Applied);
    let mut observer = open_observer(&url, PATIENT).expect("it opens");
    let (_, first) = observer.read(KEY).expect("a reading");
    std::fs::rename(&path, folder.path().join("aside.db")).expect("moved");
    let error = observer.read(KEY).expect_err("no file").to_string();
    assert!(error.contains("no store answers"), "{error}");
    open_administrator(&url, PATIENT)
        .and_then(|mut lab| lab.prepare())
        .expect("the file can be made");
    let mut new = open_lease(&url, PATIENT).expect("lazy");
    assert_eq!(new.acquire(KEY, "b", LONG, PATIENT).outcome, Outcome::Applied);
    for read in [observer.read(KEY), observer.read_proving_expiry(KEY)] {
        let (_, second) = read.expect("a reading");
        assert_ne!(second.epoch, first.epoch);
        assert!(second.held.expect("it is held").holder.as_str().starts_with("b#"));
    }
}
