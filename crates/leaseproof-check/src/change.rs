//! The smallest changes that pass. Each is tried on the whole verdict, and not on the margin alone: what heals one rule may
//! break another. The heartbeat first; the TTL last, and with what it costs.

use crate::checks::checked;
use crate::dial::{Dial, Way};
use crate::judge::{Demands, Measured};
use crate::report::{Answer, Change, Check, ms};
use crate::subject::{Knob, Subject};
use std::time::Duration;

/// What a longer TTL costs.
const COST: &str =
    "it widens by as much the time for which nobody works after a crash, and in which two owners can act";

/// No setting is looked for above this.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Parts of a TTL are rounded to the millisecond, so that near the border a longer one can be worse by one.
const WOBBLE: u64 = 4;

/// Into how many steps the way of two settings together is cut.
const PACES: u32 = 64;

/// Changes that make all checks pass, the smallest first; none where no setting could.
pub(crate) fn changes(subject: &Subject, measured: Option<&Measured>, demands: Demands) -> Vec<Change> {
    let search = Search { measured, demands };
    let settings = [Dial::Heartbeat, Dial::RenewTimeout, Dial::WorstPause];
    let mut changes: Vec<Change> = settings
        .into_iter()
        .filter_map(|dial| search.alone(subject, dial).and_then(|to| change(subject, dial, to)))
        .collect();
    let ttl = search.alone(subject, Dial::Ttl);
    if changes.is_empty() {
        let pairs = [
            (Dial::WorstPause, Dial::Heartbeat),
            (Dial::WorstPause, Dial::RenewTimeout),
            (Dial::Heartbeat, Dial::RenewTimeout),
        ];
        changes.extend(pairs.into_iter().find_map(|pair| search.pair(subject, pair)));
    }
    changes.extend(search.pause(subject));
    match ttl {
        Some(to) => changes.extend(change(subject, Dial::Ttl, to)),
        None if changes.is_empty() => {
            changes.extend(
                settings
                    .into_iter()
                    .find_map(|dial| search.pair(subject, (dial, Dial::Ttl))),
            );
        }
        None => {}
    }
    changes
}

/// What every candidate is judged by.
struct Search<'a> {
    measured: Option<&'a Measured>,
    demands: Demands,
}

impl Search<'_> {
    fn failing(&self, subject: Subject) -> Vec<Check> {
        let mut checks = checked(&subject.settled(), self.measured, self.demands).checks;
        checks.retain(|check| check.answer == Answer::DoesNotHold);
        checks
    }

    fn passes(&self, subject: &Subject, dial: Dial, to: Duration) -> bool {
        self.failing(dial.set(subject, to)).is_empty()
    }

    /// The value next to the present one with which everything passes.
    fn alone(&self, subject: &Subject, dial: Dial) -> Option<Duration> {
        let knob = dial.knob(subject)?;
        let ways = match dial {
            Dial::Ttl => &[Way::Longer, Way::Shorter][..],
            // To write down a shorter pause makes none shorter.
            Dial::WorstPause => &[Way::Longer],
            _ => &[Way::Shorter, Way::Longer],
        };
        ways.iter()
            .copied()
            .find_map(|way| self.towards(subject, dial, knob, way))
    }

    /// The same in one direction. No check turns twice on the way: those that ask for this direction fail up to some
    /// value and hold from there, which is where to look; the others must hold there as well.
    fn towards(&self, subject: &Subject, dial: Dial, knob: &Knob, way: Way) -> Option<Duration> {
        let steps = Steps::of(knob, dial.number(subject).span, way)?;
        let asks = |at: u64| {
            let failing = self.failing(dial.set(subject, steps.value(at)));
            failing
                .iter()
                .any(|check| dial.asked_by(check, subject.kind) == Some(way))
        };
        let found = first(steps.last, |at| !asks(at))?;
        (found.saturating_sub(WOBBLE)..=found)
            .map(|at| steps.value(at))
            .find(|&to| self.passes(subject, dial, to))
    }

    /// Two settings, moved by the same part of their ways until everything passes; then each back as far as it can go.
    fn pair(&self, subject: &Subject, (one, other): (Dial, Dial)) -> Option<Change> {
        let pace = |dial: Dial| {
            let knob = dial.knob(subject)?;
            let now = dial.number(subject).span;
            let (way, end) = match dial {
                Dial::Heartbeat | Dial::RenewTimeout => (Way::Shorter, knob.least),
                Dial::WorstPause => (Way::Longer, self.measured?.pause),
                Dial::Ttl => (Way::Longer, now * PACES),
            };
            let steps = Steps::of(knob, now, way)?;
            let all = steps.until(end);
            Some(move |part: u32| match (dial, part) {
                (_, 0) => now,
                // A pause that was seen is not seen by half.
                (Dial::WorstPause, _) => steps.value(all),
                _ => steps.value(u64::try_from(u128::from(all) * u128::from(part) / u128::from(PACES)).unwrap_or(all)),
            })
        };
        let (first, second) = (pace(one)?, pace(other)?);
        let (a, b) = (1..=PACES)
            .map(|part| (first(part), second(part)))
            .find(|&(a, b)| self.passes(&one.set(subject, a), other, b))?;
        let a = self.alone(&other.set(subject, b), one).unwrap_or(a);
        let b = self.alone(&one.set(subject, a), other).unwrap_or(b);
        let (a, b) = (change(subject, one, a)?, change(subject, other, b)?);
        Some(Change {
            key: format!("{} and {}", a.key, b.key),
            to_ms: a.to_ms,
            write: format!("{} and {}", a.write, b.write),
            cost: a.cost.or(b.cost),
        })
    }

    /// The longest pause with which the settings may stay as they are.
    fn pause(&self, subject: &Subject) -> Option<Change> {
        let assumed = subject.worst_pause.as_ref().map(|number| number.span);
        let now = assumed.max(self.measured.map(|seen| seen.pause))?;
        let shorter = |pause: Duration| {
            let measured = self.measured.map(|seen| Measured {
                pause: seen.pause.min(pause),
                from: seen.from.clone(),
            });
            let search = Search {
                measured: measured.as_ref(),
                demands: self.demands,
            };
            let mut subject = subject.clone();
            if let Some(number) = &mut subject.worst_pause {
                number.span = number.span.min(pause);
            }
            search.failing(subject).is_empty()
        };
        let whole = u64::try_from(now.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        let last = whole.checked_sub(2)?;
        let at = first(last, |at| shorter(Duration::from_millis(whole - 1 - at)))?;
        let room = Duration::from_millis(whole - 1 - at);
        Some(Change {
            key: "the pause itself".to_owned(),
            to_ms: ms(room),
            write: format!("a worst pause of {room:?} or less"),
            cost: None,
        })
    }
}

