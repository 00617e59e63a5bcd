//! Every sample, and what is made of it: a snapshot a file.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

use leaseproof_evidence::evidence::Evidence;
use leaseproof_evidence::input::Input;
use leaseproof_evidence::options::Options;
use leaseproof_evidence::read;
use leaseproof_evidence::record::Record;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

fn samples(under: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(under)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            samples(&path, found);
        } else if path.extension().is_none_or(|ext| ext != "marks" && ext != "md") {
            found.push(path);
        }
    }
}

fn one(path: &Path) -> Evidence {
    let options = Options {
        year: Some(2026),
        ..Options::default()
    };
    read(&[Input::Path(path.to_path_buf())], &options)
}

/// Seconds since 1970, or since whatever begin, to the nanosecond.
fn moment(at: i64) -> String {
    format!("{}.{:09}", at.div_euclid(1_000_000_000), at.rem_euclid(1_000_000_000))
}

fn record(record: &Record) -> String {
    let when = record.when.map_or_else(
        || "-".to_owned(),
        |when| {
            format!(
                "{:?} {} ±{:?}",
                when.domain,
                moment(when.span.earliest),
                when.span.uncertainty()
            )
        },
    );
    let author = [
        record.author.host.as_deref().map(|host| format!(" host={host}")),
        record
            .author
            .process
            .as_deref()
            .map(|process| format!(" process={process}")),
        record.author.pid.map(|pid| format!(" pid={pid}")),
        record
            .author
            .container
            .as_deref()
            .map(|container| format!(" container={container}")),
        record
            .author
            .thread
            .as_deref()
            .map(|thread| format!(" thread={thread}")),
    ]
    .into_iter()
    .flatten()
    .collect::<String>();
    let says = format!("{:?}", record.says);
    format!(
        "{}: [{when}] {:?} {}{author} {says}",
        record.place.line, record.means, record.by
    )
}

fn summary(evidence: &Evidence) -> String {
    let mut out = String::new();
    let file = &evidence.files[0];
    writeln!(out, "{} lines, {} not understood", file.lines, file.not_understood).unwrap();
    for (format, lines) in &file.formats {
        writeln!(out, "  {lines} {format}").unwrap();
    }
    for (line, text) in &file.examples {
        writeln!(out, "  ? {line}: {}", text.chars().take(120).collect::<String>()).unwrap();
    }
    writeln!(
        out,
        "clock: zone {:?}, year {:?}, {:?}",
        file.clock.zone, file.clock.year, file.clock.aligned
    )
    .unwrap();
    if let Some(gap) = file.gaps.widest.first() {
        writeln!(
            out,
            "gaps: {}, median {:?}, p99 {:?}, widest {:?} from line {} to {}, ran {:?}",
            file.gaps.count, file.gaps.median, file.gaps.p99, gap.took, gap.from.line, gap.to.line, gap.ran
        )
        .unwrap();
    }
    for (operation, usual) in &file.usual {
        writeln!(
            out,
            "usual: {operation}: {} of {:?}, longest {:?}",
            usual.count, usual.median, usual.longest
        )
        .unwrap();
    }
    let mut kinds: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for record in &evidence.records {
        *kinds.entry((record.says.name(), record.by)).or_default() += 1;
    }
    for ((name, by), count) in kinds {
        writeln!(out, "{count} x {name} ({by})").unwrap();
    }
    let mut shown: BTreeMap<&str, u32> = BTreeMap::new();
    for said in &evidence.records {
        let seen = shown.entry(said.says.name()).or_default();
        *seen += 1;
        if *seen <= 2 {
            writeln!(out, "{}", record(said)).unwrap();
        }
    }
    for problem in &evidence.problems {
        let says = problem.says.replace(&format!("{}/", folder().display()), "");
        writeln!(out, "problem {:?} at {:?}: {says}", problem.kind, problem.line).unwrap();
    }
    out
}

