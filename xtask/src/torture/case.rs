//! One case: a run, a blow, and what was left.

use super::blow::Blow;
use super::remains;
use super::subject::{Manner, Subject};
use leaseproof_model::history::Line;
use leaseproof_proc::pidfd::PidFd;
use leaseproof_proc::stat;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Output};
use std::time::{Duration, Instant};

/// How long a whole run may take on a busy machine.
const RUN: Duration = Duration::from_secs(120);
/// How long it may take to end when asked to.
const ENDING: Duration = Duration::from_secs(45);
/// How long the warden may take to make good after a kill.
const MAKING_GOOD: Duration = Duration::from_secs(30);
/// Longer than the longest hard deadline of the quick plan, which is 28 s (four times what a takeover may take), and a look
/// a second long after it. With 30 s one of 64 was called stopped that was about to go on.
const HARD_DEADLINES: Duration = Duration::from_secs(60);
/// How long the warden may take to be up.
const STARTING: Duration = Duration::from_secs(20);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// A case to try.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number.
    pub number: usize,
    /// The blow.
    pub blow: Blow,
    /// The run.
    pub manner: Manner,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Whether the blow fell before the run was over.
    pub fell: bool,
    /// Whether something stood still or was skewed at that moment, where that could be looked at.
    pub in_force: bool,
    /// What was left, and whatever else was wrong.
    pub left: Vec<String>,
    /// Where the sound owner was accused: nothing is left by that, but it's no truth either.
    pub accused: Vec<String>,
    /// From the blow to nothing left.
    pub clean_after: Duration,
    /// What the partial bundles were judged to be.
    pub judged: Vec<i32>,
}

/// Tries one.
pub fn run(program: &Path, dir: &Path, case: &Case) -> Result<Outcome, String> {
    let mut subject = Subject::start(program, dir, case.number, &case.manner)?;
    let mut outcome = Outcome::default();
    if let Some(at) = case.blow.at() {
        let early = matches!(case.blow, Blow::Kill(_)) || is_up(&subject);
        outcome.fell = early && subject.reaches(at) && !is_whole(&subject);
        outcome.in_force = outcome.fell && !remains::in_force(&subject).is_empty();
    }
    let mut struck = Instant::now();
    match &case.blow {
        Blow::Kill(_) => {
            subject.signal(Signal::KILL);
            let _ = subject.wait(ENDING);
        }
        Blow::Die(..) => {
            let status = subject.wait(RUN);
            struck = Instant::now();
            outcome.fell = status.is_some_and(|status| status.signal() == Some(Signal::KILL.as_raw()));
            if status.is_none() {
                outcome.left.push("the run did not end".to_owned());
            }
        }
        Blow::Ask(signal, _) => {
            subject.signal_group(*signal);
            let status = subject.wait(ENDING);
            ended(status, outcome.fell, &subject, &mut outcome);
        }
        Blow::Impatient(_) => {
            for _ in 0..3 {
                subject.signal_group(Signal::INT);
                // Signals of one kind that come at once are one.
                std::thread::sleep(LOOK / 2);
            }
            if subject.wait(ENDING).is_none() {
                outcome.left.push("the run did not end".to_owned());
            }
        }
        Blow::CtrlZ(_) => ctrl_z(&mut subject, &mut outcome),
        Blow::Hung(_) => hung(&mut subject, &mut outcome),
        Blow::WardenKilled(_) => {
            kill_warden(&subject, &mut outcome);
            let status = subject.wait(RUN);
            ended(status, false, &subject, &mut outcome);
            outcome.left.extend(remains::in_force(&subject));
            // Its journal outlives it.
            healed(subject.command(&["undo", "--out", "out"]), &[0], &mut outcome);
        }
        Blow::BothKilledUndo(_) | Blow::BothKilledNextStart(_) => {
            kill_warden(&subject, &mut outcome);
            subject.signal(Signal::KILL);
            let _ = subject.wait(ENDING);
            outcome.in_force |= !remains::in_force(&subject).is_empty();
            let bundles = subject.bundles();
            struck = Instant::now();
            if matches!(case.blow, Blow::BothKilledUndo(_)) {
                healed(subject.command(&["undo", "--out", "out"]), &[0], &mut outcome);
            } else {
                // On a busy machine a next start may come to "cannot tell"; here it's about its healing.
                healed(subject.next_start(), &[0, 3], &mut outcome);
            }
            judge(&subject, &bundles, &mut outcome);
        }
    }
    let left = settle(&subject);
    outcome.clean_after = struck.elapsed();
    outcome.left.extend(left);
    if let Some(url) = subject.server() {
        healed(
            subject.command(&["undo", "--out", "out", "--store", url]),
            &[0],
            &mut outcome,
        );
        outcome.left.extend(remains::in_server(&subject));
    }
    if outcome.judged.is_empty() {
        let bundles = subject.bundles();
        judge(&subject, &bundles, &mut outcome);
    }
    Ok(outcome)
}

/// Waits until its warden is up: before, there is nothing to undo, and signals have their usual meaning.
fn is_up(subject: &Subject) -> bool {
    let patience = Instant::now() + STARTING;
    while subject.warden().is_none() {
        if Instant::now() >= patience || !subject.reaches(subject.began.elapsed() + Duration::from_millis(5)) {
            return false;
        }
    }
    true
}

/// Waits until nothing is left; what still is at the end of patience.
fn settle(subject: &Subject) -> Vec<String> {
    let patience = Instant::now() + MAKING_GOOD;
    loop {
        let left = remains::look(subject, &[]);
        if left.is_empty() || Instant::now() >= patience {
            return left;
        }
        std::thread::sleep(LOOK);
    }
}

