//! From a record to lanes, from top to bottom; the store, the resource and the coverage are here.

use crate::html::accused::Accused;
use crate::html::faults::faults;
use crate::html::grants::Grant;
use crate::html::lane::{Lane, Mark, MarkKind, Span, SpanKind};
use crate::html::owner::owner_lane;
use crate::moments::Record;
use crate::sentence;
use crate::visible::visible;
use crate::words;
use leaseproof_model::event::{OwnerEvent, What};
use std::collections::BTreeMap;

/// All lanes of a record, from top to bottom.
pub(crate) fn lanes(record: &Record<'_>, grants: &[Grant], accused: &Accused) -> Vec<Lane> {
    let owners = owners(record, grants);
    let colour_of = |name: Option<&str>| name.and_then(|name| owners.iter().position(|it| it == name));
    let mut lanes = vec![faults(record, accused), store(record, grants, accused, &colour_of)];
    // A restart that never came to act has no lane of its own: it is drawn where its slot began.
    let mut of_slot: BTreeMap<&str, usize> = BTreeMap::new();
    for (colour, owner) in owners.iter().enumerate() {
        let lane = owner_lane(record, accused, owner, colour);
        let slot = slot(record, owner);
        match slot.and_then(|slot| of_slot.get(slot)) {
            Some(&host) if !acted(record, grants, owner) => {
                let host: &mut Lane = &mut lanes[host];
                host.sub = format!("{} + {}", host.sub, lane.label);
                host.spans.extend(lane.spans);
                host.marks.extend(lane.marks);
            }
            _ => {
                of_slot.extend(slot.map(|slot| (slot, lanes.len())));
                lanes.push(lane);
            }
        }
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

/// The slot that an owner process was started in.
fn slot<'a>(record: &Record<'a>, owner: &str) -> Option<&'a str> {
    record.history.events.iter().find_map(|event| match &event.what {
        What::Started { slot, .. } if event.owner.as_ref().is_some_and(|it| it.as_str() == owner) => {
            Some(slot.as_str())
        }
        _ => None,
    })
}

/// Whether the store granted it a lease, or it claimed one, wrote, or met a fault.
fn acted(record: &Record<'_>, grants: &[Grant], owner: &str) -> bool {
    let events = record.history.events.iter();
    grants.iter().any(|it| it.owner.as_deref() == Some(owner))
        || events
            .filter(|it| it.owner.as_ref().is_some_and(|it| it.as_str() == owner))
            .any(|event| match &event.what {
                What::Said(said) => said.event != OwnerEvent::Waiting,
                What::Write(_) | What::WriteHeld { .. } | What::Fault(_) => true,
                _ => false,
            })
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
            What::Reading(_) => {
                lane.marks
                    .push(Mark::new(event, MarkKind::Reading, 37.0, None, String::new(), accused))
            }
            What::LabDid(_) => {
                let text = "lab".to_owned();
                lane.marks
                    .push(Mark::new(event, MarkKind::Other, 37.0, None, text, accused));
            }
            What::WriterFrozen => {
                let text = "writer frozen".to_owned();
                lane.marks
                    .push(Mark::new(event, MarkKind::Other, 37.0, None, text, accused));
            }
            _ => {}
        }
    }
    lane
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
                let mut mark = Mark::new(event, kind, 17.0, colour, String::new(), accused);
                if write.replay {
                    mark.text = "replay".to_owned();
                }
                lane.marks.push(mark);
            }
            What::WitnessRestarted { .. } => {
                lane.marks.push(Mark::new(
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
            of_owner: coverage.owner.is_some(),
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
