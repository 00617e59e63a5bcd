//! What a person reads at the end of a run: the verdict first, then what proves it, then what to do.

use crate::moments::{Record, records};
use crate::sentence;
use crate::visible::visible;
use crate::words;
use leaseproof_model::finding::Finding;
use leaseproof_model::history::History;
use leaseproof_model::rule::Class;
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::{Premise, RunVerdict, ScenarioVerdict, Verdict};
use paper::{Paint, Paper};
use std::path::PathBuf;

mod paper;

/// How the terminal is written to.
#[derive(Copy, Clone, Debug)]
pub struct TerminalStyle {
    /// Whether colours may be used (the caller honours `NO_COLOR` and pipes).
    pub colour: bool,
    /// Columns.
    pub width: usize,
    /// Whether only ASCII may be used.
    pub ascii: bool,
}

impl Default for TerminalStyle {
    fn default() -> Self {
        Self {
            colour: false,
            width: 100,
            ascii: false,
        }
    }
}

/// Where the run left its files.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The report with the picture.
    pub report: Option<PathBuf>,
    /// The evidence bundle.
    pub bundle: Option<PathBuf>,
}

/// The whole text. Without the records, evidence is named by its ids only.
#[must_use]
pub fn render(run: &RunVerdict, style: &TerminalStyle, places: &Places) -> String {
    render_with_moments(run, &[], style, places)
}

/// Like [`render`], and says of each event that proves a finding what it was and when, from the
/// scenario's start.
#[must_use]
pub fn render_with_moments(run: &RunVerdict, histories: &[&History], style: &TerminalStyle, places: &Places) -> String {
    let records = records(run, histories);
    let mut paper = Paper::new(style);
    headline(&mut paper, run);
    for (scenario, records) in run.scenarios.iter().zip(&records) {
        one_scenario(&mut paper, scenario, records, "");
        if let Some(twin) = &scenario.twin {
            one_scenario(&mut paper, twin, records, "unstepped twin of ");
        }
    }
    not_offered(&mut paper, run);
    what_next(&mut paper, run, places);
    paper.finish()
}

fn headline(paper: &mut Paper, run: &RunVerdict) {
    let paint = of_verdict(run.verdict);
    let counted = words::held(run);
    let text = match run.verdict {
        Verdict::Proven => format!("the lease {counted}"),
        Verdict::Violated => {
            let broken: Vec<&str> = with(run, Verdict::Violated).collect();
            if broken.is_empty() {
                counted
            } else {
                format!("in {}; {counted}", broken.join(", "))
            }
        }
        Verdict::CannotTell => {
            let open: Vec<&str> = with(run, Verdict::CannotTell).collect();
            if open.is_empty() {
                format!("{counted}; this is no pass")
            } else {
                format!("about {}; {counted}; this is no pass", open.join(", "))
            }
        }
    };
    paper.line(
        0,
        &[
            (paint, run.verdict.as_str()),
            (Paint::Plain, ": "),
            (Paint::Plain, &text),
        ],
    );
    if let Some(why) = &run.incomplete {
        paper.line(2, &[(Paint::Warn, "incomplete: "), (Paint::Plain, &visible(why))]);
    }
    let budget = &run.budget;
    let numbers = format!(
        "margin {} ms (plain TTL - heartbeat {} ms), worst pause {} ms: {}",
        budget.margin_ms,
        budget.plain_margin_ms,
        budget.worst_pause_ms,
        if budget.holds {
            "the budget holds"
        } else {
            "the budget does NOT hold"
        }
    );
    let paint = if budget.holds { Paint::Dim } else { Paint::Bad };
    paper.line(2, &[(paint, &numbers)]);
    let run_line = format!(
        "run {}, seed {}, {:.1} s",
        visible(&run.run),
        run.seed,
        run.took_ms as f64 / 1000.0
    );
    paper.line(2, &[(Paint::Dim, &run_line)]);
}

