//! One record on the page: its pictures, its rows, and its first violation in words.

use crate::html::accused::Accused;
use crate::html::draw::{Chart, Subject, chart};
use crate::html::faults::faults_of;
use crate::html::grants::{Grant, grants};
use crate::html::lanes::lanes;
use crate::html::scale::Scale;
use crate::html::table::{Row, table};
use crate::moments::Record;
use crate::sentence;
use crate::visible::visible;
use crate::words;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{EventId, FaultKind, What};
use leaseproof_model::verdict::{ScenarioVerdict, Verdict};
use serde::Serialize;
use std::time::Duration;

/// Routine marks on the whole page; above this they are thinned, and the page says so.
const MOST_MARKS: usize = 10_000;
/// Bytes of rows on the whole page, beside those that findings and premises name.
const ROOM_FOR_ROWS: usize = 2_000_000;

/// The first violation, as an engineer at night needs it.
#[derive(Clone, Serialize)]
pub(crate) struct First {
    scenario: &'static str,
    anchor: String,
    cycle: u32,
    when: String,
    /// The finding's own sentence.
    says: String,
    /// The act that it accuses, where it is one.
    act: Option<String>,
    /// How long the owner was frozen, and when its lease ended.
    pause: Option<String>,
    store_says: Option<String>,
    rules: Vec<String>,
    #[serde(skip)]
    pub(crate) is_breach: bool,
}

