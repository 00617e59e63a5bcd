//! What the template shows: the verdict first, the first violation, then each scenario.

use crate::explain;
use crate::html::record::{First, RecordView, Share, record_view};
use crate::moments::{Record, records};
use crate::sentence;
use crate::visible::visible;
use crate::words;
use leaseproof_model::event::EventId;
use leaseproof_model::finding::Finding;
use leaseproof_model::history::History;
use leaseproof_model::rule::Class;
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::{NotOffered, RunVerdict, ScenarioVerdict, Verdict};
use serde::Serialize;
use std::time::Duration;

pub(crate) const CSS: &str = include_str!("../../templates/report.css");
pub(crate) const JS: &str = include_str!("../../templates/report.js");
/// The page's policy lets this one script run and no other, whatever a name holds. When the script
/// changes: `openssl dgst -sha256 -binary report.js | base64` (the browser test notices).
pub(crate) const JS_HASH: &str = "sha256-BEv5xLZIZj3YdWWyBJ2rqo4/3SlXHclDXY/d2BAdNMA=";

#[derive(Serialize)]
pub(crate) struct Page<'a> {
    verdict: &'static str,
    tone: &'static str,
    held: String,
    run: String,
    seed: u64,
    date: Option<String>,
    version: &'static str,
    took: String,
    incomplete: Option<String>,
    budget: Vec<(&'static str, String)>,
    budget_holds: bool,
    first: Option<First>,
    scenarios: Vec<Section>,
    not_offered: Vec<Missing>,
    document: &'a RunVerdict,
    css: &'static str,
    js: &'static str,
    script_hash: &'static str,
}

#[derive(Serialize)]
struct Missing {
    id: &'static str,
    store: String,
    why: String,
}

#[derive(Serialize)]
struct Section {
    anchor: String,
    id: &'static str,
    twin: bool,
    self_check: bool,
    store: String,
    verdict: &'static str,
    tone: &'static str,
    safety: &'static str,
    availability: Option<&'static str>,
    held: String,
    took: String,
    rules: Vec<String>,
    findings: Vec<FindingView>,
    premises: Vec<PremiseView>,
    open_premises: Vec<PremiseView>,
    cut: bool,
    measures: Vec<(String, String)>,
    records: Vec<RecordView>,
}

#[derive(Serialize)]
struct FindingView {
    rule: String,
    name: String,
    tone: &'static str,
    about: String,
    says: String,
    evidence: Vec<Evidence>,
    more: usize,
    to_do: Option<&'static str>,
}

#[derive(Serialize)]
struct Evidence {
    id: String,
    href: Option<String>,
    when: String,
    says: String,
}

#[derive(Clone, Serialize)]
struct PremiseView {
    name: &'static str,
    cycle: u32,
    holds: &'static str,
    tone: &'static str,
    says: String,
    evidence: Vec<(String, Option<String>)>,
}

/// Builds the page.
pub(crate) fn page<'a>(run: &'a RunVerdict, histories: &[&History]) -> Page<'a> {
    let of_scenario = records(run, histories);
    let share = Share::new(of_scenario.iter().map(Vec::len).sum());
    let mut scenarios: Vec<Section> = Vec::new();
    for (scenario, records) in run.scenarios.iter().zip(&of_scenario) {
        let (twins, own): (Vec<_>, Vec<_>) = records.iter().partition(|it| it.history.ask.twin);
        scenarios.push(section(scenario, &own, scenarios.len() + 1, false, &share));
        if let Some(twin) = &scenario.twin {
            scenarios.push(section(twin, &twins, scenarios.len() + 1, true, &share));
        }
    }
    // The anchors keep the catalogue's order; what is read first is what is broken.
    let order = words::worst_first(run);
    let place = |id: &str, store: &str| {
        order
            .iter()
            .position(|at| run.scenarios[*at].id.as_str() == id && visible(&run.scenarios[*at].store) == store)
    };
    scenarios.sort_by_key(|it| place(it.id, &it.store));
    // Each scenario has a clock of its own: a breach goes before availability, then the table's order.
    let first = scenarios
        .iter()
        .flat_map(|it| &it.records)
        .filter_map(|it| it.first.clone())
        .min_by_key(|it| !it.is_breach);
    Page {
        verdict: run.verdict.as_str(),
        tone: tone(run.verdict),
        held: words::held(run),
        run: visible(&run.run).into_owned(),
        seed: run.seed,
        date: date(histories),
        version: env!("CARGO_PKG_VERSION"),
        took: words::span(Duration::from_millis(run.took_ms)),
        incomplete: run.incomplete.as_deref().map(|it| visible(it).into_owned()),
        budget: budget(run),
        budget_holds: run.budget.holds,
        first,
        scenarios,
        not_offered: run.not_offered.iter().map(missing).collect(),
        document: run,
        css: CSS,
        js: JS,
        script_hash: JS_HASH,
    }
}

fn tone(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Proven => "good",
        Verdict::CannotTell => "open",
        Verdict::Violated => "bad",
    }
}

/// The day and time of the first stamped event, by the host's wall clock, in UTC.
fn date(histories: &[&History]) -> Option<String> {
    let wall = histories
        .iter()
        .flat_map(|it| &it.events)
        .filter_map(|it| it.stamp)
        .map(|it| it.wall.0)
        .filter(|it| *it > 0)
        .min()?;
    let seconds = wall / 1_000_000_000;
    let of_day = seconds.rem_euclid(86_400);
    Some(format!(
        "{} {:02}:{:02} UTC",
        words::day(seconds),
        of_day / 3600,
        of_day % 3600 / 60
    ))
}

