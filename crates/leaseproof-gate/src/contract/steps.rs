//! The writes that follow one another, and what each must come to.

use super::report::{Check, Demand, Fault};
use super::target::{Outcome, Target, Writer};
use leaseproof_model::truth::Truth;

/// One writer after the other, and what is known of the resource meanwhile.
pub struct Steps<'a> {
    target: &'a dyn Target,
    writers: [Box<dyn Writer>; 2],
    /// The greatest token that was accepted.
    pub mark: u64,
    /// The greatest that came, accepted or not.
    came: u64,
    /// The value that was accepted last.
    value: String,
    count: u64,
    run: String,
    pub checks: Vec<Check>,
    /// What a read showed after each refusal.
    applied: Option<Result<u32, Fault>>,
}

impl<'a> Steps<'a> {
    /// Nothing was written yet.
    pub fn new(target: &'a dyn Target, run: &str) -> Self {
        Self {
            target,
            writers: [target.writer(0), target.writer(1)],
            mark: 0,
            came: 0,
            value: String::new(),
            count: 0,
            run: run.to_owned(),
            checks: Vec::new(),
            applied: None,
        }
    }

    /// A value that was not written before.
    pub fn fresh_value(&mut self) -> String {
        self.count += 1;
        format!("{}-{}", self.run, self.count)
    }

    /// Writes until `demand` is answered: each token with its holder, and whether it must be accepted. Ends at the first
    /// that is not as it must be.
    pub fn demand(&mut self, demand: Demand, writes: &[(usize, u64, bool)]) -> Truth {
        let mut done = Vec::new();
        for (holder, token, accept) in writes.iter().copied() {
            let value = self.fresh_value();
            let outcome = self.writers[holder].write(token, &value);
            let before = self.mark;
            let came = self.came;
            self.came = came.max(token);
            let holder = ["a", "b"][holder];
            let (holds, fault) = match (&outcome, accept) {
                (Outcome::Accepted, true) => {
                    self.mark = self.mark.max(token);
                    self.value = value;
                    done.push(format!("{token} of {holder} accepted"));
                    continue;
                }
                (Outcome::Refused(_), false) => {
                    self.look_after_refusal(token);
                    done.push(format!("{token} of {holder} refused"));
                    continue;
                }
                (Outcome::Accepted, false) => {
                    let refused = if came > before { ", which was refused" } else { "" };
                    let says = format!("token {token} was accepted after {came}{refused}");
                    (Truth::No, Some(Fault::stale(says)))
                }
                (Outcome::Refused(_), true) if demand == Demand::FirstAccepted => (Truth::CannotTell, None),
                (Outcome::Refused(why), true) => {
                    let says = format!("token {token} was refused, and the greatest before it was {before}: {why}");
                    (Truth::No, Some(Fault::refused(says)))
                }
                (Outcome::Unknown(_), _) => (Truth::CannotTell, None),
            };
            let says = match outcome {
                Outcome::Accepted => format!("{token} of {holder} accepted"),
                Outcome::Refused(why) if demand == Demand::FirstAccepted => format!(
                    "{token} was refused: {why}; give --from a token above all that were used, or a new {{key}}"
                ),
                Outcome::Refused(_) => format!("{token} of {holder} refused"),
                Outcome::Unknown(why) => format!("{token} of {holder}: no answer that says yes or no: {why}"),
            };
            done.push(says);
            return self.answer(demand, holds, done.join(", "), fault);
        }
        self.answer(demand, Truth::Yes, done.join(", "), None)
    }

    /// Notes an answer.
    pub fn answer(&mut self, demand: Demand, holds: Truth, says: String, fault: Option<Fault>) -> Truth {
        self.checks.push(Check {
            demand,
            holds,
            says,
            fault,
        });
        holds
    }

    /// After a restart: both writers come anew.
    pub fn connect_anew(&mut self) {
        self.writers = [self.target.writer(0), self.target.writer(1)];
    }

    /// One write by the first holder that is not a check of its own.
    pub fn try_once(&mut self, token: u64) -> Outcome {
        let value = self.fresh_value();
        self.writers[0].write(token, &value)
    }

    /// What the resource has now.
    pub fn read(&mut self) -> Result<String, String> {
        self.writers[1].read()
    }

    /// A refusal that was applied all the same is none.
    fn look_after_refusal(&mut self, token: u64) {
        if !self.target.reads() || matches!(self.applied, Some(Err(_))) {
            return;
        }
        let seen = self.read();
        let looks = self.applied.take().and_then(Result::ok).unwrap_or(0);
        self.applied = Some(match seen {
            Ok(seen) if !seen.contains(&self.value) => Err(Fault::stale(format!(
                "the write with token {token} was refused, and the resource has another value after it: `{}`",
                seen.trim()
            ))),
            Ok(_) => Ok(looks + 1),
            Err(_) => Ok(looks),
        });
    }

    /// The answer to what the reads after refusals showed.
    pub fn answer_applied(&mut self) {
        match self.applied.take() {
            None => {}
            Some(Ok(0)) => {
                let says = "nothing could be read".to_owned();
                self.answer(Demand::RefusedNotApplied, Truth::CannotTell, says, None);
            }
            Some(Ok(looks)) => {
                let s = if looks == 1 { "" } else { "s" };
                let says = format!("read after {looks} refusal{s}: the value before was there");
                self.answer(Demand::RefusedNotApplied, Truth::Yes, says, None);
            }
            Some(Err(fault)) => {
                let says = "a refused write changed the resource".to_owned();
                self.answer(Demand::RefusedNotApplied, Truth::No, says, Some(fault));
            }
        }
    }
}
