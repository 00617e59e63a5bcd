//! Long histories: a cycle again and again.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, EventId, What};
use leaseproof_model::history::History;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;

/// One more round of a cycle, `length` nanoseconds after the one before: names, tokens and numbers go on.
pub fn repeat(cycle: &History, round: u64, length: u64, into: &mut Vec<Event>) {
    let tokens = 3 * round;
    let later = |at: BootNanos| BootNanos(at.0 + round * length);
    let both = |at: Moment| Moment {
        earliest: later(at.earliest),
        latest: later(at.latest),
    };
    let next = |token: Token| Token(token.0 + tokens);
    for event in &cycle.events {
        let mut event = event.clone();
        event.at = both(event.at);
        event.cycle += u32::try_from(round).expect("a small number");
        event.id = EventId(into.len() as u64 + 1);
        event.seq = into.len() as u64;
        match &mut event.what {
            What::Started { .. } if round > 0 => continue,
            What::Reading(reading) => {
                reading.previous = reading.previous.map(later);
                reading.counter = reading.counter.map(next);
                if let Some(held) = &mut reading.held {
                    let name = held.holder.as_str().split('#').next().expect("a name").to_owned();
                    held.token = held.token.map(next);
                    held.holder = format!("{name}#{}", held.token.map_or(0, |token| token.0)).into();
                    held.expires = held.expires.map(both);
                }
            }
            What::Write(write) => {
                write.token = write.token.map(next);
                write.serial = into.len() as u64 + 1;
            }
            What::Said(said) => {
                said.token = said.token.map(next);
                said.boot = said.boot.map(later);
            }
            What::Fault(fault) => fault.fault += round * 10,
            What::Coverage(coverage) => {
                // One span for all: the observer never stopped.
                if round == 0 {
                    coverage.until = BootNanos(u64::MAX);
                } else {
                    continue;
                }
            }
            _ => {}
        }
        into.push(event);
    }
}
