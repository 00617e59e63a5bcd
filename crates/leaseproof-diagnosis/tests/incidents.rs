//! Incidents from files alone: a folder each, with the files that an operator would have and what is expected.
//!
//! `expect.toml` says how the files were made. Names that end in `-bad` have a fault to be found, those in `-ok` must be
//! accused of nothing.

#[path = "../../leaseproof-report/tests/schema/mod.rs"]
mod schema;

use leaseproof_diagnosis::{Asked, diagnose};
use leaseproof_evidence::clock::Timeline;
use leaseproof_evidence::input::Input;
use leaseproof_evidence::options::{GivenOffset, Options};
use leaseproof_evidence::read;
use leaseproof_model::budget::Budget;
use leaseproof_model::diagnosis::{Confidence, Diagnosis, Seen};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    /// How the files were made, and which lines were written by hand.
    made: String,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    owner: Option<String>,
    /// TTL, heartbeat, worst pause in ms.
    #[serde(default)]
    plan: Option<[u64; 3]>,
    /// What is known of the clock of a file.
    #[serde(default)]
    offsets: Vec<Offset>,
    /// `certainly`, `possibly`, `none seen`, `cannot tell`.
    breach: Option<String>,
    /// Codes that must be among the broken promises.
    #[serde(default)]
    broken: Vec<String>,
    /// Codes of which the answer must not be certain.
    #[serde(default)]
    doubtful: Vec<String>,
    /// The first cause; empty: none at all.
    first: Option<String>,
    #[serde(default)]
    confidence: Option<String>,
    #[serde(default)]
    boundary: Option<String>,
    /// These causes must be there, in any place.
    #[serde(default)]
    also: Vec<String>,
    /// These may not be there at all.
    #[serde(default)]
    never: Vec<String>,
    /// Texts that must stand somewhere in the answer.
    #[serde(default)]
    says: Vec<String>,
    /// Texts that may not stand anywhere in it.
    #[serde(default)]
    never_says: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Offset {
    file: String,
    ahead_ms: i64,
    error_ms: u64,
}

fn answer(folder: &Path, expect: &Expect) -> Diagnosis {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name != "expect.toml" && !name.to_string_lossy().starts_with("LICENSE"))
        })
        .collect();
    files.sort();
    let inputs: Vec<Input> = files.into_iter().map(Input::Path).collect();
    let options = Options {
        key: expect.key.clone(),
        offsets: expect
            .offsets
            .iter()
            .map(|it| GivenOffset {
                host: it.file.clone(),
                ahead: it.ahead_ms * 1_000_000,
                error: Duration::from_millis(it.error_ms),
            })
            .collect(),
        ..Options::default()
    };
    let evidence = read(&inputs, &options);
    let budget = expect.plan.map(|[ttl, heartbeat, worst]| Budget {
        ttl: Duration::from_millis(ttl),
        heartbeat: Duration::from_millis(heartbeat),
        worst_pause: Duration::from_millis(worst),
        max_clock_drift: Duration::ZERO,
        renew_timeout: Duration::ZERO,
        early_slack: Duration::ZERO,
    });
    let asked = Asked {
        key: expect.key.clone(),
        owner: expect.owner.clone(),
        plan: budget.map(|budget| (budget, "leaseproof.toml".to_owned())),
    };
    diagnose(&evidence, &Timeline::of(&evidence, &options), &asked)
}

