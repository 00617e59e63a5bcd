//! An owner's lane: its life, what it says, what it believes, what it writes, when it was frozen.

use crate::html::accused::Accused;
use crate::html::faults::faults_of;
use crate::html::lane::{Lane, Mark, MarkKind, Span, SpanKind};
use crate::moments::Record;
use crate::visible::visible;
use crate::words;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, EventId, FaultKind, OwnerEvent, Said, What};

const CLAIMS_Y: f64 = 12.0;
const BELIEF_TOP: f64 = 22.0;
const WRITES_Y: f64 = 50.0;
const OWNER_HEIGHT: f64 = 64.0;

pub(crate) fn owner_lane(record: &Record<'_>, accused: &Accused, owner: &str, colour: usize) -> Lane {
    let mut lane = Lane {
        label: visible(owner).into_owned(),
        sub: "says, holds, writes".to_owned(),
        height: OWNER_HEIGHT,
        colour: Some(colour),
        of_owner: true,
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
                    lane.marks.push(Mark::new(event, kind, y, colour, text, accused));
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
                lane.marks.push(Mark::new(event, kind, WRITES_Y, colour, text, accused));
            }
            What::WriteHeld { .. } | What::ReadHeld { .. } => {
                lane.marks.push(Mark::new(
                    event,
                    MarkKind::Other,
                    WRITES_Y,
                    colour,
                    "held".to_owned(),
                    accused,
                ));
            }
            What::Fill(fill) => {
                let (kind, text) = match fill.accepted {
                    true => (MarkKind::Accepted, String::new()),
                    false => (MarkKind::Rejected, "fill rejected".to_owned()),
                };
                lane.marks.push(Mark::new(event, kind, WRITES_Y, colour, text, accused));
            }
            What::Ended { .. } => {
                lane.marks.push(Mark::new(
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
                .push(Mark::new(event, MarkKind::Wire, 61.0, None, String::new(), accused)),
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
