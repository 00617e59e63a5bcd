//! The verdict as JUnit XML: a suite for each store, a test for each scenario.
//!
//! Violated is a failure. Cannot tell is an *error*, since it must never look like a pass. Not offered
//! is skipped.

use crate::visible::visible;
use crate::words;
use leaseproof_model::finding::Finding;
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::{RunVerdict, ScenarioVerdict, Verdict};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use std::collections::BTreeMap;
use std::time::Duration;

/// The run as one JUnit document.
///
/// # Panics
/// Never: the document is written to memory.
#[must_use]
pub fn render(run: &RunVerdict) -> String {
    let mut report = Report::new("leaseproof");
    report.set_time(Duration::from_millis(run.took_ms));
    let mut suites: BTreeMap<&str, Vec<TestCase>> = BTreeMap::new();
    for scenario in &run.scenarios {
        suites.entry(&scenario.store).or_default().push(case(scenario));
    }
    for missing in &run.not_offered {
        let mut status = TestCaseStatus::skipped();
        status.set_message(format!("not offered: {}", visible(&missing.why)));
        let case = named(missing.id.as_str(), &missing.store, status);
        suites.entry(&missing.store).or_default().push(case);
    }
    for (store, cases) in suites {
        report.add_test_suite(suite(run, store, cases));
    }
    if let Some(why) = &run.incomplete {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(format!("the run is incomplete: {}", visible(why)));
        status.set_type("incomplete");
        report.add_test_suite(suite(run, "", vec![named("whole-run", "", status)]));
    }
    report.to_string().expect("writing to memory does not fail")
}

fn suite(run: &RunVerdict, store: &str, cases: Vec<TestCase>) -> TestSuite {
    let mut suite = TestSuite::new(class_name(store));
    suite.add_property(Property::new("run", visible(&run.run)));
    suite.add_property(Property::new("seed", run.seed.to_string()));
    suite.add_property(Property::new("verdict", run.verdict.as_str()));
    suite.add_test_cases(cases);
    suite
}

fn case(scenario: &ScenarioVerdict) -> TestCase {
    let status = match scenario.verdict {
        Verdict::Proven => TestCaseStatus::success(),
        Verdict::Violated => unsuccessful(NonSuccessKind::Failure, scenario),
        Verdict::CannotTell => unsuccessful(NonSuccessKind::Error, scenario),
    };
    let mut case = named(scenario.id.as_str(), &scenario.store, status);
    case.set_time(Duration::from_millis(scenario.took_ms));
    case.set_system_out(format!(
        "{}: held in {} of {}",
        scenario.verdict,
        scenario.cycles_held,
        words::count(scenario.cycles as usize, "cycle")
    ));
    case
}

fn unsuccessful(kind: NonSuccessKind, scenario: &ScenarioVerdict) -> TestCaseStatus {
    // What is certain comes first, breaches before the rest: the first one is the headline.
    let mut worst_first: Vec<&Finding> = scenario.findings.iter().collect();
    worst_first.sort_by_key(|it| (it.certainty != Truth::Yes, it.class));
    let findings: Vec<String> = worst_first
        .iter()
        .map(|it| {
            let proof: Vec<String> = it.evidence.iter().map(ToString::to_string).collect();
            format!(
                "{} {} ({}, certainty {}, cycle {}): {} [{}]",
                it.rule,
                it.name,
                words::class(it.class),
                words::truth(it.certainty),
                it.cycle,
                visible(&it.says),
                proof.join(" ")
            )
        })
        .collect();
    let missing: Vec<String> = scenario
        .premises
        .iter()
        .filter(|it| it.holds != Truth::Yes)
        .map(|it| {
            format!(
                "premise {} missing in cycle {}: {}",
                it.name,
                it.cycle,
                visible(&it.says)
            )
        })
        .collect();
    let first = match kind {
        NonSuccessKind::Failure => findings.first().or(missing.first()),
        NonSuccessKind::Error => missing.first().or(findings.first()),
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(scenario.verdict.as_str());
    status.set_message(first.cloned().unwrap_or_else(|| scenario.verdict.to_string()));
    status.set_description([findings, missing].concat().join("\n"));
    status
}

fn named(name: &str, store: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(class_name(store));
    case
}

fn class_name(store: &str) -> String {
    if store.is_empty() {
        "leaseproof".to_owned()
    } else {
        format!("leaseproof.{}", visible(store))
    }
}
