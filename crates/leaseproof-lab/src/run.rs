//! A whole run: prepare, all scenarios side by side, judge, write the bundle.

use crate::bundle::{Bundle, read_bundle};
use crate::plan::Plan;
use crate::prepare::{self, Ready};
use crate::progress::{Progress, Watcher};
use crate::scenarios::{self, Outcome};
use leaseproof_judge::{Policy, judge};
use leaseproof_model::budget::Budget;
use leaseproof_model::history::History;
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::{BudgetReport, NotOffered, RunVerdict, ScenarioVerdict, VERDICT_SCHEMA, Verdict};
use leaseproof_proc::clock::{boot_now, stamp_now};
use leaseproof_witness::WitnessFlaw;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A face that turns a run's verdict into a document.
pub type Face = Box<dyn Fn(&RunVerdict) -> String + Send + Sync>;
/// The face with the picture: it wants the records too.
pub type Picture = Box<dyn Fn(&RunVerdict, &[&History]) -> String + Send + Sync>;

/// What to run, and who watches.
pub struct RunSettings {
    /// The plan.
    pub plan: Plan,
    /// The folder that runs are kept in.
    pub out: PathBuf,
    /// Keep the run's keys and store files.
    pub keep: bool,
    /// The running program: it starts the warden, the stubs and the reference owner.
    pub exe: PathBuf,
    /// Set from outside to end the run: every guard undoes its fault on the way out.
    pub stop: Arc<AtomicBool>,
    /// A flaw of the witness: the check on our own rig, never a user's choice.
    pub witness_flaw: Option<WitnessFlaw>,
    /// Who watches.
    pub watcher: Arc<Watcher>,
    /// The report with the picture.
    pub html: Picture,
    /// `verdict.json`.
    pub json: Face,
    /// `junit.xml`.
    pub junit: Face,
}

/// What a run came to.
#[derive(Debug)]
pub struct RunReport {
    /// The verdict.
    pub verdict: RunVerdict,
    /// The records that it was judged by.
    pub histories: Vec<History>,
    /// Where the bundle is.
    pub folder: PathBuf,
}

/// A run that did not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The call or the plan is wrong; nothing was started and nothing is left behind.
    #[error("{0}")]
    Refused(String),
}

/// Runs the plan.
///
/// # Errors
/// When the plan, the store or the output folder is refused before anything starts.
pub fn run(settings: RunSettings) -> Result<RunReport, RunError> {
    let began = boot_now();
    let seed = settings.plan.seed.unwrap_or_else(random_seed);
    let ready = prepare::prepare(&settings, seed).map_err(RunError::Refused)?;
    let ran = run_all(&settings, &ready);
    let incomplete = ran
        .incomplete
        .or_else(|| ready.log.failure().map(|why| format!("recording failed: {why}")));
    let took = boot_now().since(began);
    let mut judged = judge_all(&ran.histories, &Policy::default());
    let mut not_offered = ran.not_offered;
    not_offered.sort_by_key(|it| it.id);
    judged.sort_by_key(|verdict| verdict.id);
    let verdict = sum_up(&Sum {
        run: &ready.run,
        seed,
        took,
        budget: ready.budget,
        scenarios: judged,
        not_offered,
        incomplete,
        require: &settings.plan.require,
    });
    let histories: Vec<&History> = ran.histories.iter().collect();
    let folder = &ready.folder;
    let mut verdict = verdict;
    let documents = [
        ("verdict.json", (settings.json)(&verdict)),
        ("junit.xml", (settings.junit)(&verdict)),
        ("report.html", (settings.html)(&verdict, &histories)),
    ];
    for (name, text) in documents {
        if let Err(error) = folder.write(name, text.as_bytes()) {
            // A failed recording never turns into a pass.
            verdict.verdict = verdict.verdict.max(Verdict::CannotTell);
            verdict
                .incomplete
                .get_or_insert(format!("{name} can't be written: {error}"));
        }
    }
    let folder = folder.path().to_owned();
    ready.close(settings.keep);
    Ok(RunReport {
        verdict,
        histories: ran.histories,
        folder,
    })
}