#[test]
fn every_sample() {
    let mut found = Vec::new();
    samples(&folder(), &mut found);
    assert!(found.len() > 150, "{} samples", found.len());
    for path in found {
        let name = path
            .strip_prefix(folder())
            .unwrap()
            .to_string_lossy()
            .replace('/', "__");
        insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
            insta::assert_snapshot!(name, summary(&one(&path)));
        });
    }
}

/// The two moments of a `.marks` file.
fn marks(name: &str) -> (i64, i64) {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    let mut lines = text.lines().map(|line| {
        let at: jiff::Timestamp = line.replace(',', ".").parse().unwrap();
        i64::try_from(at.as_nanosecond()).unwrap()
    });
    (lines.next().unwrap(), lines.next().unwrap())
}

const MS: i64 = 1_000_000;

/// A stop from outside is a gap that holds both marks, and is wider than them by no more than the file's own rhythm.
fn gap_holds(sample: &str, marked: &str, began: Option<i64>, delay: i64) {
    let (stopped, went_on) = marks(marked);
    let path = folder().join(sample);
    let mut options = Options::default();
    options.files.push(leaseproof_evidence::options::FileRule {
        name: sample.to_owned(),
        began,
        ..Default::default()
    });
    let evidence = read(&[Input::Path(path)], &options);
    let file = &evidence.files[0];
    let gap = &file.gaps.widest[0];
    let (from, to) = gap.wall.expect("the gap is on the wall clock");
    let rhythm = i64::try_from(file.gaps.p99.as_nanos()).unwrap();
    assert!(
        from.earliest <= stopped + delay + 5 * MS,
        "{sample}: begins {} ms late",
        (from.earliest - stopped) / MS
    );
    assert!(
        to.latest + delay + 5 * MS >= went_on,
        "{sample}: ends {} ms early",
        (went_on - to.latest) / MS
    );
    assert!(
        stopped - from.latest <= rhythm + 5 * MS,
        "{sample}: {} ms before",
        (stopped - from.latest) / MS
    );
    assert!(
        to.earliest - went_on <= rhythm + 5 * MS,
        "{sample}: {} ms after",
        (to.earliest - went_on) / MS
    );
}

#[test]
fn pauses_match_the_marks() {
    gap_holds("jvm/g1-sigstop-3s.log", "jvm/g1-sigstop-3s.marks", None, 0);
    // The engine was asked at the first mark, and froze within the next 18 ms.
    gap_holds(
        "containers/docker-logs-timestamps.txt",
        "containers/docker-pause.marks",
        None,
        18 * MS,
    );
    gap_holds(
        "containers/container-json-file.log",
        "containers/docker-pause.marks",
        None,
        18 * MS,
    );
    // Go's trace counts from its process's start; a line of the program's own log has both clocks.
    gap_holds(
        "runtimes/go119-gctrace-sigstop.log",
        "runtimes/go-sigstop.marks",
        None,
        0,
    );
}

/// The first and the last moment of what a predicate finds.
fn span_of(evidence: &Evidence, is: impl Fn(&Record) -> bool) -> (i64, i64) {
    let mut at = evidence
        .records
        .iter()
        .filter(|record| is(record))
        .filter_map(|record| record.wall);
    let first = at.next().expect("a record");
    (first.earliest, at.last().unwrap_or(first).latest)
}

