//! The verdict as Prometheus text, for the node exporter's textfile collector: `verify --metrics FILE`.
//!
//! A run's id is no label, and no owner's name is: a series that is new with each run is never seen again.

use crate::exposition::{Kind, Page};
use leaseproof_model::verdict::{RunVerdict, ScenarioVerdict, Verdict};
use std::collections::BTreeMap;

/// The verdict and its measures; `finished_s` is the wall time of its end, in seconds since 1970.
#[must_use]
pub fn render(run: &RunVerdict, finished_s: f64) -> String {
    let mut page = Page::new();
    let gauge = |page: &mut Page, name: &str, help: &str, value: f64| {
        page.family(name, Kind::Gauge, help);
        page.sample(name, &[], value);
    };
    let says = "The run's verdict: 0 proven, 1 violated, 3 cannot tell.";
    gauge(&mut page, "leaseproof_verify_verdict", says, status(run.verdict));
    let says = "When the run ended, in seconds since 1970.";
    gauge(
        &mut page,
        "leaseproof_verify_finished_timestamp_seconds",
        says,
        finished_s,
    );
    let says = "How long the run took.";
    gauge(&mut page, "leaseproof_verify_took_seconds", says, ms(run.took_ms));
    let says = "Whether the run was cut short.";
    let incomplete = f64::from(u8::from(run.incomplete.is_some()));
    gauge(&mut page, "leaseproof_verify_incomplete", says, incomplete);
    let says = "The margin of the plan's budget.";
    gauge(
        &mut page,
        "leaseproof_verify_margin_seconds",
        says,
        ms(run.budget.margin_ms),
    );
    let says = "The worst pause of the plan's budget.";
    gauge(
        &mut page,
        "leaseproof_verify_worst_pause_seconds",
        says,
        ms(run.budget.worst_pause_ms),
    );

    let name = "leaseproof_verify_scenario_verdict";
    page.family(
        name,
        Kind::Gauge,
        "Each scenario's verdict: 0 proven, 1 violated, 3 cannot tell.",
    );
    for scenario in &run.scenarios {
        page.sample(name, &labels(scenario), status(scenario.verdict));
    }
    let name = "leaseproof_verify_scenario_cycles_held";
    page.family(name, Kind::Gauge, "The cycles in which the scenario held.");
    for scenario in &run.scenarios {
        page.sample(name, &labels(scenario), f64::from(scenario.cycles_held));
    }
    let name = "leaseproof_verify_scenario_cycles";
    page.family(name, Kind::Gauge, "The cycles that were run.");
    for scenario in &run.scenarios {
        page.sample(name, &labels(scenario), f64::from(scenario.cycles));
    }
    findings(&mut page, run);
    measures(&mut page, run);
    let name = "leaseproof_verify_not_offered";
    page.family(
        name,
        Kind::Gauge,
        "Scenarios that this host, store or owner can't offer.",
    );
    for missing in &run.not_offered {
        let labels = [("scenario", missing.id.as_str()), ("store", missing.store.as_str())];
        page.sample(name, &labels, 1.0);
    }
    page.finish()
}

fn findings(page: &mut Page, run: &RunVerdict) {
    let name = "leaseproof_verify_findings";
    page.family(name, Kind::Gauge, "Findings of the run, by scenario and rule.");
    for scenario in &run.scenarios {
        let mut counts: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        for finding in &scenario.findings {
            *counts.entry((&finding.rule, &finding.name)).or_default() += 1;
        }
        for ((rule, title), count) in counts {
            let [a, b] = labels(scenario);
            page.sample(name, &[a, b, ("rule", rule), ("name", title)], f64::from(count));
        }
    }
}

/// Measures by name; milliseconds become seconds, as Prometheus wants its base units.
fn measures(page: &mut Page, run: &RunVerdict) {
    let name = "leaseproof_verify_measure_seconds";
    page.family(
        name,
        Kind::Gauge,
        "What was measured, in seconds, by scenario and measure.",
    );
    let mut counts = Vec::new();
    for scenario in &run.scenarios {
        for (measure, value) in scenario.measures.iter().filter(|(_, value)| value.is_finite()) {
            match measure.strip_suffix("_ms") {
                Some(measure) => {
                    let [a, b] = labels(scenario);
                    page.sample(name, &[a, b, ("measure", measure)], value / 1000.0);
                }
                None => counts.push((scenario, measure, *value)),
            }
        }
    }
    let name = "leaseproof_verify_measure";
    page.family(name, Kind::Gauge, "What was counted, by scenario and measure.");
    for (scenario, measure, value) in counts {
        let [a, b] = labels(scenario);
        page.sample(name, &[a, b, ("measure", measure)], value);
    }
}

fn labels(scenario: &ScenarioVerdict) -> [(&'static str, &str); 2] {
    [("scenario", scenario.id.as_str()), ("store", &scenario.store)]
}

fn status(verdict: Verdict) -> f64 {
    f64::from(verdict.exit_status())
}

#[expect(clippy::cast_precision_loss, reason = "a run takes less than 2^52 ms")]
fn ms(number: u64) -> f64 {
    number as f64 / 1000.0
}