/// Judges a kept bundle again.
///
/// # Errors
/// When the folder is no bundle; one message, with what to do.
pub fn judge_bundle(dir: &Path, policy: &Policy) -> Result<RunReport, String> {
    let bundle = read_bundle(dir)?;
    let mut judged = judge_all(&bundle.histories, policy);
    if bundle.damaged {
        judged.iter_mut().for_each(doubt);
    }
    let budget = bundle
        .histories
        .first()
        .map_or_else(Budget::standard, |history| history.ask.budget);
    let took = bundle
        .histories
        .iter()
        .map(|history| history.took_ms)
        .max()
        .unwrap_or(0);
    let incomplete = match bundle.problems.first() {
        Some((line, says)) => Some(format!(
            "events.jsonl:{line}: {says} ({} lines in all)",
            bundle.problems.len()
        )),
        None if bundle.histories.is_empty() => Some("no scenario was recorded".to_owned()),
        None => never_begun(&bundle),
    };
    let verdict = sum_up(&Sum {
        run: &bundle.header.run,
        seed: bundle.header.seed,
        took: Duration::from_millis(took),
        budget,
        scenarios: judged,
        not_offered: bundle.not_offered,
        incomplete,
        require: &[],
    });
    Ok(RunReport {
        verdict,
        histories: bundle.histories,
        folder: dir.to_owned(),
    })
}

/// What a damaged record shows proves nothing, and accuses nobody: the line that is gone may decide.
fn doubt(scenario: &mut ScenarioVerdict) {
    scenario.verdict = Verdict::CannotTell;
    scenario.safety = Verdict::CannotTell;
    scenario.availability = scenario.availability.map(|_| Verdict::CannotTell);
    for finding in &mut scenario.findings {
        finding.certainty = Truth::CannotTell;
    }
    if let Some(twin) = &mut scenario.twin {
        doubt(twin);
    }
}

/// Planned, and on record neither as run nor as not offered: the run was ended before.
fn never_begun(bundle: &Bundle) -> Option<String> {
    let recorded = |id: ScenarioId| {
        bundle.histories.iter().any(|history| history.ask.scenario == id)
            || bundle.not_offered.iter().any(|it| it.id == id)
    };
    let planned = bundle.header.scenarios.iter().copied();
    let missing: Vec<&str> = planned.filter(|&id| !recorded(id)).map(ScenarioId::as_str).collect();
    (!missing.is_empty()).then(|| format!("these scenarios never began: {}", missing.join(", ")))
}

/// Judges each history; the twin of a clock scenario is judged with it, not beside it.
fn judge_all(histories: &[History], policy: &Policy) -> Vec<ScenarioVerdict> {
    let twin_of = |history: &History| {
        histories.iter().find(|twin| {
            twin.ask.twin && twin.ask.scenario == history.ask.scenario && twin.ask.store.kind == history.ask.store.kind
        })
    };
    histories
        .iter()
        .filter(|history| !history.ask.twin)
        .map(|history| judge(history, twin_of(history), policy))
        .collect()
}

struct Ran {
    histories: Vec<History>,
    not_offered: Vec<NotOffered>,
    incomplete: Option<String>,
}

