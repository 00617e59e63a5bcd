//! The premises that are open: in full where they are the answer, in one line where they are not.

use super::paper::{Paint, Paper};
use crate::visible::visible;
use crate::words;
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::{Premise, ScenarioVerdict};

/// Each open premise once, with the cycles that lack it.
pub(super) fn in_full(paper: &mut Paper, scenario: &ScenarioVerdict) {
    for group in groups(scenario) {
        let head = format!("premise {} ", group[0].name);
        let cycles = words::cycles(group.iter().map(|it| it.cycle));
        let about = match group[0].holds {
            Truth::No => format!("did not hold in {cycles}"),
            _ => format!("could not be shown in {cycles}"),
        };
        paper.line(4, &[(Paint::Warn, &head), (Paint::Warn, &about)]);
        paper.line(6, &[(Paint::Plain, &visible(&group[0].says))]);
    }
}

/// All open premises in one line.
pub(super) fn in_short(paper: &mut Paper, scenario: &ScenarioVerdict) {
    let open: Vec<String> = groups(scenario)
        .iter()
        .map(|group| {
            let cycles = words::cycles(group.iter().map(|it| it.cycle));
            format!("{} ({cycles})", group[0].name)
        })
        .collect();
    if !open.is_empty() {
        let line = format!("open premises, which hide no violation: {}", open.join(", "));
        paper.line(4, &[(Paint::Dim, &line)]);
    }
}

fn groups(scenario: &ScenarioVerdict) -> Vec<Vec<&Premise>> {
    let mut groups: Vec<Vec<&Premise>> = Vec::new();
    for premise in scenario.premises.iter().filter(|it| it.holds != Truth::Yes) {
        let same = |group: &&mut Vec<&Premise>| group[0].name == premise.name && group[0].holds == premise.holds;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(premise),
            None => groups.push(vec![premise]),
        }
    }
    groups
}
