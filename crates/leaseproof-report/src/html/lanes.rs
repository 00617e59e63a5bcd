//! From a record to lanes: owners, store, resource, faults and coverage.

use crate::html::accused::Accused;
use crate::html::grants::Grant;
use crate::html::lane::{Lane, Mark, MarkKind, Span, SpanKind};
use crate::moments::Record;
use crate::sentence;
use crate::visible::visible;
use crate::words;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, EventId, FaultKind, FaultPhase, OwnerEvent, Said, What};
use std::collections::BTreeMap;

const CLAIMS_Y: f64 = 12.0;
const BELIEF_TOP: f64 = 22.0;
const WRITES_Y: f64 = 50.0;
const OWNER_HEIGHT: f64 = 64.0;

/// All lanes of a record, from top to bottom.
pub(crate) fn lanes(record: &Record<'_>, grants: &[Grant], accused: &Accused) -> Vec<Lane> {
    let owners = owners(record, grants);
    let colour_of = |name: Option<&str>| name.and_then(|name| owners.iter().position(|it| it == name));
    let mut lanes = vec![faults(record), store(record, grants, accused, &colour_of)];
    for (colour, owner) in owners.iter().enumerate() {
        lanes.push(owner_lane(record, accused, owner, colour));
    }
    lanes.push(resource(record, accused, &colour_of));
    lanes.extend(coverage(record));
    lanes
}

/// Owners in the order in which they first appear; the lab last, where it held the lease.
fn owners(record: &Record<'_>, grants: &[Grant]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let events = record
        .history
        .events
        .iter()
        .filter_map(|it| it.owner.as_ref().map(|it| it.as_str()));
    for name in events.chain(grants.iter().filter_map(|it| it.owner.as_deref())) {
        if !found.iter().any(|it| it == name) {
            found.push(name.to_owned());
        }
    }
    found
}

fn mark(event: &Event, kind: MarkKind, y: f64, colour: Option<usize>, text: String, accused: &Accused) -> Mark {
    Mark {
        kind,
        at: event.at,
        y,
        colour,
        event: event.id,
        text,
        title: sentence::of(event),
        named: accused.by_findings.contains(&event.id),
        accused: accused.acts.contains_key(&event.id),
    }
}

fn faults(record: &Record<'_>) -> Lane {
    let mut lane = Lane {
        label: "faults".to_owned(),
        sub: "asked, in force, undone".to_owned(),
        height: 40.0,
        ..Lane::default()
    };
    let mut cycle: Option<(u32, BootNanos)> = None;
    for event in &record.history.events {
        match &event.what {
            What::CycleBegan { .. } => cycle = Some((event.cycle, event.at.earliest)),
            What::CycleEnded => {
                if let Some((number, from)) = cycle.take() {
                    lane.spans.push(cycle_span(number, from, event.at.latest));
                }
            }
            _ => {}
        }
    }
    if let Some((number, from)) = cycle {
        lane.spans.push(cycle_span(number, from, record.end));
    }
    for fault in faults_of(record) {
        let to = fault.undone.unwrap_or(record.end);
        lane.spans.push(Span {
            kind: SpanKind::Fault,
            from: fault.confirmed.unwrap_or(fault.asked),
            to,
            top: 18.0,
            height: 18.0,
            colour: None,
            text: words::fault(fault.kind).to_owned(),
            title: format!(
                "{}{}: asked {:.3} s, in force {}, undone {}",
                words::fault(fault.kind),
                fault
                    .owner
                    .as_deref()
                    .map(|it| format!(" of {}", visible(it)))
                    .unwrap_or_default(),
                record.seconds(fault.asked),
                fault.confirmed.map_or("never confirmed".to_owned(), |at| format!(
                    "{:.3} s",
                    record.seconds(at)
                )),
                fault
                    .undone
                    .map_or("not seen".to_owned(), |at| format!("{:.3} s", record.seconds(at))),
            ),
            event: Some(fault.event),
        });
    }
    lane
}

fn cycle_span(number: u32, from: BootNanos, to: BootNanos) -> Span {
    Span {
        kind: SpanKind::Cycle,
        from,
        to,
        top: 2.0,
        height: 13.0,
        colour: None,
        text: format!("cycle {number}"),
        title: format!("cycle {number}"),
        event: None,
    }
}

