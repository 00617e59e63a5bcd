//! What is told once for the whole run: the notices of proven scenarios, and the measures that matter.

use super::Places;
use super::paper::{Paint, Paper};
use crate::visible::visible;
use crate::words;
use leaseproof_model::finding::Finding;
use leaseproof_model::rule::{Class, LP020};
use leaseproof_model::verdict::{RunVerdict, ScenarioVerdict, Verdict};

/// The notices of proven scenarios, each rule once; of LP020, each thing that is missing.
pub(super) fn notices(paper: &mut Paper, run: &RunVerdict) {
    let mut groups: Vec<(&Finding, Vec<&str>)> = Vec::new();
    for scenario in run.scenarios.iter().filter(|it| it.verdict == Verdict::Proven) {
        for finding in scenario.findings.iter().filter(|it| it.class == Class::Notice) {
            let id = scenario.id.as_str();
            let same = |first: &Finding| {
                first.rule == finding.rule && (first.rule != LP020.code || first.says == finding.says)
            };
            match groups.iter_mut().find(|(first, _)| same(first)) {
                Some((_, scenarios)) if scenarios.contains(&id) => {}
                Some((_, scenarios)) => scenarios.push(id),
                None => groups.push((finding, vec![id])),
            }
        }
    }
    for (first, scenarios) in groups {
        paper.gap_if(true);
        let head = format!("{} {}", visible(&first.rule), visible(&first.name));
        let whole = if scenarios.len() <= 3 {
            scenarios.join(", ")
        } else {
            words::count(scenarios.len(), "proven scenario")
        };
        let about = format!("  notice, in {whole}");
        paper.line(0, &[(Paint::Bold, &head), (Paint::Dim, &about)]);
        paper.line(2, &[(Paint::Plain, &visible(&first.says))]);
    }
}

/// The measures that are asked for first; the report and the JSON document have all.
pub(super) fn measures(paper: &mut Paper, run: &RunVerdict, places: &Places) {
    let longest = worst(run, "pause_ms");
    let late = worst(run, "thaw_late_ms");
    let after_due = worst(run, "last_act_after_due_ms");
    let mut lines = Vec::new();
    if let Some((ms, scenario)) = longest {
        lines.push(format!("longest pause {ms:.1} ms, in {}", scenario.id));
    }
    if let Some((ms, scenario)) = late {
        lines.push(format!("latest thaw {ms:.1} ms after it was due, in {}", scenario.id));
    }
    if let Some((ms, scenario)) = after_due {
        let straddling = scenario.measures.get("straddling_writes").copied().unwrap_or(0.0);
        let mut line = if ms == 0.0 {
            "no act after a lease was due".to_owned()
        } else {
            format!("last act {ms:.1} ms after its lease was due, in {}", scenario.id)
        };
        if straddling >= 1.0 {
            line.push_str(&format!(
                "; {} may have been checked before that and sent after it (straddling), and nobody is charged with \
                 that",
                words::count(straddling as usize, "write")
            ));
        }
        lines.push(line);
    }
    if let Some((ms, scenario)) = worst(run, "store_window_ms") {
        lines.push(format!(
            "writes went on for {ms:.1} ms after a lease had ended early, in {}: within the time that an owner has to \
             notice that, and nobody is charged with it",
            scenario.id
        ));
    }
    if lines.is_empty() {
        return;
    }
    let whole = match places.report {
        Some(_) => " (all of them are in the report)",
        None => " (`--json` has all of them)",
    };
    paper.gap_if(true);
    paper.line(0, &[(Paint::Bold, "measures"), (Paint::Dim, whole)]);
    for line in lines {
        paper.line(2, &[(Paint::Plain, &line)]);
    }
}

/// The greatest value of a measure in the run, and the scenario that has it.
fn worst<'a>(run: &'a RunVerdict, name: &str) -> Option<(f64, &'a ScenarioVerdict)> {
    run.scenarios
        .iter()
        .filter_map(|it| Some((words::not_negative(*it.measures.get(name)?), it)))
        .filter(|(value, _)| value.is_finite())
        .reduce(|worst, it| if it.0 > worst.0 { it } else { worst })
}
