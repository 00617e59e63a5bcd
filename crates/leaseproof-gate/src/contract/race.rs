//! Two writers at once: the one with the smaller token goes on and on, the other comes in between.

use super::report::{Demand, Fault};
use super::steps::Steps;
use super::target::{Outcome, Target, Writer};
use leaseproof_model::truth::Truth;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// So many writes of the old holder after the new one's was answered: one would be enough for a fence that holds.
const AFTER: u32 = 3;

/// So many before that: a store that serves whoever comes again first would starve the new holder.
const BEFORE: usize = 100;

struct Write {
    began: Instant,
    outcome: Outcome,
}

/// Races so many rounds, each with two tokens of its own.
pub fn race(steps: &mut Steps<'_>, target: &dyn Target, rounds: u32) {
    let mut old_writes = 0;
    for round in 0..rounds {
        let (old, new) = (steps.mark + 1, steps.mark + 2);
        let value = steps.fresh_value();
        let old_value = steps.fresh_value();
        let (writes, newer, answered) = round_of(target, (old, &old_value), (new, &value));
        old_writes += writes.len();
        let (holds, says, fault) = match newer {
            Outcome::Unknown(why) => (Truth::CannotTell, format!("{new}: {why}"), None),
            Outcome::Refused(why) => {
                let says = format!("token {new} was refused while {old} wrote: {why}");
                (Truth::No, format!("{new} refused"), Some(Fault::refused(says)))
            }
            Outcome::Accepted => {
                steps.mark = new;
                let silent = writes.is_empty();
                let stale = writes
                    .iter()
                    .filter(|it| it.began > answered && it.outcome == Outcome::Accepted)
                    .count();
                let unknown = writes.iter().find_map(|it| match &it.outcome {
                    Outcome::Unknown(why) => Some(why.clone()),
                    _ => None,
                });
                if stale > 0 {
                    let says = format!("token {old} was accepted in a write that began after {new} was answered");
                    (Truth::No, format!("{stale} stale writes"), Some(Fault::stale(says)))
                } else if silent {
                    (Truth::CannotTell, format!("{old} was never written with"), None)
                } else if let Some(why) = unknown {
                    (Truth::CannotTell, format!("{old}: {why}"), None)
                } else {
                    match target.reads().then(|| steps.read()) {
                        Some(Ok(seen)) if !seen.contains(&value) => {
                            let says = format!(
                                "both were accepted at once, and the value is not that of token {new}: `{}`",
                                seen.trim()
                            );
                            (Truth::No, format!("{old} overtook {new}"), Some(Fault::stale(says)))
                        }
                        Some(Err(why)) => (Truth::CannotTell, format!("it can't be read: {why}"), None),
                        _ => continue,
                    }
                }
            }
        };
        let says = format!("round {} of {rounds}: {says}", round + 1);
        steps.answer(Demand::RaceInOrder, holds, says, fault);
        return;
    }
    let read = if target.reads() {
        ", and the value was always the newer one's"
    } else {
        ""
    };
    let says = format!(
        "{rounds} rounds, {old_writes} writes of the older holder; none was accepted after the newer one's{read}"
    );
    steps.answer(Demand::RaceInOrder, Truth::Yes, says, None);
}

/// The old holder's writes, the new one's, and when that was answered.
fn round_of(target: &dyn Target, old: (u64, &str), new: (u64, &str)) -> (Vec<Write>, Outcome, Instant) {
    let over = AtomicBool::new(false);
    let both = Barrier::new(2);
    std::thread::scope(|scope| {
        let older = scope.spawn(|| write_on(target.writer(0), old, &over, &both));
        let mut writer = target.writer(1);
        // Also where it panics: the other one waits for it.
        let end = End(&over);
        both.wait();
        let outcome = writer.write(new.0, new.1);
        let answered = Instant::now();
        drop(end);
        // One that panicked has no writes, and nothing can be told then.
        (older.join().unwrap_or_default(), outcome, answered)
    })
}

/// Says that the new holder is done, once it is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn write_on(mut writer: Box<dyn Writer>, (token, value): (u64, &str), over: &AtomicBool, both: &Barrier) -> Vec<Write> {
    let mut writes = Vec::new();
    let mut after = 0;
    both.wait();
    loop {
        while writes.len() >= BEFORE && !over.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(1));
        }
        if over.load(Ordering::SeqCst) {
            after += 1;
        }
        let began = Instant::now();
        let outcome = writer.write(token, value);
        let unknown = matches!(outcome, Outcome::Unknown(_));
        writes.push(Write { began, outcome });
        if after == AFTER || unknown {
            break;
        }
    }
    writes
}