struct FaultSpan {
    kind: FaultKind,
    owner: Option<String>,
    event: EventId,
    asked: BootNanos,
    confirmed: Option<BootNanos>,
    undone: Option<BootNanos>,
}

fn faults_of(record: &Record<'_>) -> Vec<FaultSpan> {
    let mut found: BTreeMap<u64, FaultSpan> = BTreeMap::new();
    for event in &record.history.events {
        let What::Fault(fault) = &event.what else { continue };
        let span = found.entry(fault.fault).or_insert_with(|| FaultSpan {
            kind: fault.kind,
            owner: event.owner.as_ref().map(|it| it.as_str().to_owned()),
            event: event.id,
            asked: event.at.earliest,
            confirmed: None,
            undone: None,
        });
        match fault.phase {
            FaultPhase::Confirmed => {
                span.confirmed = Some(event.at.latest);
                span.event = event.id;
            }
            FaultPhase::Undone | FaultPhase::Failed => span.undone = Some(event.at.latest),
            FaultPhase::Asked | FaultPhase::Due => {}
        }
    }
    found.into_values().collect()
}

fn store(
    record: &Record<'_>,
    grants: &[Grant],
    accused: &Accused,
    colour_of: &dyn Fn(Option<&str>) -> Option<usize>,
) -> Lane {
    let mut lane = Lane {
        label: "store".to_owned(),
        sub: format!("{} grants", visible(&record.history.ask.store.kind)),
        height: 46.0,
        ..Lane::default()
    };
    for grant in grants {
        let colour = colour_of(grant.owner.as_deref());
        let who = visible(grant.owner.as_deref().unwrap_or(grant.holder.as_str()));
        let token = grant.token.map(|it| format!(", token {it}")).unwrap_or_default();
        let title = format!(
            "granted to {}{token}: from {:.3} s until {:.3} s",
            visible(grant.holder.as_str()),
            record.seconds(grant.from.latest),
            record.seconds(grant.until.earliest),
        );
        let span = |kind, from, to, text: String, title: String, event| Span {
            kind,
            from,
            to,
            top: 6.0,
            height: 22.0,
            colour,
            text,
            title,
            event: Some(event),
        };
        let text = format!("{who}{token}");
        lane.spans.push(span(
            SpanKind::Grant,
            grant.from.latest,
            grant.until.earliest,
            text,
            title,
            grant.first,
        ));
        if grant.until.latest > grant.until.earliest {
            let title = format!(
                "the end of this grant lies in these {}",
                words::span(grant.until.uncertainty())
            );
            let (from, to) = (grant.until.earliest, grant.until.latest);
            lane.spans
                .push(span(SpanKind::Unsure, from, to, String::new(), title, grant.last));
        }
    }
    for event in &record.history.events {
        match &event.what {
            What::Reading(_) => lane
                .marks
                .push(mark(event, MarkKind::Reading, 37.0, None, String::new(), accused)),
            What::LabDid(_) => {
                let text = "lab".to_owned();
                lane.marks.push(mark(event, MarkKind::Other, 37.0, None, text, accused));
            }
            What::WriterFrozen => {
                let text = "writer frozen".to_owned();
                lane.marks.push(mark(event, MarkKind::Other, 37.0, None, text, accused));
            }
            _ => {}
        }
    }
    lane
}

