//! The verdict on a whole run, from its scenarios'.

use leaseproof_judge::{Policy, judge};
use leaseproof_model::budget::Budget;
use leaseproof_model::history::History;
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::verdict::{BudgetReport, NotOffered, RunVerdict, ScenarioVerdict, VERDICT_SCHEMA, Verdict};
use std::path::PathBuf;
use std::time::Duration;

/// What a run came to.
#[derive(Debug)]
pub struct RunReport {
    /// The verdict.
    pub verdict: RunVerdict,
    /// The records that it was judged by.
    pub histories: Vec<History>,
    /// Where the bundle is.
    pub folder: PathBuf,
}

/// Judges each history; the twin of a clock scenario is judged with it, not beside it.
pub(crate) fn judge_all(histories: &[History], policy: &Policy) -> Vec<ScenarioVerdict> {
    let twin_of = |history: &History| {
        histories.iter().find(|twin| {
            twin.ask.twin && twin.ask.scenario == history.ask.scenario && twin.ask.store.kind == history.ask.store.kind
        })
    };
    histories
        .iter()
        .filter(|history| !history.ask.twin)
        .map(|history| judge(history, twin_of(history), policy))
        .collect()
}

/// What a run is summed up from.
pub(crate) struct Sum<'a> {
    pub(crate) run: &'a str,
    pub(crate) seed: u64,
    pub(crate) took: Duration,
    pub(crate) budget: Budget,
    pub(crate) scenarios: Vec<ScenarioVerdict>,
    pub(crate) not_offered: Vec<NotOffered>,
    pub(crate) incomplete: Option<String>,
    pub(crate) require: &'a [ScenarioId],
}

/// Sums up.
pub(crate) fn sum_up(sum: &Sum<'_>) -> RunVerdict {
    let mut verdict = sum
        .scenarios
        .iter()
        .map(|scenario| scenario.verdict)
        .max()
        .unwrap_or(Verdict::CannotTell);
    // The rig's self-check alone shows nothing about the owner.
    let about_the_owner = sum
        .scenarios
        .iter()
        .any(|scenario| scenario.id != ScenarioId::StaleToken);
    let missed: Vec<String> = sum
        .not_offered
        .iter()
        .filter(|it| sum.require.contains(&it.id))
        .map(|it| format!("{} is required and not offered here: {}", it.id, it.why))
        .collect();
    let reasons = sum.incomplete.iter().chain(&missed);
    let reasons: Vec<&str> = reasons.map(String::as_str).collect();
    let mut incomplete = (!reasons.is_empty()).then(|| reasons.join("; "));
    if !about_the_owner && incomplete.is_none() {
        incomplete = Some("no scenario about the owner was run, so nothing is shown about it".to_owned());
    }
    if incomplete.is_some() {
        verdict = verdict.max(Verdict::CannotTell);
    }
    let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    RunVerdict {
        schema: VERDICT_SCHEMA.to_owned(),
        run: sum.run.to_owned(),
        seed: sum.seed,
        took_ms: ms(sum.took),
        verdict,
        incomplete,
        budget: BudgetReport {
            margin_ms: ms(sum.budget.margin()),
            plain_margin_ms: ms(sum.budget.plain_margin()),
            worst_pause_ms: ms(sum.budget.worst_pause),
            holds: sum.budget.holds(),
            numbers: sum.budget,
        },
        scenarios: sum.scenarios.clone(),
        not_offered: sum.not_offered.clone(),
    }
}
