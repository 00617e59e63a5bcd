//! A run of `verify` in the form of a diagnosis. Its events went to the judge as they are: the verdict is the judge's, and
//! what the rules found are the causes.

use crate::redact::shown;
use leaseproof_model::diagnosis::{
    Boundary, Breach, BreachSeen, Cause, Cited, Confidence, Covered, DIAGNOSIS_SCHEMA, Diagnosis, Missing, Picture,
    Seen,
};
use leaseproof_model::event::{Event, EventId, Source};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::history::History;
use leaseproof_model::rule::Class;
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::{RunVerdict, ScenarioVerdict, Verdict};
use std::collections::BTreeMap;

/// The most lines that one finding names.
const MOST: usize = 10;

/// The run as a diagnosis; `folder` is what its files are called by.
#[must_use]
pub fn of_run(run: &RunVerdict, histories: &[History], folder: &str) -> Diagnosis {
    let scenarios: Vec<&ScenarioVerdict> = run
        .scenarios
        .iter()
        .flat_map(|scenario| std::iter::once(scenario).chain(scenario.twin.as_deref()))
        .collect();
    let found: Vec<(&ScenarioVerdict, &Finding)> = scenarios
        .iter()
        .flat_map(|scenario| scenario.findings.iter().map(move |finding| (*scenario, finding)))
        .collect();
    let broken: Vec<BreachSeen> = found
        .iter()
        .filter(|(_, finding)| finding.class == Class::Breach)
        .map(|(scenario, finding)| broken(scenario, finding, histories, folder))
        .collect();
    let causes = causes(&found, histories, folder);
    let seen = match run.verdict {
        _ if broken.iter().any(|it| it.seen == Seen::Certainly) => Seen::Certainly,
        Verdict::Proven => Seen::NoneSeen,
        _ if !broken.is_empty() => Seen::Possibly,
        _ => Seen::CannotTell,
    };
    let name = |source: &str| vec![format!("{folder}/events.jsonl ({source})")];
    Diagnosis {
        schema: DIAGNOSIS_SCHEMA.to_owned(),
        key: None,
        verdict: run.verdict,
        boundary: causes.first().map(|cause| cause.boundary),
        breach: Breach {
            seen,
            says: says(run, seen, &broken),
            broken,
            covered: Covered {
                owner: name("owners"),
                store: name("the store's readings"),
                resource: name("the witness"),
            },
        },
        loss: None,
        causes,
        missing: missing(run, folder),
        notes: std::iter::once(format!(
            "{folder} is a run of `verify`: its events were judged by the same rules, and the verdict is theirs"
        ))
        .chain(run.incomplete.clone())
        .collect(),
        lanes: Vec::new(),
        picture: Picture::default(),
        not_understood: Vec::new(),
    }
}

fn says(run: &RunVerdict, seen: Seen, broken: &[BreachSeen]) -> String {
    let held = run
        .scenarios
        .iter()
        .filter(|scenario| scenario.verdict == Verdict::Proven)
        .count();
    match (seen, broken.first()) {
        (Seen::Certainly | Seen::Possibly, Some(first)) => {
            format!("{} scenarios, {held} proven: {}", run.scenarios.len(), first.says)
        }
        _ => format!("{} scenarios, {held} proven", run.scenarios.len()),
    }
}

fn missing(run: &RunVerdict, folder: &str) -> Vec<Missing> {
    let open = run
        .scenarios
        .iter()
        .filter(|scenario| scenario.verdict == Verdict::CannotTell);
    open.flat_map(|scenario| {
        scenario
            .premises
            .iter()
            .filter(|premise| premise.holds != Truth::Yes)
            .take(1)
            .map(move |premise| (scenario, premise))
    })
    .map(|(scenario, premise)| Missing {
        what: format!("{}: {}: {}", scenario.id, premise.name, premise.says),
        how: format!("leaseproof verify --judge {folder}"),
    })
    .collect()
}