fn ctrl_z(subject: &mut Subject, outcome: &mut Outcome) {
    subject.signal_group(Signal::TSTP);
    let patience = Instant::now() + ENDING;
    let stands = |subject: &Subject| stat::read(subject.id().pid).is_ok_and(|row| row.state == 'T');
    while !stands(subject) {
        if subject.wait(LOOK).is_some() {
            // It was over already.
            outcome.fell &= is_whole(subject);
            return;
        }
        if Instant::now() >= patience {
            outcome.left.push("leaseproof did not stop on Ctrl-Z".to_owned());
            return;
        }
    }
    let beside_it = remains::look(subject, &[subject.id()]);
    outcome
        .left
        .extend(beside_it.into_iter().map(|what| format!("while stopped: {what}")));
    subject.signal_group(Signal::CONT);
    let status = subject.wait(ENDING);
    ended(status, outcome.fell, subject, outcome);
}

fn hung(subject: &mut Subject, outcome: &mut Outcome) {
    subject.signal(Signal::STOP);
    let patience = Instant::now() + HARD_DEADLINES;
    let mut calm = 0;
    let mut standing = Vec::new();
    // Calm is more than one look: nothing may be stopped again either.
    while calm < 10 && Instant::now() < patience {
        standing = remains::in_force(subject);
        calm = if standing.is_empty() { calm + 1 } else { 0 };
        std::thread::sleep(LOOK);
    }
    outcome.left.extend(
        standing
            .into_iter()
            .map(|what| format!("past the hard deadlines: {what}")),
    );
    subject.signal(Signal::CONT);
    let status = subject.wait(RUN);
    ended(status, false, subject, outcome);
}

fn kill_warden(subject: &Subject, outcome: &mut Outcome) {
    match subject.warden().and_then(|warden| PidFd::open(warden).ok()) {
        Some(held) => {
            let _ = held.signal(Signal::KILL);
        }
        // It has left with the run.
        None => outcome.fell = false,
    }
}

/// A run that was asked to end says 3, and any other may.
fn ended(status: Option<ExitStatus>, asked: bool, subject: &Subject, outcome: &mut Outcome) {
    let Some(status) = status else {
        outcome.left.push("the run did not end".to_owned());
        return;
    };
    match status.code() {
        Some(3) => {}
        Some(0) if !asked || is_whole_and_proven(subject) => {}
        Some(1) => outcome.accused.push("the run itself said violated".to_owned()),
        _ => outcome.left.push(format!("it ended with {status}, not with 3")),
    }
}

/// The run is over and its verdict is written.
fn is_whole(subject: &Subject) -> bool {
    let bundles = subject.bundles();
    bundles.iter().any(|bundle| !verdict_of(bundle).is_empty())
}

fn is_whole_and_proven(subject: &Subject) -> bool {
    let bundles = subject.bundles();
    bundles.iter().any(|bundle| says_proven(bundle))
}

fn verdict_of(bundle: &Path) -> String {
    std::fs::read_to_string(bundle.join("verdict.json")).unwrap_or_default()
}

fn says_proven(bundle: &Path) -> bool {
    let document: Option<serde_json::Value> = serde_json::from_str(&verdict_of(bundle)).ok();
    document.is_some_and(|document| document["verdict"] == "proven")
}

/// Every planned scenario has ended or was not offered, by the record's own lines: such a run was killed
/// while it wrote its verdict down, and what it recorded can be judged.
fn is_recorded_whole(bundle: &Path) -> bool {
    let text = std::fs::read_to_string(bundle.join("events.jsonl")).unwrap_or_default();
    let lines: Vec<Line> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let ended = |run: u32| {
        lines
            .iter()
            .any(|line| matches!(line, Line::End { run: it, .. } if *it == run))
    };
    let mut planned = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = BTreeSet::new();
    for line in &lines {
        match line {
            Line::Header(header) => planned.extend(header.scenarios.iter().copied()),
            Line::Scenario { run, ask } => {
                seen.insert(ask.scenario);
                if !ended(*run) {
                    open.insert(ask.scenario);
                }
            }
            Line::NotOffered(it) => {
                seen.insert(it.id);
                open.remove(&it.id);
            }
            _ => {}
        }
    }
    open.is_empty() && planned.is_subset(&seen) && !planned.is_empty()
}

/// A partial bundle is readable and never proven.
fn judge(subject: &Subject, bundles: &[std::path::PathBuf], outcome: &mut Outcome) {
    for bundle in bundles {
        let text = bundle.display().to_string();
        let status = subject
            .command(&["verify", "--judge", &text])
            .ok()
            .and_then(|output| output.status.code());
        match status {
            Some(3) => {}
            Some(0) if says_proven(bundle) || is_recorded_whole(bundle) => {}
            Some(0) => outcome.left.push("its partial bundle is judged proven".to_owned()),
            Some(1) => outcome.accused.push(format!("{text} is judged violated")),
            other => outcome
                .left
                .push(format!("its bundle can't be judged (status {other:?})")),
        }
        outcome.judged.push(status.unwrap_or(-1));
    }
}

fn healed(output: std::io::Result<Output>, right: &[i32], outcome: &mut Outcome) {
    match output {
        Ok(output) if output.status.code().is_some_and(|code| right.contains(&code)) => {}
        Ok(output) => outcome.left.push(format!(
            "healing ended with {}: {}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout).trim(),
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Err(error) => outcome.left.push(format!("healing can't be started: {error}")),
    }
}
