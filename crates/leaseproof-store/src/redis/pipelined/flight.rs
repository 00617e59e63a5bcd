//! What is on its way, in the order in which it was put. A server answers a connection in that order, and so the
//! answers are matched.

use crate::Grant;
use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::pipelined::{Answered, Ticket, What};
use crate::redis::owner::{applied, unfree};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use std::collections::VecDeque;
use std::time::Duration;

use super::running::Running;

/// What was asked for.
#[derive(Debug)]
pub(super) enum Kind {
    Acquire(Box<Wanted>),
    Renew,
    Release,
}

/// The grant that comes of an acquire, once it has a token.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) key: String,
    pub(super) holder: HolderId,
}

/// One that is on its way.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) ticket: Ticket,
    pub(super) kind: Kind,
    pub(super) asked: BootNanos,
    /// Where its bytes begin, among all that was ever put on this connection.
    pub(super) start: u64,
    /// Until when its own patience lasts, and until when that with its connection, in running time.
    pub(super) patience: Duration,
    pub(super) silence: Duration,
    /// It was given up, and told so: its answer is nobody's.
    pub(super) told: bool,
}

/// What the server said to one.
#[derive(Debug)]
pub(super) enum Said {
    Number(i64),
    /// An error of the server, which comes before the first write of a script.
    Error(StoreError),
    /// Something that no script of ours answers.
    Strange,
}

impl Flight {
    fn end(self, now: BootNanos, said: Said) -> Answered {
        let during = Moment::between(self.asked, now);
        let what = match self.kind {
            Kind::Acquire(wanted) => What::Acquire(judged(said, during, |number| match u64::try_from(number) {
                Ok(token) if token > 0 => Ok(Grant {
                    key: wanted.key,
                    holder: wanted.holder,
                    token: Token(token),
                }),
                _ => Err(unfree(number)),
            })),
            Kind::Renew => {
                // The script gives the server's time where it took effect.
                let at = match said {
                    Said::Number(at) => at,
                    _ => -1,
                };
                What::Renew(judged(said, during, |number| applied(number.min(1))).at_store_micros(at))
            }
            Kind::Release => What::Release(judged(said, during, applied)),
        };
        Answered {
            ticket: self.ticket,
            what,
        }
    }

    /// Not answered: unknown if it may have left.
    fn lost(self, now: BootNanos, may_have_left: bool, why: &str) -> Answered {
        let during = Moment::between(self.asked, now);
        let what = match self.kind {
            Kind::Acquire(_) => What::Acquire(unanswered(may_have_left, why, during)),
            Kind::Renew => What::Renew(unanswered(may_have_left, why, during)),
            Kind::Release => What::Release(unanswered(may_have_left, why, during)),
        };
        Answered {
            ticket: self.ticket,
            what,
        }
    }
}

fn judged<T>(said: Said, during: Moment, judge: impl FnOnce(i64) -> Result<T, Refusal>) -> Done<T> {
    match said {
        Said::Number(number) => match judge(number) {
            Ok(value) => Done::applied(value, during),
            Err(refusal) => Done::refused(refusal, during),
        },
        Said::Error(error) => Done::failed(error, during),
        Said::Strange => Done::unknown("the server answered something that no script of ours says", during),
    }
}