fn broken(scenario: &ScenarioVerdict, finding: &Finding, histories: &[History], folder: &str) -> BreachSeen {
    BreachSeen {
        rule: finding.rule.clone(),
        name: finding.name.clone(),
        seen: if finding.certainty == Truth::Yes {
            Seen::Certainly
        } else {
            Seen::Possibly
        },
        says: format!("{}: {}", scenario.id, finding.says),
        when: None,
        tokens: Vec::new(),
        owners: finding.owner.iter().cloned().collect(),
        evidence: cited(scenario, finding, histories, folder),
    }
}

/// One cause a rule and subject, however many cycles show it.
fn causes(found: &[(&ScenarioVerdict, &Finding)], histories: &[History], folder: &str) -> Vec<Cause> {
    let mut groups: BTreeMap<(&str, Subject), Vec<(&ScenarioVerdict, &Finding)>> = BTreeMap::new();
    for (scenario, finding) in found {
        groups
            .entry((&finding.rule, finding.subject))
            .or_default()
            .push((*scenario, *finding));
    }
    let mut causes: Vec<(u8, Cause)> = groups
        .into_values()
        .filter_map(|group| {
            let (scenario, finding) = *group
                .iter()
                .find(|(_, finding)| finding.certainty == Truth::Yes)
                .or(group.first())?;
            let boundary = match finding.subject {
                Subject::Owner => Boundary::LockClient,
                Subject::Resource => Boundary::Resource,
                Subject::Store => Boundary::Store,
                Subject::Configuration => Boundary::Configuration,
                Subject::Network => Boundary::Network,
                // What our own rig did is nobody's fault.
                Subject::Rig => return None,
            };
            let (next, not) = crate::advice::advice(match finding.rule.as_str() {
                "LP002" => "fence-accepts-stale",
                "LP007" => "pause-exceeds-margin",
                "LP013" => "connection-cut",
                "LP017" => "store-failed-over",
                "LP018" => "clock-stepped",
                _ => &finding.name,
            });
            let weight = match finding.class {
                Class::Breach => 0,
                Class::Cause => 1,
                Class::Mechanism => 2,
                Class::Availability => 3,
                Class::Notice => 4,
            };
            let more = if group.len() > 1 {
                format!(" (and {} times more)", group.len() - 1)
            } else {
                String::new()
            };
            Some((
                weight,
                Cause {
                    id: finding.name.clone(),
                    rule: finding.rule.clone(),
                    rank: 0,
                    confidence: if finding.certainty == Truth::Yes {
                        Confidence::Certain
                    } else {
                        Confidence::Possible
                    },
                    boundary,
                    says: format!("{}: {}{more}", scenario.id, finding.says),
                    evidence: cited(scenario, finding, histories, folder),
                    against: Vec::new(),
                    next: format!("{next}; leaseproof explain {}", finding.rule),
                    not: not.to_owned(),
                },
            ))
        })
        .collect();
    causes.sort_by_key(|(weight, cause)| (cause.confidence, *weight));
    causes
        .into_iter()
        .zip(1..)
        .map(|((_, cause), rank)| Cause { rank, ..cause })
        .collect()
}

fn cited(scenario: &ScenarioVerdict, finding: &Finding, histories: &[History], folder: &str) -> Vec<Cited> {
    let events = || {
        histories
            .iter()
            .filter(|history| history.ask.scenario == scenario.id && history.ask.store.kind == scenario.store)
            .flat_map(|history| &history.events)
    };
    let line = |id: EventId| {
        let event = events().find(|event| event.id == id);
        Cited {
            file: format!("{folder}/events.jsonl"),
            line: id.0,
            text: event.map(text).unwrap_or_default(),
            why: None,
        }
    };
    finding.evidence.iter().take(MOST).map(|id| line(*id)).collect()
}

fn text(event: &Event) -> String {
    if let Some(raw) = &event.raw {
        return shown(raw);
    }
    let source = match event.source {
        Source::Lab => "lab",
        Source::Fault => "fault",
        Source::Process => "process",
        Source::Store => "store",
        Source::Witness => "witness",
        Source::Owner => "owner",
        Source::Relay => "relay",
        Source::Shim => "shim",
    };
    let owner = event
        .owner
        .as_ref()
        .map(|owner| format!(" {owner}"))
        .unwrap_or_default();
    shown(&format!("{} {source}{owner}: {:?}", event.id, event.what))
}
