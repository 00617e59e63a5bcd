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
        steps.demand(Demand::NumbersNotText, &overtaken(1, nines));
        steps.demand(Demand::OrderNotEquality, &[(0, first, false), (1, nines + 1000, true)]);
        if plan.large {
            // The next number has no double of its own: it becomes this one.
            let exact = (1 << 53).max(steps.mark + 2) & !1;
            steps.demand(Demand::ExactNumbers, &overtaken(0, exact));
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

/// A token, the next one of another holder, and what both are worth then.
fn overtaken(holder: usize, token: u64) -> [(usize, u64, bool); 4] {
    let (old, new) = ((holder, token), (1 - holder, token + 1));
    [(old, true), (new, true), (old, false), (new, true)].map(|((holder, token), accept)| (holder, token, accept))
}

/// Restarts the resource, and asks with a stale token as soon as it answers.
fn restart(steps: &mut Steps<'_>, command: &str, patience: Duration) {
    let (holds, says, fault) = remembered(steps, command, patience);
    steps.answer(Demand::RestartRemembered, holds, says, fault);
}

fn remembered(steps: &mut Steps<'_>, command: &str, patience: Duration) -> (Truth, String, Option<Fault>) {
    let cannot_tell = |says| (Truth::CannotTell, says, None);
    let silent = |why| cannot_tell(format!("no answer within {patience:?} after it: {why}"));
    let done = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    match done {
        Ok(status) if status.success() => {}
        Ok(status) => return cannot_tell(format!("the restart command failed: {status}")),
        Err(error) => return cannot_tell(format!("no shell for the restart command: {error}")),
    }
    let until = Instant::now() + patience;
    let (mark, stale) = (steps.mark, steps.mark - 1);
    match answered(steps, stale, until) {
        Outcome::Refused(_) => {}
        Outcome::Accepted => {
            let says =
                format!("token {stale} was accepted after the restart command; {mark} had been accepted before it");
            return (Truth::No, format!("{stale} accepted"), Some(Fault::stale(says)));
        }
        Outcome::Unknown(why) => return silent(why),
    }
    // It may refuse while it comes up; and it must let the holder of the mark go on.
    match answered(steps, mark, until) {
        Outcome::Accepted => (
            Truth::Yes,
            format!("{stale} refused after the restart command, {mark} accepted"),
            None,
        ),
        Outcome::Refused(why) => {
            let says = format!("token {mark}, the greatest, was refused after the restart command: {why}");
            (Truth::No, format!("{mark} refused"), Some(Fault::refused(says)))
        }
        Outcome::Unknown(why) => silent(why),
    }
}

/// Writes until it is told yes or no, at the longest until then.
fn answered(steps: &mut Steps<'_>, token: u64, until: Instant) -> Outcome {
    loop {
        steps.connect_anew();
        match steps.try_once(token) {
            Outcome::Unknown(_) if Instant::now() < until => sleep(Duration::from_millis(50)),
            outcome => return outcome,
        }
    }
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
