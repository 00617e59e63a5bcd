//! The story as it is drawn: who held, who stood still, what was written, each with the lines that it rests on.

use leaseproof_diagnosis::{Asked, diagnose};
use leaseproof_evidence::clock::Timeline;
use leaseproof_evidence::input::Input;
use leaseproof_evidence::options::Options;
use leaseproof_evidence::read;
use leaseproof_model::diagnosis::{Diagnosis, Part, PartKind, Party, StoryLane};
use std::path::{Path, PathBuf};

fn answer(name: &str, key: &str) -> Diagnosis {
    of(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/incidents").join(name),
        key,
    )
}

fn of(folder: PathBuf, key: &str) -> Diagnosis {
    let options = Options {
        key: Some(key.to_owned()),
        ..Options::default()
    };
    let evidence = read(&[Input::Path(folder)], &options);
    let asked = Asked {
        key: Some(key.to_owned()),
        ..Asked::default()
    };
    diagnose(&evidence, &Timeline::of(&evidence, &options), &asked)
}

fn lane<'a>(answer: &'a Diagnosis, party: Party, name: &str) -> &'a StoryLane {
    let mut lanes = answer.picture.lanes.iter();
    let found = lanes.find(|lane| lane.party == party && (name.is_empty() || lane.name == name));
    found.unwrap_or_else(|| panic!("no lane of {party:?} {name}"))
}

fn parts(lane: &StoryLane, kind: PartKind) -> Vec<&Part> {
    lane.parts.iter().filter(|part| part.kind == kind).collect()
}

#[test]
fn a_stop_between_two_grants_is_all_there_ok() {
    let answer = answer("paused-retained-bad", "lock:orders");
    let grants = parts(lane(&answer, Party::Store, ""), PartKind::Grant);
    let holders: Vec<_> = grants.iter().filter_map(|part| part.owner.as_deref()).collect();
    assert_eq!(holders[..2], ["worker-a", "worker-b"]);
    // The append-only file's stamps are whole seconds: the begin is not known better, and that is what is said.
    let begin = grants[1].when;
    assert!(begin.latest - begin.earliest >= 500_000_000, "{begin:?}");
    let owner = lane(&answer, Party::Owner, "worker-a");
    let stops = parts(owner, PartKind::Stop);
    assert!(stops.iter().any(|part| part.says.contains("docker pause")), "{stops:?}");
    assert!(!parts(owner, PartKind::Belief).is_empty() && !parts(owner, PartKind::Renewed).is_empty());
    let writes = parts(lane(&answer, Party::Resource, ""), PartKind::Write);
    let of = |name: &str| writes.iter().filter(|part| part.owner.as_deref() == Some(name)).count();
    assert!(of("worker-a") > 20 && of("worker-b") > 20);
    let window = answer.picture.window.expect("the loss is dated");
    for broken in &answer.breach.broken {
        let when = broken.when.expect("it is dated");
        assert!(
            window.earliest <= when.earliest && when.latest <= window.latest,
            "{}",
            broken.rule
        );
    }
    for part in answer.picture.lanes.iter().flat_map(|lane| &lane.parts) {
        // The lines around a silence may be some that nothing was made of: then its file is named.
        let rests = !part.lines.is_empty() || (part.kind == PartKind::Silence && part.says.contains("says nothing"));
        assert!(rests, "{part:?} rests on nothing");
        assert!(
            part.until.is_none_or(|until| until.latest >= part.when.earliest),
            "{part:?}"
        );
    }
}

#[test]
fn silence_is_no_belief_bad() {
    let answer = answer("paused-retained-bad", "lock:orders");
    for lane in answer.picture.lanes.iter().filter(|lane| lane.party == Party::Owner) {
        let last = lane.parts.iter().map(|part| part.when.latest).max().expect("parts");
        for belief in parts(lane, PartKind::Belief) {
            assert!(belief.until.is_some_and(|until| until.latest <= last), "{belief:?}");
        }
    }
}

#[test]
fn a_lane_is_bounded_and_says_so_ok() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("picture");
    std::fs::create_dir_all(&folder).unwrap();
    let stamp = |second: u32| {
        format!(
            "2026-11-30T{:02}:{:02}:{:02}.000Z",
            second / 3600,
            second / 60 % 60,
            second % 60
        )
    };
    let mut log = format!("{} lease acquired key=lock:x token=1\n", stamp(0));
    for second in 1..=900 {
        log.push_str(&format!("{} lease renewed key=lock:x token=1\n", stamp(second)));
    }
    log.push_str(&format!("{} lease lost key=lock:x\n", stamp(901)));
    std::fs::write(folder.join("worker.log"), log).unwrap();
    let answer = of(folder, "lock:x");
    let owner = lane(&answer, Party::Owner, "");
    assert_eq!(owner.parts.len(), 400);
    assert!(owner.left_out > 500, "{}", owner.left_out);
    // What is common goes first, and what is far from the loss.
    assert_eq!(parts(owner, PartKind::Acquired).len(), 1);
    assert_eq!(parts(owner, PartKind::Lost).len(), 1);
    let renewed = parts(owner, PartKind::Renewed);
    assert!(renewed[0].lines[0].line > 400, "{:?}", renewed[0]);
}