fn wrong(expect: &Expect, got: &Diagnosis) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut differs = |what: &str, wanted: &str, seen: &str| {
        if wanted != seen {
            wrong.push(format!("{what}: {seen:?} in the place of {wanted:?}"));
        }
    };
    let first = got.causes.first();
    if let Some(breach) = &expect.breach {
        differs("breach", breach, &got.breach.seen.to_string());
    }
    if let Some(wanted) = &expect.first {
        differs("first cause", wanted, first.map_or("", |cause| &cause.id));
    }
    if let Some(confidence) = &expect.confidence {
        differs(
            "confidence",
            confidence,
            &first.map_or_else(String::new, |cause| cause.confidence.to_string()),
        );
    }
    if let Some(boundary) = &expect.boundary {
        differs(
            "boundary",
            boundary,
            &first.map_or_else(String::new, |cause| cause.boundary.to_string()),
        );
    }
    for code in &expect.broken {
        if !got.breach.broken.iter().any(|it| it.rule == *code) {
            wrong.push(format!("{code} is not broken"));
        }
    }
    for code in &expect.doubtful {
        let seen = got.breach.broken.iter().find(|it| it.rule == *code).map(|it| it.seen);
        if seen != Some(Seen::Possibly) {
            wrong.push(format!("{code} is {seen:?} and not possibly"));
        }
    }
    for id in &expect.also {
        if !got.causes.iter().any(|cause| cause.id == *id) {
            wrong.push(format!("{id} is not among the causes"));
        }
    }
    for id in &expect.never {
        if got.causes.iter().any(|cause| cause.id == *id) {
            wrong.push(format!("{id} is among the causes"));
        }
    }
    let document = serde_json::to_value(got).unwrap();
    wrong.extend(schema::diagnosis_1().errors(&document));
    let text = document.to_string();
    for wanted in &expect.says {
        if !text.contains(wanted.as_str()) {
            wrong.push(format!("{wanted:?} is not said"));
        }
    }
    for unwanted in &expect.never_says {
        if text.contains(unwanted.as_str()) {
            wrong.push(format!("{unwanted:?} is said"));
        }
    }
    wrong
}

fn show(got: &Diagnosis) -> String {
    let mut text = format!("    breach {}: {}\n", got.breach.seen, got.breach.says);
    for it in &got.breach.broken {
        text.push_str(&format!("    broken {} {}: {}\n", it.rule, it.seen, it.says));
    }
    text.push_str(&format!("    loss {:?}\n", got.loss));
    for cause in &got.causes {
        text.push_str(&format!(
            "    {}. {} {} [{}] {}\n",
            cause.rank, cause.confidence, cause.id, cause.boundary, cause.says
        ));
        for line in cause.evidence.iter().take(8) {
            text.push_str(&format!(
                "         {}:{} {}\n",
                line.file,
                line.line,
                line.text.chars().take(100).collect::<String>()
            ));
        }
        for line in cause.against.iter().take(3) {
            text.push_str(&format!(
                "       - {}:{} {} {:?}\n",
                line.file,
                line.line,
                line.text.chars().take(80).collect::<String>(),
                line.why
            ));
        }
    }
    for note in &got.notes {
        text.push_str(&format!("    note {note}\n"));
    }
    for it in &got.missing {
        text.push_str(&format!("    missing {}\n", it.what));
    }
    for it in &got.not_understood {
        text.push_str(&format!(
            "    not understood {}: {} lines, {:?}\n",
            it.file,
            it.lines,
            it.examples.first().map(|it| &it.text)
        ));
    }
    for lane in &got.lanes {
        text.push_str(&format!(
            "    lane {} {:?} of {:?}, {} marks, {}\n",
            lane.file,
            lane.formats,
            lane.owner,
            lane.marks.len(),
            lane.clock
        ));
    }
    text
}

#[test]
fn incidents() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/incidents");
    let only = std::env::var("INCIDENT").ok();
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.sort();
    let mut failed = Vec::new();
    let (mut sure, mut known) = (0, 0);
    for folder in folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let text = std::fs::read_to_string(folder.join("expect.toml")).unwrap();
        let expect: Expect = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!expect.made.is_empty(), "{name} does not say how it was made");
        let got = answer(&folder, &expect);
        let wrong = wrong(&expect, &got);
        // Certain, and wrong: that must never be, whatever else is expected.
        let top = got.causes.first();
        if let (Some(wanted), Some(top)) = (&expect.first, top) {
            known += 1;
            sure += u32::from(top.confidence == Confidence::Certain);
            if top.confidence == Confidence::Certain && top.id != *wanted {
                failed.push(format!("{name}: CERTAIN, AND WRONG"));
            }
        }
        if !wrong.is_empty() || only.is_some() {
            failed.push(format!("{name}: {}\n{}", wrong.join("; "), show(&got)));
        }
    }
    assert!(
        failed.is_empty(),
        "{} incidents, {sure} of {known} certain\n\n{}",
        failed.len(),
        failed.join("\n")
    );
}