fn budget(run: &RunVerdict) -> Vec<(&'static str, String)> {
    let numbers = &run.budget.numbers;
    vec![
        ("TTL", words::span(numbers.ttl)),
        ("heartbeat", words::span(numbers.heartbeat)),
        ("renewal timeout", words::span(numbers.renew_timeout)),
        ("clock drift", words::span(numbers.max_clock_drift)),
        ("margin", format!("{} ms", run.budget.margin_ms)),
        ("plain TTL − heartbeat", format!("{} ms", run.budget.plain_margin_ms)),
        ("worst pause", format!("{} ms", run.budget.worst_pause_ms)),
    ]
}

fn missing(it: &NotOffered) -> Missing {
    Missing {
        id: it.id.as_str(),
        store: visible(&it.store).into_owned(),
        why: visible(&it.why).into_owned(),
    }
}

fn section(scenario: &ScenarioVerdict, records: &[&Record<'_>], number: usize, twin: bool, share: &Share) -> Section {
    let anchors: Vec<String> = (0..records.len())
        .map(|at| {
            if at == 0 {
                format!("s{number}-")
            } else {
                format!("s{number}r{}-", at + 1)
            }
        })
        .collect();
    let find = |id: EventId| {
        records
            .iter()
            .zip(&anchors)
            .find_map(|(record, anchor)| Some((*record, anchor, record.event(id)?)))
    };
    let link = |id: EventId| find(id).map(|(_, anchor, _)| format!("{anchor}{id}"));
    let premises: Vec<PremiseView> = scenario
        .premises
        .iter()
        .map(|it| PremiseView {
            name: it.name.as_str(),
            cycle: it.cycle,
            holds: words::truth(it.holds),
            tone: match it.holds {
                Truth::Yes => "good",
                Truth::No | Truth::CannotTell => "open",
            },
            says: visible(&it.says).into_owned(),
            evidence: it.evidence.iter().map(|id| (id.to_string(), link(*id))).collect(),
        })
        .collect();
    let finding = |it: &Finding| {
        let evidence = it.evidence.iter().map(|id| match find(*id) {
            Some((record, anchor, event)) => Evidence {
                id: id.to_string(),
                href: Some(format!("{anchor}{id}")),
                when: record.when(event),
                says: sentence::of(event),
            },
            None => Evidence {
                id: id.to_string(),
                href: None,
                when: String::new(),
                says: "not in the record that this page was made from".to_owned(),
            },
        });
        const MOST: usize = 12;
        FindingView {
            rule: visible(&it.rule).into_owned(),
            name: visible(&it.name).into_owned(),
            tone: finding_tone(scenario, it),
            about: about(it),
            says: visible(&it.says).into_owned(),
            evidence: evidence.take(MOST).collect(),
            more: it.evidence.len().saturating_sub(MOST),
            to_do: explain::section(&it.rule, "What to do"),
        }
    };
    let mut rules: Vec<String> = Vec::new();
    for finding in scenario.findings.iter().filter(|it| it.class != Class::Notice) {
        if !rules.contains(&finding.rule) {
            rules.push(finding.rule.clone());
        }
    }
    let cut = scenario.verdict == Verdict::CannotTell && records.iter().any(|it| !it.history.complete);
    let one_record =
        |(at, (record, anchor)): (usize, (&&Record<'_>, &String))| record_view(scenario, record, anchor, at, share);
    Section {
        anchor: format!("s{number}"),
        id: scenario.id.as_str(),
        twin,
        self_check: !words::in_the_count(scenario),
        store: visible(&scenario.store).into_owned(),
        verdict: scenario.verdict.as_str(),
        tone: tone(scenario.verdict),
        safety: scenario.safety.as_str(),
        availability: scenario.availability.map(Verdict::as_str),
        held: format!(
            "held in {} of {}",
            scenario.cycles_held,
            words::count(scenario.cycles as usize, "cycle")
        ),
        took: words::span(Duration::from_millis(scenario.took_ms)),
        rules,
        findings: scenario.findings.iter().map(finding).collect(),
        // What a cut record lacks says nothing of the owner; the table of premises has it.
        open_premises: premises
            .iter()
            .filter(|it| !cut && it.tone == "open")
            .cloned()
            .collect(),
        cut,
        premises,
        measures: scenario
            .measures
            .iter()
            .map(|(name, value)| {
                let (name, value) = words::measure(name, *value);
                (visible(&name).into_owned(), value)
            })
            .collect(),
        records: records.iter().zip(&anchors).enumerate().map(one_record).collect(),
    }
}

fn finding_tone(scenario: &ScenarioVerdict, finding: &Finding) -> &'static str {
    if words::weighs(scenario, finding) {
        "bad"
    } else if finding.class == Class::Notice {
        "plain"
    } else {
        "open"
    }
}

fn about(finding: &Finding) -> String {
    let mut text = format!("{}, {}", words::class(finding.class), words::subject(finding.subject));
    if let Some(owner) = &finding.owner {
        text.push_str(&format!(" {}", visible(owner)));
    }
    if finding.cycle > 0 {
        text.push_str(&format!(", cycle {}", finding.cycle));
    }
    if finding.certainty != Truth::Yes {
        text.push_str(", cannot tell");
    }
    text
}
