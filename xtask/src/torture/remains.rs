//! What a run has left: anything here is a broken promise.

use super::subject::{Subject, is_named};
use leaseproof_model::history::Line;
use leaseproof_model::name::ProcessId;
use leaseproof_proc::stat::{self, Stat};
use leaseproof_proc::threads;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a store may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// Everything that is left beside the processes in `expected`, in words.
pub fn look(subject: &Subject, expected: &[ProcessId]) -> Vec<String> {
    let mut left = Vec::new();
    for row in subject.cage.members() {
        if !expected.contains(&row.id) {
            left.push(format!(
                "process {} in state {} ({})",
                row.id.pid,
                state(&row),
                words_of(row.id.pid)
            ));
        }
    }
    for group in subject.cage.groups() {
        let frozen = group.is_frozen().unwrap_or(false);
        let name = group
            .path()
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        left.push(format!(
            "{} control group {name}",
            if frozen { "frozen" } else { "left-over" }
        ));
    }
    left.extend(
        shim_users(&subject.out())
            .into_iter()
            .map(|pid| format!("process {pid} maps the clock shim")),
    );
    // What is noted of a server waits for who gives its URL.
    for journal in subject.journals().iter().filter(|path| !is_named(path, "store-")) {
        left.push(format!("journal {}", journal.display()));
    }
    // A run that goes on needs its own.
    for bundle in subject.bundles().iter().filter(|_| expected.is_empty()) {
        let stage = bundle.join("stage");
        if stage.exists() {
            left.push(format!("folder {}", stage.display()));
        }
    }
    for file in files_in(subject.stores(), &|name| name.starts_with("locks.")) {
        left.push(format!("store file {}", file.display()));
    }
    left
}

/// What is left in its server and noted beside it, after `undo` had the server's URL.
pub fn in_server(subject: &Subject) -> Vec<String> {
    let Some(url) = subject.server() else { return Vec::new() };
    let mut left = Vec::new();
    for note in subject.journals() {
        left.push(format!("note {}", note.display()));
    }
    let mut keys = BTreeSet::new();
    for bundle in subject.bundles() {
        let text = fs::read_to_string(bundle.join("events.jsonl")).unwrap_or_default();
        keys.extend(text.lines().filter_map(|line| match serde_json::from_str(line) {
            Ok(Line::Scenario { ask, .. }) => Some(ask.key),
            _ => None,
        }));
    }
    let keys: Vec<String> = keys.into_iter().collect();
    let there = url
        .parse()
        .and_then(|url| leaseproof_store::open_administrator(&url, ANSWER))
        .and_then(|mut store| store.clean(&keys));
    match there {
        Ok(0) => {}
        Ok(count) => left.push(format!("{count} leases or counters of {} keys in {url}", keys.len())),
        Err(error) => left.push(format!("the store does not say what is left: {error}")),
    }
    left
}

/// Everything that stands still or is skewed now: stopped processes, frozen groups, stepped clocks.
pub fn in_force(subject: &Subject) -> Vec<String> {
    let mut found = Vec::new();
    for row in subject.cage.members() {
        if row.id != subject.id() && state(&row) == 'T' {
            found.push(format!("process {} is stopped ({})", row.id.pid, words_of(row.id.pid)));
        }
    }
    for group in subject.cage.groups() {
        if group.is_frozen().unwrap_or(false) {
            found.push(format!("control group {} is frozen", group.path().display()));
        }
    }
    for page in files_below(&subject.out(), &|name| {
        name.starts_with("clock-") && name.ends_with(".page")
    }) {
        if offset_in(&page).is_some_and(|offset| offset != 0) {
            found.push(format!("the clock of {} is stepped", page.display()));
        }
    }
    found
}

/// `T` when any thread is stopped: the letter of the process is its first thread's.
fn state(row: &Stat) -> char {
    let stopped = threads::of(row.id.pid).iter().any(|thread| thread.state == 'T');
    if stopped { 'T' } else { row.state }
}

fn words_of(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = line.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
    words.join(" ").chars().take(120).collect()
}

/// Processes anywhere that map a shim of this run.
fn shim_users(out: &Path) -> Vec<u32> {
    let rows = stat::all().unwrap_or_default();
    let out = out.display().to_string();
    rows.into_iter()
        .map(|row| row.id.pid)
        .filter(|pid| {
            fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| {
                maps.lines()
                    .any(|line| line.contains(&out) && line.contains("clock-shim.so"))
            })
        })
        .collect()
}

/// The page's second word; the layout is the shim's.
fn offset_in(page: &Path) -> Option<i64> {
    let mut word = [0; 8];
    fs::File::open(page).ok()?.read_exact_at(&mut word, 8).ok()?;
    Some(i64::from_ne_bytes(word))
}

fn files_in(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(wanted))
        .map(|entry| entry.path())
        .collect()
}

fn files_below(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_below(&entry.path(), wanted));
        } else if entry.file_name().to_str().is_some_and(wanted) {
            found.push(entry.path());
        }
    }
    found
}