#[test]
fn containers_and_freezers_match_the_marks() {
    use leaseproof_evidence::says::{ProcessSays, Says};
    let (asked, undone) = marks("containers/docker-pause.marks");
    for name in ["containers/docker-events.txt", "containers/docker-events.jsonl"] {
        let evidence = one(&folder().join(name));
        let (paused, _) = span_of(&evidence, |record| {
            matches!(record.says, Says::Process(ProcessSays::Paused { .. }))
        });
        let (resumed, _) = span_of(&evidence, |record| {
            matches!(record.says, Says::Process(ProcessSays::Resumed { .. }))
        });
        // The engine stamps a pause when it is done, and was asked some 18 ms before.
        assert!((0..25 * MS).contains(&(paused - asked)), "{name}: {}", paused - asked);
        assert!(
            (0..25 * MS).contains(&(undone - resumed)),
            "{name}: {}",
            undone - resumed
        );
    }
    let (frozen, thawed) = marks("system/freeze-v2.marks");
    let evidence = one(&folder().join("system/freeze-v2-poll.txt"));
    let (first, last) = span_of(&evidence, |record| {
        matches!(record.says, Says::Process(ProcessSays::Paused { .. }))
    });
    // Looks were 110 ms apart: that is this format's resolution.
    assert!((0..125 * MS).contains(&(first - frozen)), "{}", first - frozen);
    assert!((0..125 * MS).contains(&(thawed - last)), "{}", thawed - last);
}

#[test]
fn a_client_that_did_not_run_matches_the_marks() {
    use leaseproof_evidence::says::{OwnerSays, Says};
    let (stopped, went_on) = marks("zookeeper/client-sigstop.marks");
    let evidence = one(&folder().join("zookeeper/client-sigstop.log"));
    let (heard, lasted) = evidence
        .records
        .iter()
        .find_map(|record| match &record.says {
            Says::Owner(OwnerSays::HeardNothing { lasted, .. }) => Some((record.wall?, *lasted)),
            _ => None,
        })
        .expect("the client says for how long it heard nothing");
    assert!(lasted.as_nanos() >= u128::try_from(went_on - stopped).unwrap());
    assert!(
        (0..15 * MS).contains(&(heard.earliest - went_on)),
        "{}",
        heard.earliest - went_on
    );
    assert!(heard.latest - i64::try_from(lasted.as_nanos()).unwrap() <= stopped);
}

/// Consul's last renewal and its session's end, in the agent's log and by looking again and again.
#[test]
fn a_session_matches_the_marks() {
    use leaseproof_evidence::says::{Says, StoreSays};
    let (renewed, gone) = marks("consul/last-renew.marks");
    let session = "16dc0fe5-2983-68e2-92be-87053b2c4568";
    let log = one(&folder().join("consul/consul-agent-trace.log"));
    let (asked, _) = span_of(
        &log,
        |record| matches!(&record.says, Says::Store(StoreSays::RenewalAsked { key, .. }) if **key == *session),
    );
    assert!((renewed - asked).abs() <= 6 * MS, "{}", renewed - asked);
    let ended = |evidence: &Evidence| {
        span_of(
            evidence,
            |record| matches!(&record.says, Says::Store(StoreSays::SessionExpired { id, .. }) if **id == *session),
        )
        .0
    };
    // Looks were 1033 ms apart: the end lies between the last that found it and the first that did not.
    let (expired, seen) = (ended(&log), ended(&one(&folder().join("consul/session-info-poll.txt"))));
    assert!(expired <= seen && seen - expired <= 1033 * MS, "{}", seen - expired);
    // The mark was made when that look had been answered.
    assert!((0..60 * MS).contains(&(gone - seen)), "{}", gone - seen);
}

/// A mark that nothing is held against is a gap in these tests. That of etcd's keep-alive is one for good: its client prints
/// no times, and the server writes nothing of it.
#[test]
fn every_mark_is_compared() {
    let tests = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples.rs")).unwrap();
    let mut found = Vec::new();
    for family in std::fs::read_dir(folder()).unwrap() {
        let family = family.unwrap().path();
        for sample in std::fs::read_dir(&family).unwrap() {
            let path = sample.unwrap().path();
            if path.extension().is_some_and(|ext| ext == "marks") {
                found.push(path.strip_prefix(folder()).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found.retain(|name| !tests.contains(&format!("\"{name}\"")));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("etcd/"), "{found:?}");
}