fn owner_lane(record: &Record<'_>, accused: &Accused, owner: &str, colour: usize) -> Lane {
    let mut lane = Lane {
        label: visible(owner).into_owned(),
        sub: "says, holds, writes".to_owned(),
        height: OWNER_HEIGHT,
        colour: Some(colour),
        ..Lane::default()
    };
    let events = || {
        record
            .history
            .events
            .iter()
            .filter(|it| it.owner.as_ref().is_some_and(|it| it.as_str() == owner))
    };
    lane.spans.extend(life(events(), record.end, colour));
    lane.spans.extend(beliefs(events(), record, colour));
    for fault in faults_of(record).iter().filter(|it| it.owner.as_deref() == Some(owner)) {
        let part = match fault.kind {
            FaultKind::PauseTree => "frozen",
            FaultKind::PauseParent => "parent frozen",
            FaultKind::PauseChild => "children frozen",
            _ => continue,
        };
        let (Some(from), to) = (fault.confirmed, fault.undone.unwrap_or(record.end)) else {
            continue;
        };
        lane.spans.push(Span {
            kind: SpanKind::Frozen,
            from,
            to,
            top: 0.0,
            height: OWNER_HEIGHT,
            colour: None,
            text: format!("{part} {}", words::span(to.since(from))),
            title: format!("{part} for {}", words::span(to.since(from))),
            event: Some(fault.event),
        });
    }
    let colour = Some(colour);
    for event in events() {
        match &event.what {
            What::Said(said) => {
                if let Some((kind, y, text)) = claim(said) {
                    lane.marks.push(mark(event, kind, y, colour, text, accused));
                }
            }
            What::Write(write) if !write.replay => {
                let kind = if write.accepted {
                    MarkKind::Accepted
                } else {
                    MarkKind::Rejected
                };
                let text = if write.accepted {
                    String::new()
                } else {
                    "rejected".to_owned()
                };
                lane.marks.push(mark(event, kind, WRITES_Y, colour, text, accused));
            }
            What::WriteHeld { .. } => {
                lane.marks.push(mark(
                    event,
                    MarkKind::Other,
                    WRITES_Y,
                    colour,
                    "held".to_owned(),
                    accused,
                ));
            }
            What::Ended { .. } => {
                lane.marks.push(mark(
                    event,
                    MarkKind::Other,
                    CLAIMS_Y,
                    colour,
                    "ended".to_owned(),
                    accused,
                ));
            }
            What::Wire(_) => lane
                .marks
                .push(mark(event, MarkKind::Wire, 61.0, None, String::new(), accused)),
            _ => {}
        }
    }
    lane
}

fn claim(said: &Said) -> Option<(MarkKind, f64, String)> {
    let token = said.token.map(|it| format!(" {it}")).unwrap_or_default();
    Some(match said.event {
        OwnerEvent::Acquired => (MarkKind::Acquired, CLAIMS_Y, format!("acquired{token}")),
        OwnerEvent::Renewed => (MarkKind::Renewed, CLAIMS_Y, String::new()),
        OwnerEvent::RenewFailed => (MarkKind::Failed, CLAIMS_Y, "renewal failed".to_owned()),
        OwnerEvent::Lost => (MarkKind::Lost, CLAIMS_Y, "lost".to_owned()),
        OwnerEvent::Released => (MarkKind::Released, CLAIMS_Y, "released".to_owned()),
        OwnerEvent::WriteRefused => (MarkKind::Refused, WRITES_Y, "refused itself".to_owned()),
        OwnerEvent::Waiting => (MarkKind::Waiting, CLAIMS_Y, String::new()),
        // The resource records the write itself, and a renewal shows when it is answered.
        OwnerEvent::Write | OwnerEvent::RenewSent => return None,
    })
}

fn life<'a>(events: impl Iterator<Item = &'a Event>, end: BootNanos, colour: usize) -> Vec<Span> {
    let span = |from, to| Span {
        kind: SpanKind::Life,
        from,
        to,
        top: BELIEF_TOP + 7.0,
        height: 1.5,
        colour: Some(colour),
        text: String::new(),
        title: "the process runs".to_owned(),
        event: None,
    };
    let mut spans = Vec::new();
    let mut since = None;
    for event in events {
        match event.what {
            What::Started { .. } => since = Some(event.at.earliest),
            What::Ended { .. } => spans.extend(since.take().map(|from| span(from, event.at.latest))),
            _ => {}
        }
    }
    spans.extend(since.map(|from| span(from, end)));
    spans
}

struct Belief {
    from: BootNanos,
    until: Option<BootNanos>,
    token: String,
    event: EventId,
}

