//! What a person reads at the end of a run: the verdict first, then what proves it, then what to do.

use crate::moments::records;
use crate::visible::visible;
use crate::words;
use leaseproof_model::history::History;
use leaseproof_model::verdict::{RunVerdict, Verdict};
use paper::{Paint, Paper};
use std::borrow::Cow;
use std::path::PathBuf;

pub mod diagnosis;
mod findings;
pub mod inspection;
mod next;
mod paper;
mod premises;
mod scenario;
mod stores;
mod totals;

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
    /// There is no plan file yet, so that none can be committed.
    pub plan_missing: bool,
}

/// The whole text. Without the records, evidence is named by its ids only.
#[must_use]
pub fn render(run: &RunVerdict, style: &TerminalStyle, places: &Places) -> String {
    render_with_moments(run, &[], style, places)
}

/// Like [`render`], and says of the events that prove a finding what they were and when, from the
/// scenario's start.
#[must_use]
pub fn render_with_moments(run: &RunVerdict, histories: &[&History], style: &TerminalStyle, places: &Places) -> String {
    let records = records(run, histories);
    let mut paper = Paper::new(style);
    let rest = match places.report {
        Some(_) => "see the report",
        None => "`--json` names them",
    };
    let cut = words::interrupted(run) || histories.iter().any(|it| !it.complete);
    headline(&mut paper, run, cut);
    let several = stores::of(run).len() > 1;
    if several {
        stores::table(&mut paper, run);
    }
    paper.gap_if(!run.scenarios.is_empty());
    // The table has said of each that it is proven.
    let told = |at: &usize| {
        let it = &run.scenarios[*at];
        !several || it.verdict != Verdict::Proven || findings::any(it)
    };
    for at in words::worst_first(run).into_iter().filter(told) {
        scenario::one(&mut paper, run, at, &records[at], rest);
    }
    totals::notices(&mut paper, run);
    not_offered(&mut paper, run);
    totals::measures(&mut paper, run, places);
    what_next(&mut paper, run, places, cut);
    paper.finish()
}

/// The store's kind, where the whole run was on one.
fn one_store(run: &RunVerdict) -> Option<&str> {
    let first = run.scenarios.first()?;
    run.scenarios
        .iter()
        .all(|it| it.store == first.store)
        .then_some(first.store.as_str())
}

fn headline(paper: &mut Paper, run: &RunVerdict, cut: bool) {
    let paint = of_verdict(run.verdict);
    let counted = words::held(run);
    let text = match run.verdict {
        Verdict::Proven => format!("the lease {counted}"),
        Verdict::Violated => {
            let broken = with(run, Verdict::Violated);
            if broken.is_empty() {
                counted
            } else {
                format!("in {}; {counted}", broken.join(", "))
            }
        }
        Verdict::CannotTell => {
            let open = with(run, Verdict::CannotTell);
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
    if cut && !with(run, Verdict::CannotTell).is_empty() {
        let says = "what was cut off before its end is not decided, and what it lacks is not listed here";
        paper.line(2, &[(Paint::Warn, says)]);
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
    let on = match one_store(run) {
        Some(store) => format!(", on {}", visible(store)),
        None => String::new(),
    };
    let run_line = format!(
        "run {}, seed {}, {:.1} s{on}",
        visible(&run.run),
        run.seed,
        run.took_ms as f64 / 1000.0
    );
    paper.line(2, &[(Paint::Dim, &run_line)]);
}

/// The scenarios that came to this, each once; where the run was on several stores, with those on which it did.
fn with(run: &RunVerdict, verdict: Verdict) -> Vec<String> {
    let several = one_store(run).is_none();
    let mut names: Vec<(&str, Vec<Cow<'_, str>>)> = Vec::new();
    for it in run.scenarios.iter().filter(|it| it.verdict == verdict) {
        let store = visible(&it.store);
        match names.iter_mut().find(|(name, _)| *name == it.id.as_str()) {
            Some((_, stores)) => stores.push(store),
            None => names.push((it.id.as_str(), vec![store])),
        }
    }
    names
        .into_iter()
        .map(|(name, stores)| match several {
            true => format!("{name} ({})", stores.join(", ")),
            false => name.to_owned(),
        })
        .collect()
}

fn of_verdict(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Proven => Paint::Good,
        Verdict::CannotTell => Paint::Warn,
        Verdict::Violated => Paint::Bad,
    }
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

fn what_next(paper: &mut Paper, run: &RunVerdict, places: &Places, cut: bool) {
    paper.gap_if(true);
    if let Some(report) = &places.report {
        let path = report.display().to_string();
        paper.line(0, &[(Paint::Bold, "report  "), (Paint::Plain, &visible(&path))]);
    }
    if let Some(bundle) = &places.bundle {
        let path = bundle.display().to_string();
        paper.line(0, &[(Paint::Bold, "bundle  "), (Paint::Plain, &visible(&path))]);
    }
    for step in next::steps(run, cut, places.plan_missing) {
        paper.line(0, &[(Paint::Bold, "next    "), (Paint::Plain, &step)]);
    }
}