/// The values that a setting can take in one direction, counted from the present one.
#[derive(Copy, Clone)]
struct Steps {
    way: Way,
    step: u64,
    from: u64,
    last: u64,
}

impl Steps {
    fn of(knob: &Knob, now: Duration, way: Way) -> Option<Self> {
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let step = nanos(knob.step).max(1);
        let least = nanos(knob.least).div_ceil(step).max(1);
        let most = nanos(knob.most.unwrap_or(FOREVER).min(FOREVER)) / step;
        let (from, last) = match way {
            Way::Shorter => {
                let from = (nanos(now).checked_sub(1)? / step).min(most);
                (from, from.checked_sub(least)?)
            }
            Way::Longer => {
                let from = (nanos(now) / step + 1).max(least);
                (from, most.checked_sub(from)?)
            }
        };
        Some(Self { way, step, from, last })
    }

    fn value(&self, at: u64) -> Duration {
        let at = match self.way {
            Way::Shorter => self.from - at,
            Way::Longer => self.from + at,
        };
        Duration::from_nanos(at * self.step)
    }

    /// How many steps there are until a value is reached.
    fn until(&self, end: Duration) -> u64 {
        let end = u64::try_from(end.as_nanos()).unwrap_or(u64::MAX).div_ceil(self.step);
        let all = match self.way {
            Way::Shorter => self.from.saturating_sub(end),
            Way::Longer => end.saturating_sub(self.from),
        };
        all.min(self.last)
    }
}

/// The first of 0..=`last` from which on `is` holds: by doubling, then by halving.
fn first(last: u64, is: impl Fn(u64) -> bool) -> Option<u64> {
    let mut high = 0;
    while !is(high) {
        if high == last {
            return None;
        }
        high = high.saturating_mul(2).saturating_add(1).min(last);
    }
    let mut low = 0;
    while low < high {
        let middle = low + (high - low) / 2;
        match is(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    Some(high)
}

fn change(subject: &Subject, dial: Dial, to: Duration) -> Option<Change> {
    let knob = dial.knob(subject)?;
    let costs = dial == Dial::Ttl && to > subject.ttl.span;
    Some(Change {
        key: knob.key.clone(),
        to_ms: ms(to),
        write: knob.written(to),
        cost: costs.then(|| COST.to_owned()),
    })
}

/// The first change as a sentence, and why where it is not the heartbeat.
pub(crate) fn advice(changes: &[Change], subject: &Subject) -> String {
    let Some(first) = changes.first() else {
        return String::new();
    };
    let heartbeat = subject.knobs.heartbeat.as_ref();
    let why = match heartbeat.filter(|knob| knob.key != first.key) {
        Some(knob) if subject.knobs.worst_pause.as_ref().is_none_or(|it| it.key != first.key) => {
            format!(" (no {} alone would be short enough)", knob.key)
        }
        _ => String::new(),
    };
    match &first.cost {
        None => format!("the smallest change that passes: {}{why}", first.write),
        Some(cost) => format!("only a longer TTL passes: {} ({cost})", first.write),
    }
}
