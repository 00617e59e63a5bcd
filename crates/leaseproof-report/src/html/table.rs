//! The record as rows: every event that a finding or premise names, and of the rest what fits.

use crate::moments::Record;
use crate::sentence;
use crate::visible::visible;
use crate::words;
use leaseproof_model::event::{Event, EventId, OwnerEvent, What, WireSeen};
use serde::Serialize;
use std::collections::BTreeSet;

/// One row.
#[derive(Serialize)]
pub(crate) struct Row {
    /// The anchor, without the record's prefix: the first event's, where the row stands for several.
    id: String,
    #[serde(skip)]
    first: EventId,
    ids: String,
    when: String,
    cycle: u32,
    source: &'static str,
    owner: String,
    says: String,
    raw: String,
    accused: bool,
    named: bool,
}

impl Row {
    fn bytes(&self) -> usize {
        160 + self.says.len() + self.raw.len() + self.when.len() + self.owner.len()
    }
}

/// The rows, and what was left out in words.
pub(crate) struct Table {
    pub(crate) named: Vec<Row>,
    pub(crate) rest: Vec<Row>,
    pub(crate) cut: Option<String>,
}

impl Table {
    /// The events whose rows can be linked to.
    pub(crate) fn anchored(&self) -> BTreeSet<EventId> {
        self.named.iter().chain(&self.rest).map(|it| it.first).collect()
    }
}

/// Builds the rows within `room` bytes; named events are always there.
pub(crate) fn table(
    record: &Record<'_>,
    named: &BTreeSet<EventId>,
    accused: &dyn Fn(EventId) -> bool,
    room: usize,
) -> Table {
    let events = &record.history.events;
    let row = |event: &Event| Row {
        id: event.id.to_string(),
        first: event.id,
        ids: event.id.to_string(),
        when: record.when(event),
        cycle: event.cycle,
        source: words::source(event.source),
        owner: event
            .owner
            .as_ref()
            .map(|it| visible(it.as_str()).into_owned())
            .unwrap_or_default(),
        says: sentence::of(event),
        raw: event
            .raw
            .as_deref()
            .map(|it| visible(it).into_owned())
            .unwrap_or_default(),
        accused: accused(event.id),
        named: named.contains(&event.id),
    };
    let of_named = events.iter().filter(|it| named.contains(&it.id)).map(row).collect();

    // Quiet runs become one row first; then routine rows go, and only then others.
    let mut folded: Vec<(bool, Row)> = Vec::new();
    let mut at = 0;
    while at < events.len() {
        let event = &events[at];
        let mut end = at + 1;
        if !named.contains(&event.id) {
            while end < events.len() && !named.contains(&events[end].id) && same_quiet(event, &events[end]) {
                end += 1;
            }
        }
        let routine = is_routine(event);
        if end - at >= 3 {
            let mut one = row(event);
            let last = &events[end - 1];
            one.ids = format!("{} to {}", event.id, last.id);
            one.when = format!("{} to {}", record.when(event), record.when(last));
            one.says = format!("{} times the same: {}", end - at, one.says);
            one.raw.clear();
            folded.push((routine, one));
        } else if !named.contains(&event.id) {
            folded.extend(events[at..end].iter().map(|it| (routine, row(it))));
        }
        at = end;
    }
    let total: usize = folded.iter().map(|(_, it)| it.bytes()).sum();
    let mut left_out = 0;
    let mut rest = Vec::new();
    let mut used = 0;
    let important: usize = folded
        .iter()
        .filter(|(routine, _)| !routine)
        .map(|(_, it)| it.bytes())
        .sum();
    let mut room_for_routine = room.saturating_sub(important);
    for (routine, one) in folded {
        let bytes = one.bytes();
        let fits = if total <= room {
            true
        } else if routine {
            let fits = bytes <= room_for_routine;
            room_for_routine = room_for_routine.saturating_sub(bytes);
            fits
        } else {
            used += bytes;
            used <= room
        };
        if fits {
            rest.push(one);
        } else {
            left_out += 1;
        }
    }
    Table {
        named: of_named,
        rest,
        cut: (left_out > 0).then(|| {
            format!(
                "Cut: to keep this page small, {} (routine ones such as accepted writes, renewals and traffic first) \
                 {} not listed here. All events are in events.jsonl of the bundle; every event \
                 that a finding or premise names is listed above.",
                words::count(left_out, "row"),
                if left_out == 1 { "is" } else { "are" }
            )
        }),
    }
}

fn is_routine(event: &Event) -> bool {
    match &event.what {
        What::Reading(_) | What::Chatter { .. } | What::WallReads { .. } => true,
        What::Wire(wire) => matches!(wire.seen, WireSeen::Request | WireSeen::Answer),
        What::Write(write) => write.accepted && !write.replay,
        What::Fill(fill) => fill.accepted,
        What::Said(said) => matches!(
            said.event,
            OwnerEvent::Renewed
                | OwnerEvent::RenewSent
                | OwnerEvent::Write
                | OwnerEvent::WriteRefused
                | OwnerEvent::Waiting
        ),
        _ => false,
    }
}

/// Events in a row that tell the same thing again.
fn same_quiet(a: &Event, b: &Event) -> bool {
    match (&a.what, &b.what) {
        (What::Reading(a), What::Reading(b)) => match (&a.held, &b.held) {
            (None, None) => true,
            (Some(a), Some(b)) => a.holder == b.holder && a.token == b.token && a.expired == b.expired,
            _ => false,
        },
        (What::Wire(x), What::Wire(y)) => {
            let routine = |it| matches!(it, WireSeen::Request | WireSeen::Answer);
            a.owner == b.owner && routine(x.seen) && routine(y.seen)
        }
        (What::Chatter { .. }, What::Chatter { .. }) | (What::WallReads { .. }, What::WallReads { .. }) => {
            a.owner == b.owner
        }
        _ => false,
    }
}
