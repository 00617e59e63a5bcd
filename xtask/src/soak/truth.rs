//! A record against the store's own words: what was taken for the end of a grant must not be followed by the very
//! same grant. The store gives each grant another token, so that its words name it beyond doubt.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, OwnerEvent, Reading, What};
use leaseproof_model::history::Line;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_model::scenario::Ask;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// A grant, by the store's word.
type Name = (HolderId, Option<Token>);

/// What a grant was seen as.
#[derive(Default)]
struct Seen {
    /// When a reading was over that showed it ended; nothing before it was asked counts.
    over: Option<BootNanos>,
}

/// Everything in a bundle that the store contradicts, in words.
pub fn contradictions(bundle: &Path) -> Vec<String> {
    let text = match std::fs::read_to_string(bundle.join("events.jsonl")) {
        Ok(text) => text,
        Err(error) => return vec![format!("its record can't be read: {error}")],
    };
    let mut asks: BTreeMap<u32, Box<Ask>> = BTreeMap::new();
    let mut runs: BTreeMap<u32, Vec<Event>> = BTreeMap::new();
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Line::Scenario { run, ask }) => {
                asks.insert(run, ask);
            }
            Ok(Line::Event { run, event }) => runs.entry(run).or_default().push(event),
            Ok(_) => {}
            Err(error) => return vec![format!("its record has a line that is none: {error}")],
        }
    }
    let mut found = Vec::new();
    for (run, events) in &runs {
        let name = asks.get(run).map_or("unknown", |ask| ask.scenario.as_str());
        found.extend(of_events(events).into_iter().map(|it| format!("{name}: {it}")));
    }
    found
}

/// The same of the events of one scenario.
fn of_events(events: &[Event]) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen: HashMap<Name, Seen> = HashMap::new();
    let mut holds: Option<Name> = None;
    let mut readings: Vec<(&Event, &Reading)> = events
        .iter()
        .filter_map(|event| match &event.what {
            What::Reading(reading) => Some((event, reading)),
            _ => None,
        })
        .collect();
    readings.sort_by_key(|(event, _)| event.seq);
    for (event, reading) in readings {
        let live = reading.held.as_ref().filter(|held| !held.expired);
        let now = live.map(|held| (held.holder.clone(), held.token));
        if now != holds
            && let Some(before) = holds.take()
        {
            seen.entry(before).or_default().over.get_or_insert(event.at.latest);
        }
        if let Some(name) = &now
            && seen.get(name).is_some_and(|seen| seen.over.is_some())
        {
            found.push(format!(
                "{} shows the grant of {} again, which an earlier reading had shown as over",
                event.id, name.0
            ));
        }
        holds = now;
    }
    found.extend(applied_after(events, &seen));
    found
}

/// Renewals that were sent when a reading had shown their grant as over, and that the store applied all the same.
fn applied_after(events: &[Event], seen: &HashMap<Name, Seen>) -> Vec<String> {
    let mut found = Vec::new();
    let mut sent: HashMap<(&str, u64), BootNanos> = HashMap::new();
    let mut token: HashMap<&str, Token> = HashMap::new();
    for event in events {
        let (What::Said(said), Some(owner)) = (&event.what, &event.owner) else {
            continue;
        };
        let owner = owner.as_str();
        if said.event == OwnerEvent::Acquired
            && let Some(got) = said.token
        {
            token.insert(owner, got);
        }
        let Some(attempt) = said.attempt else { continue };
        match said.event {
            OwnerEvent::RenewSent => {
                sent.insert((owner, attempt), said.boot.unwrap_or(event.at.earliest));
            }
            OwnerEvent::Renewed => {
                let Some(at) = sent.get(&(owner, attempt)) else {
                    continue;
                };
                let over = seen.iter().find(|((holder, of), seen)| {
                    holder.as_str().starts_with(owner)
                        && *of == token.get(owner).copied()
                        && seen.over.is_some_and(|over| over < *at)
                });
                if over.is_some() {
                    found.push(format!(
                        "{} says that the store renewed a grant of {owner}, which a reading before that had shown as over",
                        event.id
                    ));
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use leaseproof_model::event::{EventId, Held, Said, Source};
    use leaseproof_model::moment::Moment;

    fn event(at: u64, owner: Option<&str>, what: What) -> Event {
        Event {
            id: EventId(at),
            source: Source::Store,
            seq: at,
            at: Moment::exact(BootNanos(at)),
            stamp: None,
            cycle: 1,
            owner: owner.map(Into::into),
            what,
            raw: None,
        }
    }

    fn shows(at: u64, holder: Option<(&str, u64)>) -> Event {
        let held = holder.map(|(holder, token)| Held {
            holder: holder.into(),
            token: Some(Token(token)),
            expires: None,
            bound: None,
            ttl: None,
            expired: false,
            granted: None,
            renewed: None,
            write_lock: false,
        });
        let reading = Reading {
            previous: None,
            held,
            counter: None,
            server_ns: None,
            epoch: None,
        };
        event(at, None, What::Reading(reading))
    }

    fn says(at: u64, said: OwnerEvent, attempt: Option<u64>, token: Option<u64>) -> Event {
        let said = Said {
            event: said,
            token: token.map(Token),
            boot: Some(BootNanos(at)),
            wall_ns: None,
            valid_until: None,
            thread: None,
            grant: None,
            attempt,
            reason: None,
            definite: None,
        };
        event(at, Some("a1"), What::Said(said))
    }

    #[test]
    fn a_grant_after_another_ok() {
        let events = [
            shows(1, Some(("a1#5", 1))),
            shows(2, None),
            shows(3, Some(("b1#6", 2))),
            shows(4, Some(("a1#7", 3))),
        ];
        assert_eq!(of_events(&events), Vec::<String>::new());
    }

    #[test]
    fn a_grant_that_comes_back_bad() {
        let events = [shows(1, Some(("a1#5", 1))), shows(2, None), shows(3, Some(("a1#5", 1)))];
        assert_eq!(of_events(&events).len(), 1);
    }

    #[test]
    fn a_renewal_after_the_end_bad() {
        let told = |sent: u64| {
            [
                says(1, OwnerEvent::Acquired, None, Some(1)),
                shows(2, Some(("a1#5", 1))),
                shows(10, None),
                says(sent, OwnerEvent::RenewSent, Some(4), None),
                says(12, OwnerEvent::Renewed, Some(4), None),
            ]
        };
        assert_eq!(of_events(&told(11)).len(), 1);
        assert_eq!(of_events(&told(9)), Vec::<String>::new(), "it was sent before");
    }
}
