//! A whole run: prepare, all scenarios side by side, judge, write the bundle.

use crate::prepare::{self, Ready, Site};
use crate::progress::Progress;
use crate::scenarios::{self, Outcome};
use crate::settings::RunSettings;
use crate::verdict::{RunReport, Sum, judge_all, sum_up};
use leaseproof_judge::Policy;
use leaseproof_model::history::History;
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::verdict::{NotOffered, Verdict};
use leaseproof_proc::clock::{boot_now, stamp_now};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

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
    let place = |store: &str| ready.sites.iter().position(|site| site.name == store);
    not_offered.sort_by_key(|it| (place(&it.store), it.id));
    judged.sort_by_key(|verdict| (place(&verdict.store), verdict.id));
    let verdict = sum_up(&Sum {
        run: &ready.run,
        seed,
        took,
        budget: ready.sites[0].budget,
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

struct Ran {
    histories: Vec<History>,
    not_offered: Vec<NotOffered>,
    incomplete: Option<String>,
}

fn run_all(settings: &RunSettings, ready: &Ready) -> Ran {
    let wanted = wanted(settings, ready);
    let jobs = settings.plan.jobs.unwrap_or(usize::MAX).min(wanted.len()).max(1);
    let queue: Mutex<VecDeque<Wanted<'_>>> = Mutex::new(wanted.iter().copied().collect());
    let ended: Mutex<Vec<(Wanted<'_>, Outcome)>> = Mutex::new(Vec::new());
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
                        let Some((site, id)) = next else { break };
                        if settings.stop.load(Ordering::Relaxed) {
                            break;
                        }
                        let store = site.name.clone();
                        (settings.watcher)(Progress::Started { id, store });
                        let outcome = scenarios::run(id, settings, ready, site);
                        tell(settings, ready, &outcome);
                        let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
                        ended.push(((site, id), outcome));
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
    let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    collect(settings, &wanted, ended)
}

/// A scenario on a store.
type Wanted<'a> = (&'a Site, ScenarioId);

/// Every scenario on every store: side by side all of them, or in this order.
fn wanted<'a>(settings: &RunSettings, ready: &'a Ready) -> Vec<Wanted<'a>> {
    let scenarios = &settings.plan.scenarios;
    ready
        .sites
        .iter()
        .flat_map(|site| scenarios.iter().map(move |id| (site, *id)))
        .collect()
}

/// The scenario, and its store where there are several.
fn named((site, id): &Wanted<'_>, several: bool) -> String {
    if several {
        format!("{id} on {}", site.name)
    } else {
        id.to_string()
    }
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

fn collect(settings: &RunSettings, wanted: &[Wanted<'_>], ended: Vec<(Wanted<'_>, Outcome)>) -> Ran {
    let interrupted = settings.stop.load(Ordering::Relaxed);
    let several = settings.plan.store.urls.len() + settings.plan.store.start.len() > 1;
    let is = |a: &Wanted<'_>, b: &Wanted<'_>| a.0.name == b.0.name && a.1 == b.1;
    let missing: Vec<_> = wanted
        .iter()
        .filter(|it| !ended.iter().any(|(done, _)| is(done, it)))
        .map(|it| named(it, several))
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

/// Different for each run, and printed: any run can be repeated with `--seed`.
fn random_seed() -> u64 {
    let stamp = stamp_now();
    #[expect(clippy::cast_sign_loss, reason = "only its bits are wanted")]
    let wall = stamp.wall.0 as u64;
    (stamp.boot.0 ^ wall.rotate_left(17)) % 1_000_000
}