#[derive(Serialize)]
pub(crate) struct RecordView {
    anchor: String,
    title: String,
    key: String,
    complete: bool,
    pub(crate) first: Option<First>,
    close_up: Option<Figure>,
    whole: Figure,
    uncovered: bool,
    named: Vec<Row>,
    rest: Vec<Row>,
    cut: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct Figure {
    id: String,
    caption: String,
    chart: Chart,
}

/// What each record may use of the page.
pub(crate) struct Share {
    marks: usize,
    bytes: usize,
}

impl Share {
    pub(crate) fn new(records: usize) -> Self {
        let records = records.max(1);
        // Half of a record's marks go to its close-up, where it has one.
        Self {
            marks: (MOST_MARKS / records / 2).max(100),
            bytes: ROOM_FOR_ROWS / records,
        }
    }
}

pub(crate) fn record_view(
    scenario: &ScenarioVerdict,
    record: &Record<'_>,
    anchor: &str,
    at: usize,
    share: &Share,
) -> RecordView {
    let grants = grants(&record.history.events);
    let accused = Accused::new(scenario, record, &grants);
    let lanes = lanes(record, &grants, &accused);
    let rows = table(
        record,
        &accused.named,
        &|id| accused.acts.contains_key(&id),
        share.bytes,
    );
    let anchored = rows.anchored();
    let first = first(scenario, record, anchor, &accused, &grants);
    let flag = accused.first.and_then(|id| record.event(id)).map(|event| {
        let rules = accused.acts.get(&event.id).cloned().unwrap_or_default();
        (
            event.at.latest,
            format!("first violation {}", rules.join(" ")).trim_end().to_owned(),
        )
    });
    let description = description(scenario, record, &first);
    let seconds = |at: BootNanos| format!("{:.2} s", record.seconds(at));
    let figure = |name: &str, scale: Scale, caption: String| {
        let id = format!("{anchor}{name}");
        let title = format!("{}, {name}", scenario.id);
        let chart = chart(
            &lanes,
            &Subject {
                scale,
                zero: record.zero,
                id: &id,
                anchor,
                title: &title,
                description: &description,
                flag: flag.clone(),
                rows: &anchored,
                most_marks: share.marks,
            },
        );
        Figure { id, caption, chart }
    };
    let close_up = accused.first.and_then(|id| record.event(id)).map(|event| {
        let (from, to) = window(record, event.at.earliest, &accused.story);
        let caption = format!(
            "Close-up of the first violation: {} to {} of {}. The whole run is below.",
            seconds(from),
            seconds(to),
            seconds(record.end)
        );
        figure("close-up", Scale::window(from, to), caption)
    });
    let whole = Scale::whole(record.zero, record.end);
    let caption = format!(
        "The whole run: {}, {:.0} pixels a second throughout; nothing is cut out of the time.",
        seconds(record.end),
        whole.width / whole.seconds()
    );
    RecordView {
        anchor: anchor.to_owned(),
        title: if at == 0 {
            String::new()
        } else {
            format!("record {} (repeated)", at + 1)
        },
        key: visible(&record.history.ask.key).into_owned(),
        complete: record.history.complete,
        uncovered: !record
            .history
            .events
            .iter()
            .any(|it| matches!(it.what, What::Coverage(_))),
        close_up,
        whole: figure("whole", whole, caption),
        first,
        named: rows.named,
        rest: rows.rest,
        cut: rows.cut,
    }
}

/// From the first thing that the finding names to a little after the last, around the violation.
fn window(record: &Record<'_>, violation: BootNanos, story: &[EventId]) -> (BootNanos, BootNanos) {
    let moments = || story.iter().filter_map(|id| record.event(*id)).map(|it| it.at);
    let early = violation.minus(Duration::from_millis(4500));
    let late = violation.plus(Duration::from_millis(1500));
    let from = moments()
        .map(|it| it.earliest)
        .min()
        .unwrap_or(violation)
        .clamp(early, violation);
    let to = moments()
        .map(|it| it.latest)
        .max()
        .unwrap_or(violation)
        .clamp(violation, late);
    let pad = (to.since(from) / 10).max(Duration::from_millis(250));
    (
        from.minus(pad).max(record.zero),
        to.plus(pad).min(record.end).max(violation),
    )
}

fn first(
    scenario: &ScenarioVerdict,
    record: &Record<'_>,
    anchor: &str,
    accused: &Accused,
    grants: &[Grant],
) -> Option<First> {
    let event = record.event(accused.first?)?;
    let because = accused.because.as_ref()?;
    let owner = event.owner.as_ref().map(|it| it.as_str());
    let is_act = accused.acts.contains_key(&event.id);
    let holder = grants.iter().find(|it| it.surely_at(event.at));
    let store_says = match holder {
        _ if !is_act => None,
        Some(grant) if grant.owner.as_deref() == owner => None,
        Some(grant) => Some(format!(
            "The store had the lease granted to {}{} since +{:.3} s.",
            visible(grant.owner.as_deref().unwrap_or(grant.holder.as_str())),
            grant.token.map(|it| format!(", token {it},")).unwrap_or_default(),
            record.seconds(grant.from.latest)
        )),
        None => grants
            .iter()
            .rev()
            .find(|it| it.owner.as_deref() == owner && it.until.latest < event.at.earliest)
            .map(|it| format!("Its own grant had ended at +{:.3} s.", record.seconds(it.until.latest))),
    };
    let mut rules = vec![because.rule.clone()];
    for rule in accused.acts.get(&event.id).into_iter().flatten() {
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
    let about = because.owner.as_deref().or(owner);
    Some(First {
        scenario: scenario.id.as_str(),
        anchor: format!("{anchor}close-up"),
        cycle: event.cycle,
        when: record.when(event),
        says: visible(&because.says).into_owned(),
        act: is_act.then(|| sentence::accusing(event)),
        pause: about.and_then(|owner| pause(record, owner, event.at.latest, grants)),
        store_says,
        rules,
        is_breach: scenario.safety == Verdict::Violated,
    })
}

fn is_pause(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::PauseTree | FaultKind::PauseParent | FaultKind::PauseChild
    )
}

/// How long the owner had been frozen before this moment, and when the lease that it had then ended.
fn pause(record: &Record<'_>, owner: &str, at: BootNanos, grants: &[Grant]) -> Option<String> {
    let fault = faults_of(record)
        .into_iter()
        .filter(|it| it.owner.as_deref() == Some(owner) && is_pause(it.kind))
        .filter(|it| it.confirmed.is_some_and(|from| from <= at))
        .max_by_key(|it| it.confirmed)?;
    let from = fault.confirmed?;
    let mut text = match fault.undone {
        Some(to) => format!(
            "{} was frozen for {}, from +{:.3} s to +{:.3} s",
            visible(owner),
            words::span(to.since(from)),
            record.seconds(from),
            record.seconds(to)
        ),
        None => format!("{} was frozen from +{:.3} s on", visible(owner), record.seconds(from)),
    };
    let lease = grants
        .iter()
        .rev()
        .find(|it| it.owner.as_deref() == Some(owner) && it.from.earliest <= from);
    if let Some(lease) = lease.filter(|it| it.until.latest <= record.end) {
        text.push_str(&format!(
            "; its lease {} at +{:.3} s",
            if lease.until.latest <= from {
                "had ended"
            } else {
                "ended"
            },
            record.seconds(lease.until.latest)
        ));
    }
    Some(text + ".")
}

fn description(scenario: &ScenarioVerdict, record: &Record<'_>, first: &Option<First>) -> String {
    let mut text = format!(
        "Scenario {} on {}: {}. {} events in {:.1} s, one lane each for faults, store, owners, resource and coverage.",
        scenario.id,
        scenario.store,
        scenario.verdict,
        record.history.events.len(),
        record.seconds(record.end)
    );
    if let Some(first) = first {
        text.push_str(&format!(" First violation {}: {}.", first.when, first.says));
    }
    text
}
