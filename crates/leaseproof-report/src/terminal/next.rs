//! What to do next: advice that fits the case.

use crate::visible::visible;
use crate::words;
use leaseproof_model::rule::Class;
use leaseproof_model::verdict::{RunVerdict, Verdict};

/// The steps, the first one first.
pub(super) fn steps(run: &RunVerdict, cut: bool, plan_missing: bool) -> Vec<String> {
    let mut steps: Vec<String> = explain(run).into_iter().collect();
    steps.extend(match run.verdict {
        Verdict::Violated => {
            vec!["keep the bundle before you restart or release anything: it is the evidence".to_owned()]
        }
        Verdict::CannotTell => cannot_tell(run, cut),
        Verdict::Proven if plan_missing => vec![
            "`leaseproof verify --init` writes a plan: put these settings into it, commit it and run it in CI; exit \
             status 0 means proven"
                .to_owned(),
        ],
        Verdict::Proven => vec!["commit the plan and run this in CI; exit status 0 means proven".to_owned()],
    });
    steps
}

/// The rules whose pages are worth reading: those that moved the verdict or say what did, else those
/// that warn.
fn explain(run: &RunVerdict) -> Option<String> {
    let mut codes: Vec<&str> = Vec::new();
    for weighing in [true, false] {
        for scenario in &run.scenarios {
            for finding in &scenario.findings {
                let wanted = if weighing {
                    words::weighs(scenario, finding) || words::stands_for(scenario, finding)
                } else {
                    finding.class != Class::Notice || run.verdict == Verdict::Proven
                };
                if wanted && !codes.contains(&finding.rule.as_str()) {
                    codes.push(&finding.rule);
                }
            }
        }
        if !codes.is_empty() {
            break;
        }
    }
    let (first, rest) = codes.split_first()?;
    let mut step = format!("leaseproof explain {}: what it means and what to do", visible(first));
    if !rest.is_empty() {
        step.push_str(&format!("; the same for {}", visible(&rest.join(", "))));
    }
    Some(step)
}

fn cannot_tell(run: &RunVerdict, cut: bool) -> Vec<String> {
    let undecided = run.scenarios.iter().any(|it| it.verdict == Verdict::CannotTell);
    let missing: Vec<&str> = run.not_offered.iter().map(|it| it.id.as_str()).collect();
    let mut steps = Vec::new();
    if cut {
        steps.push(format!("run it again, with --seed {} for the same choices", run.seed));
        return steps;
    }
    if undecided {
        steps.push(format!(
            "change what is named as missing above, then run again with --seed {}",
            run.seed
        ));
    }
    if !undecided && !missing.is_empty() {
        steps.push(format!(
            "use a store (--store URL) and a host where {} can be run, or ask for other scenarios: `leaseproof verify \
             --list` names all",
            missing.join(", ")
        ));
    }
    if steps.is_empty() {
        steps.push(format!(
            "put right what makes the run incomplete, then run again with --seed {}",
            run.seed
        ));
    }
    steps
}
