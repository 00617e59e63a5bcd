//! The lane of faults and cycles, and the faults themselves as spans.

use crate::html::accused::Accused;
use crate::html::lane::{Lane, Mark, MarkKind, Span, SpanKind};
use crate::moments::Record;
use crate::visible::visible;
use crate::words;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{EventId, FaultKind, FaultPhase, What};
use std::collections::BTreeMap;

pub(crate) fn faults(record: &Record<'_>, accused: &Accused) -> Lane {
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
            What::RigLate { .. } | What::Abandoned { .. } | What::Starved { .. } => {
                let text = match event.what {
                    What::RigLate { .. } => "lab late",
                    What::Starved { .. } => "machine busy",
                    _ => "abandoned",
                };
                lane.marks
                    .push(Mark::new(event, MarkKind::Other, 27.0, None, text.to_owned(), accused));
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

/// One fault, from its phases.
pub(crate) struct FaultSpan {
    pub(crate) kind: FaultKind,
    pub(crate) owner: Option<String>,
    pub(crate) event: EventId,
    pub(crate) asked: BootNanos,
    pub(crate) confirmed: Option<BootNanos>,
    pub(crate) undone: Option<BootNanos>,
}

pub(crate) fn faults_of(record: &Record<'_>) -> Vec<FaultSpan> {
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
