//! For people: the answer first, and on request the inequality, step by step.

use crate::report::{Answer, Check, Document, Judged};
use std::fmt::Write as _;
use std::time::Duration;

/// How the text looks.
#[derive(Copy, Clone, Debug, Default)]
pub struct Style {
    /// Colour the verdicts.
    pub colour: bool,
}

impl Style {
    fn paint(self, answer: Answer, text: &str) -> String {
        let code = match answer {
            Answer::Holds => "32",
            Answer::DoesNotHold => "31",
            Answer::CannotTell => "33",
            Answer::Notice => "36",
        };
        match self.colour {
            true => format!("\u{1b}[1;{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
}

fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Holds => "holds",
        Answer::DoesNotHold => "does not hold",
        Answer::CannotTell => "cannot tell",
        Answer::Notice => "note",
    }
}

/// The verdicts and the checks.
#[must_use]
pub fn human(document: &Document, style: Style) -> String {
    let mut text = String::new();
    for judged in &document.leases {
        head(&mut text, judged, style);
        for check in &judged.checks {
            one(&mut text, check, style);
            others(&mut text, judged, check);
        }
        rest(&mut text, judged);
    }
    text
}

/// The same, with the inequality derived before the checks.
#[must_use]
pub fn explain(document: &Document, style: Style) -> String {
    let mut text = String::new();
    for judged in &document.leases {
        head(&mut text, judged, style);
        // Of numbers that could not be read nothing is derived.
        if judged.checks.iter().all(|check| check.id != "settings") {
            steps(&mut text, judged);
        }
        for check in &judged.checks {
            one(&mut text, check, style);
            others(&mut text, judged, check);
        }
        rest(&mut text, judged);
    }
    text
}

fn head(text: &mut String, judged: &Judged, style: Style) {
    if !text.is_empty() {
        text.push('\n');
    }
    let name = judged.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    let kind = match judged.kind {
        "plan" => String::new(),
        kind => format!(" ({kind})"),
    };
    let verdict = style.paint(judged.verdict, word(judged.verdict));
    let _ = writeln!(text, "{}{kind}{name}: {verdict}", judged.file);
}

fn one(text: &mut String, check: &Check, style: Style) {
    let mark = match check.answer {
        Answer::Holds => "ok  ",
        Answer::DoesNotHold => "FAIL",
        Answer::CannotTell => "?   ",
        Answer::Notice => "note",
    };
    let rule = match (check.rule, check.answer) {
        (Some(rule), Answer::DoesNotHold | Answer::CannotTell) => format!("{rule} "),
        _ => String::new(),
    };
    let place = check.line.map_or_else(String::new, |line| format!(" (line {line})"));
    let _ = writeln!(
        text,
        "  {} {rule}{}: {}{place}",
        style.paint(check.answer, mark),
        check.id,
        check.says
    );
    if let Some(remedy) = &check.remedy {
        let _ = writeln!(text, "       {remedy}");
    }
}

/// What else would do, below the check with the advice: the first that failed.
fn others(text: &mut String, judged: &Judged, check: &Check) {
    let advised = judged.checks.iter().find(|check| check.answer == Answer::DoesNotHold);
    if advised != Some(check) {
        return;
    }
    for change in judged.changes.iter().skip(1) {
        let cost = change
            .cost
            .as_ref()
            .map_or_else(String::new, |cost| format!(" ({cost})"));
        let _ = writeln!(text, "       or: {}{cost}", change.write);
    }
}

/// How long a takeover takes.
fn rest(text: &mut String, judged: &Judged) {
    if let (Some(within), Some(store)) = (judged.takeover_within_ms, &judged.store) {
        let _ = writeln!(
            text,
            "       after a crash another holds the lease within {:?}, by what is known of {store}",
            of(within)
        );
    }
}

fn of(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms.max(0.0) / 1000.0).unwrap_or(Duration::MAX)
}

fn steps(text: &mut String, judged: &Judged) {
    let _ = writeln!(
        text,
        "  The pause is taken to begin at the worst moment, just before a renewal is sent. Of the TTL there is left then:"
    );
    let width = judged
        .terms
        .iter()
        .map(|term| term.key.chars().count())
        .max()
        .unwrap_or(0);
    for (at, term) in judged.terms.iter().enumerate() {
        let sign = if at == 0 { ' ' } else { '-' };
        let from = match (term.line, term.from.as_str()) {
            (Some(line), "file") => format!("line {line}"),
            (_, from) => from.to_owned(),
        };
        let _ = writeln!(
            text,
            "    {sign} {:<width$}  {:>8}   {} [{from}]",
            term.key,
            format!("{:?}", of(term.ms)),
            term.why
        );
    }
    let margin = match judged.margin_ms {
        ms if ms < 0.0 => format!("-{:?}", of(-ms)),
        ms => format!("{:?}", of(ms)),
    };
    let _ = writeln!(
        text,
        "    = {:<width$}  {margin:>8}   a shorter pause can't lose the lease",
        "margin"
    );
    match (judged.worst_pause_ms, &judged.worst_pause_from) {
        (Some(pause), from) => {
            let sign = if judged.margin_ms > pause { '>' } else { '≤' };
            let spare = judged.margin_ms - pause;
            let says = match spare {
                spare if spare > 0.0 => format!("{:?} to spare", of(spare)),
                spare => format!("{:?} short, and it must be greater", of(-spare)),
            };
            let from = from.as_ref().map_or_else(String::new, |from| format!(" [{from}]"));
            let _ = writeln!(
                text,
                "    {sign} {:<width$}  {:>8}   {says}{from}",
                "worst_pause",
                format!("{:?}", of(pause))
            );
        }
        (None, _) => {
            let _ = writeln!(text, "    ? {:<width$}  {:>8}   nobody said", "worst_pause", "");
        }
    }
    let _ = writeln!(
        text,
        "  ttl - heartbeat alone would be {:?}: it forgets that a renewal takes time and that clocks differ.",
        of(judged.plain_margin_ms)
    );
}
