//! The findings of a scenario: each rule once an owner, with the cycles in which it was broken.

use super::paper::{Paint, Paper};
use crate::moments::Record;
use crate::sentence;
use crate::visible::visible;
use crate::words;
use leaseproof_model::event::{Event, EventId, FaultPhase, What};
use leaseproof_model::finding::Finding;
use leaseproof_model::rule::{Class, LP020};
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::{ScenarioVerdict, Verdict};

/// How many events are told of each group; the report has all.
const MOST_EVENTS: usize = 3;

/// Whether the scenario has findings to tell below its line: the notices of a proven scenario are
/// told once for the whole run.
pub(super) fn any(scenario: &ScenarioVerdict) -> bool {
    scenario.findings.iter().any(|it| is_told(scenario, it))
}

/// Whether it has findings that do more than inform.
pub(super) fn any_but_notices(scenario: &ScenarioVerdict) -> bool {
    scenario.findings.iter().any(|it| it.class != Class::Notice)
}

fn is_told(scenario: &ScenarioVerdict, finding: &Finding) -> bool {
    finding.class != Class::Notice || scenario.verdict != Verdict::Proven
}

/// All of them, those that moved the verdict first.
pub(super) fn all(
    paper: &mut Paper,
    scenario: &ScenarioVerdict,
    records: &[&Record<'_>],
    end_is_told: bool,
    without_notices: bool,
    rest: &str,
) {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    let told = scenario
        .findings
        .iter()
        .filter(|it| is_told(scenario, it))
        .filter(|it| !(without_notices && it.class == Class::Notice))
        .filter(|it| !(end_is_told && tells_the_end(it, records)));
    for finding in told {
        let same = |group: &&mut Vec<&Finding>| {
            let first = group[0];
            let owner = finding.class == Class::Notice || same_seat(first, finding);
            first.rule == finding.rule
                && owner
                && first.certainty == finding.certainty
                && (first.rule != LP020.code || about_nobody(first) == about_nobody(finding))
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups.sort_by_key(|group| !words::weighs(scenario, group[0]));
    for group in &groups {
        one(paper, scenario, group, records, rest);
    }
}

/// What is missing, whoever it is missing of: LP020 says quite different things, and each is told once.
fn about_nobody(finding: &Finding) -> String {
    match &finding.owner {
        Some(owner) => finding.says.replace(owner.as_str(), ""),
        None => finding.says.clone(),
    }
}

/// Whether two findings are about one owner, or about one and what was started anew in its place: seat, count
/// and letters of the run make a name.
fn same_seat(a: &Finding, b: &Finding) -> bool {
    let seat = |it: &Finding| {
        let name = it.owner.as_deref()?;
        let seat = name.split(|c: char| c.is_ascii_digit()).next()?;
        (!seat.is_empty() && seat != name).then(|| seat.to_owned())
    };
    a.owner == b.owner || seat(a).is_some() && seat(a) == seat(b)
}

/// Whether a notice only says again why the scenario ended early.
fn tells_the_end(finding: &Finding, records: &[&Record<'_>]) -> bool {
    finding.class == Class::Notice
        && finding
            .evidence
            .iter()
            .filter_map(|id| event(*id, records))
            .any(|(_, it)| matches!(it.what, What::Abandoned { .. }))
}

fn one(paper: &mut Paper, scenario: &ScenarioVerdict, group: &[&Finding], records: &[&Record<'_>], rest: &str) {
    let first = group[0];
    let paint = if words::weighs(scenario, first) {
        Paint::Bad
    } else if first.class == Class::Notice {
        Paint::Dim
    } else {
        Paint::Warn
    };
    let head = format!("{} {}", first.rule, visible(&first.name));
    let mut about = format!("  {}, {}", words::class(first.class), words::subject(first.subject));
    let mut owners: Vec<&str> = Vec::new();
    for owner in group.iter().filter_map(|it| it.owner.as_deref()) {
        if (first.class != Class::Notice || group.len() > 1 && first.rule == LP020.code) && !owners.contains(&owner) {
            owners.push(owner);
        }
    }
    if !owners.is_empty() {
        about.push_str(&format!(" {}", visible(&owners.join(", "))));
    }
    let cycles = words::cycles(group.iter().map(|it| it.cycle));
    if !cycles.is_empty() {
        about.push_str(&format!(", {cycles}"));
    }
    if first.certainty != Truth::Yes {
        about.push_str(", cannot tell");
    }
    paper.line(4, &[(paint, &head), (Paint::Dim, &about)]);
    paper.line(6, &[(Paint::Plain, &visible(&first.says))]);
    if first.class == Class::Notice {
        return;
    }
    let mut evidence: Vec<EventId> = group.iter().flat_map(|it| &it.evidence).copied().collect();
    evidence.sort_unstable();
    evidence.dedup();
    // What explains a breach is told in its sentence; the events are the breach's own.
    let explains = matches!(first.class, Class::Mechanism | Class::Cause) && scenario.verdict == Verdict::Violated;
    let shown = if explains { Vec::new() } else { telling(first, records) };
    for (record, event) in &shown {
        let line = format!("{} {} {}", event.id, record.when(event), sentence::of(event));
        paper.line(8, &[(Paint::Dim, &line)]);
    }
    let more = |shown: usize| evidence.len().saturating_sub(shown);
    if shown.is_empty() && !evidence.is_empty() {
        let ids: Vec<String> = first
            .evidence
            .iter()
            .take(MOST_EVENTS)
            .map(ToString::to_string)
            .collect();
        let mut line = format!("proven by {}", ids.join(", "));
        if more(ids.len()) > 0 {
            line.push_str(&format!(", and {} more: {rest}", more(ids.len())));
        }
        paper.line(6, &[(Paint::Dim, &line)]);
    } else if more(shown.len()) > 0 {
        let line = format!("and {} more: {rest}", more(shown.len()));
        paper.line(8, &[(Paint::Dim, &line)]);
    }
}

fn event<'a, 'b>(id: EventId, records: &'b [&'b Record<'a>]) -> Option<(&'b Record<'a>, &'a Event)> {
    records.iter().find_map(|it| Some((*it, it.event(id)?)))
}

/// The events that tell a finding's story: what came before the first act that it names, that act,
/// and the last one; where it names no act, the first ones and the last.
fn telling<'a, 'b>(finding: &Finding, records: &'b [&'b Record<'a>]) -> Vec<(&'b Record<'a>, &'a Event)> {
    let named: Vec<_> = finding.evidence.iter().filter_map(|id| event(*id, records)).collect();
    let is_act = |it: &Event| {
        matches!(it.what, What::Write(_) | What::Fill(_) | What::Said(_))
            && (finding.owner.is_none() || it.owner.as_ref().map(|it| it.as_str()) == finding.owner.as_deref())
    };
    if named.len() <= MOST_EVENTS {
        return named;
    }
    if let Some(first) = named.iter().position(|(_, it)| is_act(it)) {
        let mut shown = Vec::new();
        shown.extend(first.checked_sub(1).map(|before| named[before]));
        shown.push(named[first]);
        shown.extend(named[first + 1..].iter().rev().find(|(_, it)| is_act(it)).copied());
        return shown;
    }
    let in_force = |it: &Event| match &it.what {
        What::Fault(fault) => !matches!(fault.phase, FaultPhase::Asked | FaultPhase::Due),
        _ => true,
    };
    let kept: Vec<_> = named.iter().copied().filter(|(_, it)| in_force(it)).collect();
    match kept.as_slice() {
        [first, second, .., last] => vec![*first, *second, *last],
        _ => kept,
    }
}
