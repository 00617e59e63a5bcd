//! Where an event lies in its scenario: moments as people read them, from the scenario's start.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, EventId, What};
use leaseproof_model::history::History;
use leaseproof_model::verdict::{RunVerdict, ScenarioVerdict};
use std::collections::BTreeMap;

/// One recorded scenario run with its zero.
pub(crate) struct Record<'a> {
    pub(crate) history: &'a History,
    /// The first moment of the record: the zero of its times.
    pub(crate) zero: BootNanos,
    /// The last moment of the record.
    pub(crate) end: BootNanos,
    by_id: BTreeMap<EventId, usize>,
}

impl<'a> Record<'a> {
    pub(crate) fn new(history: &'a History) -> Self {
        let events = &history.events;
        let zero = events.iter().map(|it| it.at.earliest).min().unwrap_or_default();
        let end = events.iter().map(|it| it.at.latest).max().unwrap_or_default();
        let by_id = events.iter().enumerate().map(|(at, it)| (it.id, at)).collect();
        Self {
            history,
            zero,
            end,
            by_id,
        }
    }

    pub(crate) fn event(&self, id: EventId) -> Option<&'a Event> {
        self.by_id.get(&id).map(|&at| &self.history.events[at])
    }

    /// Why the scenario ended before its cycles did, if it did.
    pub(crate) fn abandoned(&self) -> Option<&'a str> {
        self.history.events.iter().find_map(|it| match &it.what {
            What::Abandoned { why } => Some(why.as_str()),
            _ => None,
        })
    }

    /// Seconds from the scenario's start.
    pub(crate) fn seconds(&self, at: BootNanos) -> f64 {
        at.since(self.zero).as_secs_f64()
    }

    /// `+7.312 s`, and `± 4 ms` where the moment is not known to the millisecond.
    pub(crate) fn when(&self, event: &Event) -> String {
        let middle = (self.seconds(event.at.earliest) + self.seconds(event.at.latest)) / 2.0;
        let half_ms = event.at.uncertainty().as_secs_f64() * 500.0;
        if half_ms >= 1.0 {
            format!("+{middle:.3} s ± {half_ms:.0} ms")
        } else {
            format!("+{middle:.3} s")
        }
    }
}

/// The records of each scenario of the verdict, in its order.
///
/// A scenario that was repeated has several records; all are kept, since a repeat never erases one.
pub(crate) fn records<'a>(run: &RunVerdict, histories: &[&'a History]) -> Vec<Vec<Record<'a>>> {
    let mut taken = vec![false; histories.len()];
    let mut of_scenario: Vec<Vec<Record<'a>>> = run
        .scenarios
        .iter()
        .map(|scenario| {
            let found = (0..histories.len()).find(|&at| !taken[at] && belongs(scenario, histories[at]));
            let Some(at) = found else { return Vec::new() };
            taken[at] = true;
            vec![Record::new(histories[at])]
        })
        .collect();
    for (at, history) in histories.iter().enumerate().filter(|(at, _)| !taken[*at]) {
        let _ = at;
        let owner = run
            .scenarios
            .iter()
            .rposition(|scenario| belongs(scenario, history) || (history.ask.twin && same_scenario(scenario, history)));
        if let Some(owner) = owner {
            of_scenario[owner].push(Record::new(history));
        }
    }
    of_scenario
}

fn same_scenario(scenario: &ScenarioVerdict, history: &History) -> bool {
    scenario.id == history.ask.scenario && scenario.store == history.ask.store.kind
}

fn belongs(scenario: &ScenarioVerdict, history: &History) -> bool {
    !history.ask.twin && same_scenario(scenario, history)
}