fn with(run: &RunVerdict, verdict: Verdict) -> impl Iterator<Item = &str> {
    run.scenarios
        .iter()
        .filter(move |it| it.verdict == verdict)
        .map(|it| it.id.as_str())
}

fn of_verdict(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Proven => Paint::Good,
        Verdict::CannotTell => Paint::Warn,
        Verdict::Violated => Paint::Bad,
    }
}

fn one_scenario(paper: &mut Paper, scenario: &ScenarioVerdict, records: &[Record<'_>], prefix: &str) {
    paper.gap_if(scenario.verdict != Verdict::Proven || !scenario.findings.is_empty());
    let tail = format!(
        "  on {}, held in {} of {}, {:.1} s",
        visible(&scenario.store),
        scenario.cycles_held,
        words::count(scenario.cycles as usize, "cycle"),
        scenario.took_ms as f64 / 1000.0
    );
    let own = if words::in_the_count(scenario) {
        ""
    } else {
        " (self-check of the rig)"
    };
    let name = format!("{prefix}{}{own}", scenario.id);
    let paint = of_verdict(scenario.verdict);
    let mark = paper.mark(scenario.verdict);
    paper.line(
        0,
        &[
            (paint, mark),
            (Paint::Plain, " "),
            (Paint::Bold, &name),
            (Paint::Plain, ": "),
            (paint, scenario.verdict.as_str()),
            (Paint::Dim, &tail),
        ],
    );
    if scenario.verdict == Verdict::Violated
        && let Some(availability) = scenario.availability
    {
        let both = format!("safety {}, availability {availability}", scenario.safety);
        paper.line(4, &[(Paint::Dim, &both)]);
    }
    let open = || scenario.premises.iter().filter(|it| it.holds != Truth::Yes);
    // In a scenario that can't be told, the missing premise is the answer.
    if scenario.verdict == Verdict::CannotTell {
        open().for_each(|it| one_premise(paper, it));
    }
    for finding in &scenario.findings {
        one_finding(paper, scenario, finding, records);
    }
    if scenario.verdict != Verdict::CannotTell {
        open().for_each(|it| one_premise(paper, it));
    }
    measures(paper, scenario);
}

fn one_finding(paper: &mut Paper, scenario: &ScenarioVerdict, finding: &Finding, records: &[Record<'_>]) {
    let paint = if words::weighs(scenario, finding) {
        Paint::Bad
    } else if finding.class == Class::Notice {
        Paint::Dim
    } else {
        Paint::Warn
    };
    let head = format!("{} {}", finding.rule, visible(&finding.name));
    let mut about = format!("  {}, {}", words::class(finding.class), words::subject(finding.subject));
    if let Some(owner) = &finding.owner {
        about.push_str(&format!(" {}", visible(owner)));
    }
    if finding.cycle > 0 {
        about.push_str(&format!(", cycle {}", finding.cycle));
    }
    if finding.certainty != Truth::Yes {
        about.push_str(", cannot tell");
    }
    paper.line(4, &[(paint, &head), (Paint::Dim, &about)]);
    paper.line(6, &[(Paint::Plain, &visible(&finding.says))]);
    let known: Vec<String> = finding
        .evidence
        .iter()
        .filter_map(|id| {
            let (record, event) = records.iter().find_map(|it| Some((it, it.event(*id)?)))?;
            Some(format!("{id} {} {}", record.when(event), sentence::of(event)))
        })
        .collect();
    if known.len() == finding.evidence.len() && !known.is_empty() {
        paper.line(6, &[(Paint::Dim, "proven by")]);
        for line in shortened(&known) {
            paper.line(8, &[(Paint::Dim, &line)]);
        }
    } else if !finding.evidence.is_empty() {
        let ids: Vec<String> = finding.evidence.iter().map(ToString::to_string).collect();
        let line = format!("proven by {}", shortened(&ids).join(", "));
        paper.line(6, &[(Paint::Dim, &line)]);
    }
}

/// A finding may name many events; the first and the last ones tell the story, the report has all.
fn shortened(lines: &[String]) -> Vec<String> {
    const MOST: usize = 8;
    if lines.len() <= MOST {
        return lines.to_vec();
    }
    let left_out = lines.len() - MOST + 1;
    let (head, tail) = (&lines[..MOST / 2], &lines[lines.len() - (MOST / 2 - 1)..]);
    [head, &[format!("({left_out} more in the report)")], tail].concat()
}

fn one_premise(paper: &mut Paper, premise: &Premise) {
    let head = format!("premise {} ", premise.name);
    let about = match premise.holds {
        Truth::No => format!("did not hold in cycle {}", premise.cycle),
        _ => format!("could not be shown in cycle {}", premise.cycle),
    };
    paper.line(4, &[(Paint::Warn, &head), (Paint::Warn, &about)]);
    paper.line(6, &[(Paint::Plain, &visible(&premise.says))]);
    if !premise.evidence.is_empty() {
        let ids: Vec<String> = premise.evidence.iter().map(ToString::to_string).collect();
        let line = format!("seen in {}", shortened(&ids).join(", "));
        paper.line(6, &[(Paint::Dim, &line)]);
    }
}

fn measures(paper: &mut Paper, scenario: &ScenarioVerdict) {
    if scenario.measures.is_empty() {
        return;
    }
    let all: Vec<String> = scenario
        .measures
        .iter()
        .map(|(name, value)| {
            let (name, value) = words::measure(name, *value);
            format!("{} {value}", visible(&name))
        })
        .collect();
    let line = format!("measured: {}", all.join(", "));
    paper.line(4, &[(Paint::Dim, &line)]);
}

fn not_offered(paper: &mut Paper, run: &RunVerdict) {
    if run.not_offered.is_empty() {
        return;
    }
    paper.gap_if(true);
    paper.line(
        0,
        &[
            (Paint::Bold, "not offered here"),
            (Paint::Dim, " (outside the verdict)"),
        ],
    );
    for missing in &run.not_offered {
        let on = if missing.store.is_empty() {
            String::new()
        } else {
            format!(" on {}", visible(&missing.store))
        };
        let head = format!("{}{on}: ", missing.id);
        paper.line(2, &[(Paint::Plain, &head), (Paint::Plain, &visible(&missing.why))]);
    }
}

fn what_next(paper: &mut Paper, run: &RunVerdict, places: &Places) {
    paper.gap_if(true);
    if let Some(report) = &places.report {
        let path = report.display().to_string();
        paper.line(0, &[(Paint::Bold, "report  "), (Paint::Plain, &visible(&path))]);
    }
    if let Some(bundle) = &places.bundle {
        let path = bundle.display().to_string();
        paper.line(0, &[(Paint::Bold, "bundle  "), (Paint::Plain, &visible(&path))]);
    }
    for step in next_steps(run) {
        paper.line(0, &[(Paint::Bold, "next    "), (Paint::Plain, &step)]);
    }
}

fn next_steps(run: &RunVerdict) -> Vec<String> {
    let mut steps = Vec::new();
    let mut codes: Vec<&str> = Vec::new();
    for finding in run.scenarios.iter().flat_map(|it| &it.findings) {
        let worth = finding.class != Class::Notice || run.verdict == Verdict::Proven;
        if worth && !codes.contains(&finding.rule.as_str()) {
            codes.push(&finding.rule);
        }
    }
    for code in codes.iter().take(3) {
        steps.push(format!(
            "leaseproof explain {}: what it means and what to do",
            visible(code)
        ));
    }
    if codes.len() > 3 {
        steps.push(format!("and the same for {}", codes[3..].join(", ")));
    }
    match run.verdict {
        Verdict::Violated => {
            steps.push("keep the bundle before you restart or release anything: it is the evidence".to_owned());
        }
        Verdict::CannotTell => {
            steps.push(format!(
                "change what the missing premises name, then run again with --seed {}",
                run.seed
            ));
        }
        Verdict::Proven => steps.push("commit the plan and run this in CI; exit status 0 means proven".to_owned()),
    }
    steps
}