/// From *acquired* to the earliest of *lost*, *released*, the claimed validity and the process's end.
fn beliefs<'a>(events: impl Iterator<Item = &'a Event>, record: &Record<'_>, colour: usize) -> Vec<Span> {
    let close = |belief: Belief, at: BootNanos| {
        let to = belief.until.map_or(at, |until| until.min(at)).max(belief.from);
        Span {
            kind: SpanKind::Belief,
            from: belief.from,
            to,
            top: BELIEF_TOP,
            height: 15.0,
            colour: Some(colour),
            text: format!("says it holds{}", belief.token),
            title: format!(
                "it says that it holds the lease{}: from {:.3} s to {:.3} s",
                belief.token,
                record.seconds(belief.from),
                record.seconds(to)
            ),
            event: Some(belief.event),
        }
    };
    let mut spans = Vec::new();
    let mut now: Option<Belief> = None;
    for event in events {
        let said = match &event.what {
            What::Said(said) => said,
            What::Ended { .. } => {
                spans.extend(now.take().map(|it| close(it, event.at.latest)));
                continue;
            }
            _ => continue,
        };
        let at = said.boot.unwrap_or(event.at.latest);
        match said.event {
            OwnerEvent::Acquired => {
                spans.extend(now.take().map(|it| close(it, at)));
                now = Some(Belief {
                    from: at,
                    until: said.valid_until,
                    token: said.token.map(|it| format!(", token {it}")).unwrap_or_default(),
                    event: event.id,
                });
            }
            OwnerEvent::Renewed => {
                let Some(belief) = &mut now else { continue };
                let lapsed = belief.until.is_some_and(|until| until < at);
                if lapsed {
                    let token = belief.token.clone();
                    spans.extend(now.take().map(|it| close(it, at)));
                    now = Some(Belief {
                        from: at,
                        until: said.valid_until,
                        token,
                        event: event.id,
                    });
                } else if said.valid_until.is_some() {
                    belief.until = said.valid_until;
                }
            }
            OwnerEvent::Lost | OwnerEvent::Released => spans.extend(now.take().map(|it| close(it, at))),
            _ => {}
        }
    }
    spans.extend(now.map(|it| close(it, record.end)));
    spans
}

fn resource(record: &Record<'_>, accused: &Accused, colour_of: &dyn Fn(Option<&str>) -> Option<usize>) -> Lane {
    let mut lane = Lane {
        label: "resource".to_owned(),
        sub: "all writes, by owner".to_owned(),
        height: 34.0,
        ..Lane::default()
    };
    for event in &record.history.events {
        let colour = colour_of(event.owner.as_ref().map(|it| it.as_str()));
        match &event.what {
            What::Write(write) => {
                let kind = if write.accepted {
                    MarkKind::Accepted
                } else {
                    MarkKind::Rejected
                };
                let mut mark = mark(event, kind, 17.0, colour, String::new(), accused);
                if write.replay {
                    mark.text = "replay".to_owned();
                }
                lane.marks.push(mark);
            }
            What::WitnessRestarted { .. } => {
                lane.marks.push(mark(
                    event,
                    MarkKind::Other,
                    17.0,
                    None,
                    "restarted".to_owned(),
                    accused,
                ));
            }
            _ => {}
        }
    }
    lane
}

/// A slim lane a source; a source without coverage has none, and the page says so in words.
fn coverage(record: &Record<'_>) -> Vec<Lane> {
    let mut of_source: BTreeMap<String, Lane> = BTreeMap::new();
    for event in &record.history.events {
        let What::Coverage(coverage) = &event.what else {
            continue;
        };
        let owner = coverage
            .owner
            .as_ref()
            .map(|it| format!(" {}", visible(it.as_str())))
            .unwrap_or_default();
        let label = format!("{}{owner}", words::source(coverage.source));
        let lane = of_source.entry(label.clone()).or_insert_with(|| Lane {
            label: format!("watched: {label}"),
            height: 15.0,
            ..Lane::default()
        });
        lane.spans.push(Span {
            kind: SpanKind::Covered,
            from: coverage.from,
            to: coverage.until,
            top: 5.0,
            height: 5.0,
            colour: None,
            text: String::new(),
            title: sentence::of(event),
            event: Some(event.id),
        });
    }
    of_source.into_values().collect()
}