fn run_all(settings: &RunSettings, ready: &Ready) -> Ran {
    let queue: Mutex<VecDeque<ScenarioId>> = Mutex::new(settings.plan.scenarios.iter().copied().collect());
    let ended: Mutex<Vec<(ScenarioId, Outcome)>> = Mutex::new(Vec::new());
    let jobs = settings
        .plan
        .jobs
        .unwrap_or(usize::MAX)
        .min(settings.plan.scenarios.len())
        .max(1);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // What is recorded reaches the disk while the run goes on: a run that is killed leaves its evidence.
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(200));
                ready.log.flush();
            }
        });
        let workers: Vec<_> = (0..jobs)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                        let Some(id) = next else { break };
                        if settings.stop.load(Ordering::Relaxed) {
                            break;
                        }
                        (settings.watcher)(Progress::Started(id));
                        let outcome = scenarios::run(id, settings, ready);
                        tell(settings, ready, &outcome);
                        ended.lock().unwrap_or_else(PoisonError::into_inner).push((id, outcome));
                    }
                })
            })
            .collect();
        for worker in workers {
            // A scenario that panicked leaves no history: it is missed below, and the run is no pass.
            let _ = worker.join();
        }
        done.store(true, Ordering::Relaxed);
    });
    collect(settings, ended.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn tell(settings: &RunSettings, ready: &Ready, outcome: &Outcome) {
    match outcome {
        Outcome::Ran(histories) => {
            if let Some(verdict) = judge_all(histories, &Policy::default()).pop() {
                (settings.watcher)(Progress::Ended(Box::new(verdict)));
            }
        }
        Outcome::NotOffered(it) => {
            ready.log.not_offered(it);
            (settings.watcher)(Progress::NotOffered(it.clone()));
        }
    }
}

fn collect(settings: &RunSettings, ended: Vec<(ScenarioId, Outcome)>) -> Ran {
    let interrupted = settings.stop.load(Ordering::Relaxed);
    let missing: Vec<_> = settings
        .plan
        .scenarios
        .iter()
        .filter(|id| !ended.iter().any(|(done, _)| done == *id))
        .map(|id| id.as_str())
        .collect();
    let mut ran = Ran {
        histories: Vec::new(),
        not_offered: Vec::new(),
        incomplete: None,
    };
    if interrupted {
        ran.incomplete = Some("it was interrupted: the bundle holds what was seen until then".to_owned());
    } else if !missing.is_empty() {
        ran.incomplete = Some(format!(
            "scenarios ended by a fault of leaseproof itself: {}",
            missing.join(", ")
        ));
    }
    for (_, outcome) in ended {
        match outcome {
            Outcome::Ran(histories) => ran.histories.extend(histories),
            Outcome::NotOffered(it) => ran.not_offered.push(it),
        }
    }
    ran
}

struct Sum<'a> {
    run: &'a str,
    seed: u64,
    took: Duration,
    budget: Budget,
    scenarios: Vec<ScenarioVerdict>,
    not_offered: Vec<NotOffered>,
    incomplete: Option<String>,
    require: &'a [ScenarioId],
}

fn sum_up(sum: &Sum<'_>) -> RunVerdict {
    let mut verdict = sum
        .scenarios
        .iter()
        .map(|scenario| scenario.verdict)
        .max()
        .unwrap_or(Verdict::CannotTell);
    // The rig's self-check alone shows nothing about the owner.
    let about_the_owner = sum
        .scenarios
        .iter()
        .any(|scenario| scenario.id != ScenarioId::StaleToken);
    let missed = sum.not_offered.iter().any(|it| sum.require.contains(&it.id));
    let mut incomplete = sum.incomplete.clone();
    if !about_the_owner && incomplete.is_none() {
        incomplete = Some("no scenario about the owner was run, so nothing is shown about it".to_owned());
    }
    if incomplete.is_some() || missed {
        verdict = verdict.max(Verdict::CannotTell);
    }
    let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    RunVerdict {
        schema: VERDICT_SCHEMA.to_owned(),
        run: sum.run.to_owned(),
        seed: sum.seed,
        took_ms: ms(sum.took),
        verdict,
        incomplete,
        budget: BudgetReport {
            margin_ms: ms(sum.budget.margin()),
            plain_margin_ms: ms(sum.budget.plain_margin()),
            worst_pause_ms: ms(sum.budget.worst_pause),
            holds: sum.budget.holds(),
            numbers: sum.budget,
        },
        scenarios: sum.scenarios.clone(),
        not_offered: sum.not_offered.clone(),
    }
}

/// Different for each run, and printed: any run can be repeated with `--seed`.
fn random_seed() -> u64 {
    let stamp = stamp_now();
    #[expect(clippy::cast_sign_loss, reason = "only its bits are wanted")]
    let wall = stamp.wall.0 as u64;
    (stamp.boot.0 ^ wall.rotate_left(17)) % 1_000_000
}
