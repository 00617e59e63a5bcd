//! One scenario: a line, and below it what was found where there is something to tell.

use super::paper::{Paint, Paper};
use super::{findings, of_verdict, one_store, premises};
use crate::moments::Record;
use crate::visible::visible;
use crate::words;
use leaseproof_model::verdict::{RunVerdict, ScenarioVerdict, Verdict};

/// The scenario at this place of the run, and its twin where that has something of its own to tell; `rest`
/// says where the events are that are not told.
pub(super) fn one(paper: &mut Paper, run: &RunVerdict, at: usize, records: &[Record<'_>], rest: &str) {
    let scenario = &run.scenarios[at];
    let twin_is_quiet = |twin: &ScenarioVerdict| twin.verdict == Verdict::Proven && !findings::any(twin);
    let mut notes = Vec::new();
    if !words::in_the_count(scenario) {
        notes.push("self-check of the rig");
    }
    if scenario.twin.as_deref().is_some_and(twin_is_quiet) {
        notes.push("its unstepped twin: proven");
    }
    let own: Vec<&Record<'_>> = records.iter().filter(|it| !it.history.ask.twin).collect();
    block(paper, run, scenario, &own, &name(run, scenario), &notes, rest);
    if let Some(twin) = scenario.twin.as_deref().filter(|twin| !twin_is_quiet(twin)) {
        let own: Vec<&Record<'_>> = records.iter().filter(|it| it.history.ask.twin).collect();
        let name = format!("unstepped twin of {}", name(run, scenario));
        block(paper, run, twin, &own, &name, &[], rest);
    }
}

fn name(run: &RunVerdict, scenario: &ScenarioVerdict) -> String {
    if one_store(run).is_some() {
        scenario.id.to_string()
    } else {
        format!("{} on {}", scenario.id, visible(&scenario.store))
    }
}

fn block(
    paper: &mut Paper,
    run: &RunVerdict,
    scenario: &ScenarioVerdict,
    records: &[&Record<'_>],
    name: &str,
    notes: &[&str],
    rest: &str,
) {
    let interrupted = words::interrupted(run);
    let whole = records
        .iter()
        .any(|it| it.history.complete && scenario.cycles >= it.history.ask.cycles);
    // What the interruption left undecided only says again that there was one.
    let cut = records.iter().any(|it| !it.history.complete);
    let undecided = (cut || interrupted && !whole) && scenario.verdict == Verdict::CannotTell;
    let tells = if undecided {
        findings::any_but_notices(scenario)
    } else {
        scenario.verdict != Verdict::Proven || findings::any(scenario)
    };
    paper.gap_if(tells);
    let paint = of_verdict(scenario.verdict);
    let mark = paper.mark(scenario.verdict);
    let widest = |word: &dyn Fn(&ScenarioVerdict) -> usize| run.scenarios.iter().map(word).max().unwrap_or(0);
    let wide = widest(&|it| self::name(run, it).chars().count());
    let name = format!("{name:<wide$}  ");
    let wide = widest(&|it| it.verdict.as_str().len());
    let verdict = format!("{:<wide$}  ", scenario.verdict.as_str());
    let mut tail = format!(
        "{}/{} cycle{}  {:.1} s",
        scenario.cycles_held,
        scenario.cycles,
        if scenario.cycles == 1 { "" } else { "s" },
        scenario.took_ms as f64 / 1000.0
    );
    let mut notes = notes.to_vec();
    notes.extend(undecided.then_some("cut off before its end"));
    let again = scenario.cycles.saturating_sub(scenario.cycles_held);
    let drawn = format!(
        "{again} drawn again: the rig itself hurt {}",
        if again == 1 { "it" } else { "them" }
    );
    if scenario.verdict == Verdict::Proven && again > 0 {
        notes.push(&drawn);
    }
    if !notes.is_empty() {
        tail.push_str(&format!("  ({})", notes.join("; ")));
    }
    paper.line(
        0,
        &[
            (paint, mark),
            (Paint::Plain, " "),
            (Paint::Bold, &name),
            (paint, &verdict),
            (Paint::Dim, &tail),
        ],
    );
    if !tells {
        return;
    }
    moved_by(paper, scenario);
    let abandoned = records.iter().find_map(|it| it.abandoned());
    if !undecided && let Some(says) = records.first().and_then(|it| cut_short(scenario, it, abandoned)) {
        paper.line(4, &[(Paint::Warn, &says)]);
    }
    // In a scenario that can't be told, the missing premise is the answer.
    if scenario.verdict == Verdict::CannotTell && !undecided {
        premises::in_full(paper, scenario);
        let silent = scenario.premises.iter().all(|it| it.holds.is_yes()) && !findings::any(scenario);
        if silent && scenario.safety == Verdict::Proven {
            paper.line(4, &[(Paint::Plain, NOT_KEPT)]);
        }
    }
    findings::all(paper, scenario, records, abandoned.is_some(), undecided, rest);
    if scenario.verdict == Verdict::Violated {
        premises::in_short(paper, scenario);
    }
    paper.gap_if(true);
}

/// Availability that nothing on record decides.
const NOT_KEPT: &str = "safety holds. Whether the lease was kept is not decided: it was gone, or another's, before its expiry, and \
                        nobody said why. Let the owner say `lost` or `released`, and renew the grant that it has";

/// Which part of the verdict moved it, where that is not safety.
fn moved_by(paper: &mut Paper, scenario: &ScenarioVerdict) {
    if scenario.verdict != Verdict::Violated || scenario.safety == Verdict::Violated {
        return;
    }
    let moved = scenario.findings.iter().find(|it| words::weighs(scenario, it));
    let says = match moved {
        Some(finding) => format!(
            "safety {}, availability violated: {} moved the verdict",
            scenario.safety,
            visible(&finding.rule)
        ),
        None => {
            let mut causes: Vec<String> = Vec::new();
            for finding in scenario.findings.iter().filter(|it| words::stands_for(scenario, it)) {
                let cause = format!("{} {}", visible(&finding.rule), visible(&finding.name));
                if !causes.contains(&cause) {
                    causes.push(cause);
                }
            }
            let why = match causes.as_slice() {
                [] => "no rule says why".to_owned(),
                causes => format!("brought about by {}", causes.join(", ")),
            };
            format!(
                "safety {}, availability violated: the lease was lost, or not freed, without need; {why}",
                scenario.safety
            )
        }
    };
    paper.line(4, &[(Paint::Plain, &says)]);
}

/// Why fewer cycles were run than were asked for.
fn cut_short(scenario: &ScenarioVerdict, record: &Record<'_>, abandoned: Option<&str>) -> Option<String> {
    let asked = record.history.ask.cycles;
    let ran = scenario.cycles;
    match abandoned {
        Some(why) => Some(format!("ended early, in cycle {ran} of {asked}: {}", visible(why))),
        None if ran < asked => Some(format!(
            "ended early, in cycle {ran} of {asked}, and the record doesn't say why"
        )),
        None => None,
    }
}