fn unanswered<T>(may_have_left: bool, why: &str, during: Moment) -> Done<T> {
    if may_have_left {
        Done::unknown(why, during)
    } else {
        Done::failed(why, during)
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Flights {
    queue: VecDeque<Flight>,
    /// No patience ends before.
    soonest: Duration,
}

impl Default for Flights {
    fn default() -> Self {
        Self {
            queue: VecDeque::new(),
            soonest: Duration::MAX,
        }
    }
}

impl Flights {
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn push(&mut self, flight: Flight) {
        self.soonest = self.soonest.min(flight.patience).min(flight.silence);
        self.queue.push_back(flight);
    }

    /// The next answer is there. False: nobody asked.
    pub(super) fn answered(&mut self, now: BootNanos, said: Said, into: &mut Vec<Answered>) -> bool {
        let Some(flight) = self.queue.pop_front() else {
            return false;
        };
        if !flight.told {
            into.push(flight.end(now, said));
        }
        true
    }

    /// Gives those up whose patience is over: nobody knows what becomes of them. Whether the connection has been silent
    /// for too long, which is for all that are on it.
    pub(super) fn time_out(&mut self, running: &Running, now: BootNanos, into: &mut Vec<Answered>) -> bool {
        if !running.is_past(self.soonest) {
            return false;
        }
        if self.queue.front().is_some_and(|first| running.is_past(first.silence)) {
            return true;
        }
        self.soonest = Duration::MAX;
        for flight in &mut self.queue {
            if !flight.told && running.is_past(flight.patience) {
                flight.told = true;
                // Its place in the row stays taken until its answer comes.
                let given_up = Flight {
                    kind: std::mem::replace(&mut flight.kind, Kind::Release),
                    ..*flight
                };
                into.push(given_up.lost(now, true, "no answer in time"));
            }
            let next = if flight.told { flight.silence } else { flight.patience };
            self.soonest = self.soonest.min(next).min(flight.silence);
        }
        false
    }

    /// The connection is gone. `handed`: how many bytes were given to it; none where it never was one.
    pub(super) fn lose(&mut self, now: BootNanos, handed: u64, why: &str, into: &mut Vec<Answered>) {
        self.soonest = Duration::MAX;
        for flight in self.queue.drain(..).filter(|flight| !flight.told) {
            let may_have_left = flight.start < handed;
            into.push(flight.lost(now, may_have_left, why));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leaseproof_model::event::Outcome;

    const MS: Duration = Duration::from_millis(1);

    fn flight(number: u64, start: u64, patience: u32) -> Flight {
        Flight {
            ticket: Ticket { whose: 1, number },
            kind: Kind::Renew,
            asked: BootNanos(0),
            start,
            patience: patience * MS,
            silence: 200 * MS,
            told: false,
        }
    }

    fn outcomes(answers: &[Answered]) -> Vec<(u64, Outcome, bool)> {
        let one = |it: &Answered| match &it.what {
            What::Renew(done) => (it.ticket.number, done.outcome, done.is_refused()),
            other => panic!("{other:?}"),
        };
        answers.iter().map(one).collect()
    }

    fn after(millis: u32) -> Running {
        let mut running = Running::default();
        running.spend(millis * MS, millis * MS);
        running
    }

    #[test]
    fn answers_ok_are_matched_in_their_order() {
        let (mut flights, mut answers) = (Flights::default(), Vec::new());
        for number in 0..3 {
            flights.push(flight(number, number, 200));
        }
        for said in [Said::Number(1_700_000_000_000_000), Said::Number(-1), Said::Number(-2)] {
            assert!(flights.answered(BootNanos(9), said, &mut answers));
        }
        let applied = (0, Outcome::Applied, false);
        let refused = |number| (number, Outcome::NotApplied, true);
        assert_eq!(outcomes(&answers), [applied, refused(1), refused(2)]);
    }

    #[test]
    fn answers_bad() {
        let (mut flights, mut answers) = (Flights::default(), Vec::new());
        assert!(
            !flights.answered(BootNanos(9), Said::Number(1), &mut answers),
            "nobody asked"
        );
        for number in 0..2 {
            flights.push(flight(number, number, 200));
        }
        let error = StoreError::Unexpected("OOM".to_owned());
        flights.answered(BootNanos(9), Said::Error(error), &mut answers);
        flights.answered(BootNanos(9), Said::Strange, &mut answers);
        // An error of the server says nothing of the lease, and is no refusal of it.
        let expected = [(0, Outcome::NotApplied, false), (1, Outcome::Unknown, false)];
        assert_eq!(outcomes(&answers), expected);
    }

    #[test]
    fn a_lost_connection_ok_what_never_left_was_not_applied() {
        let (mut flights, mut answers) = (Flights::default(), Vec::new());
        for number in 0..3 {
            flights.push(flight(number, number * 100, 200));
        }
        // The second had left in part.
        flights.lose(BootNanos(9), 101, "gone", &mut answers);
        let expected = [
            (0, Outcome::Unknown, false),
            (1, Outcome::Unknown, false),
            (2, Outcome::NotApplied, false),
        ];
        assert_eq!(outcomes(&answers), expected);
        assert_eq!(flights.len(), 0);
    }

    /// One that may not wait as long is given up alone, once, and keeps its place in the row.
    #[test]
    fn patience_bad_of_one_is_not_that_of_others() {
        let (mut flights, mut answers) = (Flights::default(), Vec::new());
        flights.push(flight(0, 0, 20));
        flights.push(flight(1, 1, 200));
        assert!(!flights.time_out(&after(19), BootNanos(9), &mut answers));
        assert!(answers.is_empty());
        assert!(!flights.time_out(&after(20), BootNanos(9), &mut answers));
        assert!(!flights.time_out(&after(21), BootNanos(9), &mut answers));
        assert_eq!(outcomes(&answers), [(0, Outcome::Unknown, false)]);
        flights.answered(BootNanos(9), Said::Number(-1), &mut answers);
        flights.answered(BootNanos(9), Said::Number(5), &mut answers);
        let expected = [(0, Outcome::Unknown, false), (1, Outcome::Applied, false)];
        assert_eq!(outcomes(&answers), expected);
        flights.push(flight(2, 2, 200));
        assert!(
            flights.time_out(&after(200), BootNanos(9), &mut answers),
            "a silent connection"
        );
    }
}
