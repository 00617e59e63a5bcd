//! The contract test of any resource's fence: what must hold before a lock is relied on.
//!
//! Start at [`run`]. It writes below a key of its own where the resource has keys ([`target::scratch_key`]): the marks
//! that it leaves behind are nobody's.

pub mod command;
pub mod http;
mod race;
pub mod redis;
pub mod report;
pub mod sql;
mod steps;
pub mod target;

pub use report::{Demand, Report};
pub use target::{Outcome, Target, Template, Writer, scratch_key};

use leaseproof_model::truth::Truth;
use report::Fault;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use steps::Steps;

/// What is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// This run's key, for the report.
    pub key: String,
    /// The first token; all that were used before must be below it.
    pub from: u64,
    /// Whether tokens above 2^53 may be used.
    pub large: bool,
    /// What restarts the resource, for a shell.
    pub restart: Option<String>,
    /// How long the resource may take to answer again after it.
    pub restart_patience: Duration,
    /// How many races.
    pub rounds: u32,
}

/// Looks at each demand in turn. Where one doesn't hold the others are looked at all the same, as far as they can be.
#[must_use]
pub fn run(target: &dyn Target, plan: &Plan) -> Report {
    let mut steps = Steps::new(target, &plan.key);
    let from = plan.from;
    let first = from + 9;
    if steps.demand(Demand::FirstAccepted, &[(0, first, true)]) == Truth::Yes {
        steps.demand(Demand::SameAccepted, &[(0, first, true)]);
        // After each refusal a write that must pass: a resource that is down refuses everything.
        steps.demand(Demand::LowerRefused, &[(0, first - 1, false), (0, first, true)]);
        steps.demand(Demand::GreaterAccepted, &[(1, first + 1, true)]);
        let nines = all_nines_above(first + 1);
        steps.demand(
            Demand::NumbersNotText,
            &[
                (1, nines, true),
                (0, nines + 1, true),
                (1, nines, false),
                (0, nines + 1, true),
            ],
        );
        steps.demand(Demand::OrderNotEquality, &[(0, first, false), (1, nines + 1000, true)]);
        if plan.large {
            // The next number has no double of its own: it becomes this one.
            let exact = (1 << 53).max(steps.mark + 2) & !1;
            steps.demand(
                Demand::ExactNumbers,
                &[
                    (0, exact, true),
                    (1, exact + 1, true),
                    (0, exact, false),
                    (1, exact + 1, true),
                ],
            );
        }
        steps.answer_applied();
        if let Some(command) = &plan.restart {
            restart(&mut steps, command, plan.restart_patience);
        }
        race::race(&mut steps, target, plan.rounds);
    }
    Report::new(&plan.key, steps.checks)
}

/// The next number above `token` that is all nines.
fn all_nines_above(token: u64) -> u64 {
    let mut nines = 9;
    while nines <= token && nines < u64::MAX / 100 {
        nines = nines * 10 + 9;
    }
    nines
}

/// Restarts the resource, and asks with a stale token as soon as it answers.
fn restart(steps: &mut Steps<'_>, command: &str, patience: Duration) {
    let demand = Demand::RestartRemembered;
    let done = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    match done {
        Ok(status) if status.success() => {}
        Ok(status) => {
            steps.answer(
                demand,
                Truth::CannotTell,
                format!("the restart command failed: {status}"),
                None,
            );
            return;
        }
        Err(error) => {
            steps.answer(
                demand,
                Truth::CannotTell,
                format!("no shell for the restart command: {error}"),
                None,
            );
            return;
        }
    }
    let until = Instant::now() + patience;
    let (mark, stale) = (steps.mark, steps.mark - 1);
    loop {
        steps.connect_anew();
        match steps.try_once(stale) {
            Outcome::Refused(_) => break,
            Outcome::Accepted => {
                let says = format!("token {stale} was accepted after a restart; {mark} had been accepted before it");
                steps.answer(demand, Truth::No, format!("{stale} accepted"), Some(Fault::stale(says)));
                return;
            }
            Outcome::Unknown(why) if Instant::now() >= until => {
                steps.answer(
                    demand,
                    Truth::CannotTell,
                    format!("no answer within {patience:?} after it: {why}"),
                    None,
                );
                return;
            }
            Outcome::Unknown(_) => sleep(Duration::from_millis(50)),
        }
    }
    // It may refuse while it comes up; and it must let the holder of the mark go on.
    loop {
        match steps.try_once(mark) {
            Outcome::Accepted => break,
            Outcome::Refused(why) => {
                let says = format!("token {mark}, the greatest, was refused after a restart: {why}");
                steps.answer(demand, Truth::No, format!("{mark} refused"), Some(Fault::refused(says)));
                return;
            }
            Outcome::Unknown(why) if Instant::now() >= until => {
                steps.answer(
                    demand,
                    Truth::CannotTell,
                    format!("no answer within {patience:?} after it: {why}"),
                    None,
                );
                return;
            }
            Outcome::Unknown(_) => {
                steps.connect_anew();
                sleep(Duration::from_millis(50));
            }
        }
    }
    steps.answer(
        demand,
        Truth::Yes,
        format!("{stale} refused after the restart, {mark} accepted"),
        None,
    );
}

#[cfg(test)]
mod tests {
    use super::all_nines_above;

    #[test]
    fn nines() {
        for (above, nines) in [(0, 9), (9, 99), (11, 99), (98, 99), (99, 999), (1000, 9999)] {
            assert_eq!(all_nines_above(above), nines, "{above}");
        }
    }
}
