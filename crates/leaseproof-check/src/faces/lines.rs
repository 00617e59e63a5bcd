//! A line a check: `FILE:LINE: level: what; what to do`, which editors and CI logs link.

use crate::report::{Answer, Check, Document, Judged};
use std::fmt::Write as _;

/// What a level is called where it is good, bad, open, and only told.
const LEVELS: [&str; 4] = ["ok", "error", "unknown", "note"];

/// The levels of annotations: an open question must not look like a pass.
const ANNOTATIONS: [&str; 4] = ["", "error", "warning", "notice"];

fn level(answer: Answer, of: [&'static str; 4]) -> &'static str {
    of[match answer {
        Answer::Holds => 0,
        Answer::DoesNotHold => 1,
        Answer::CannotTell => 2,
        Answer::Notice => 3,
    }]
}

/// The lease, where a file has several.
fn name(judged: &Judged) -> String {
    judged
        .name
        .as_ref()
        .map_or_else(String::new, |name| format!("{name}: "))
}

fn rule(check: &Check) -> String {
    check.rule.map_or_else(String::new, |rule| format!("{rule} "))
}

/// Plain lines.
#[must_use]
pub fn lines(document: &Document) -> String {
    let mut text = String::new();
    for judged in &document.leases {
        for check in &judged.checks {
            let place = check.line.map_or_else(String::new, |line| format!(":{line}"));
            let shown = match check.answer {
                Answer::Holds => String::new(),
                _ => rule(check),
            };
            let remedy = check.remedy.as_ref().map_or_else(String::new, |it| format!("; {it}"));
            let _ = writeln!(
                text,
                "{}{place}: {}: {}{shown}{}{remedy}",
                judged.file,
                level(check.answer, LEVELS),
                name(judged),
                check.says
            );
        }
    }
    text
}

/// GitHub's annotations, of what does not simply hold.
#[must_use]
pub fn github(document: &Document) -> String {
    let mut text = String::new();
    for judged in &document.leases {
        for check in judged.checks.iter().filter(|check| check.answer != Answer::Holds) {
            let place = check.line.map_or_else(String::new, |line| format!(",line={line}"));
            let remedy = check.remedy.as_ref().map_or_else(String::new, |it| format!("\n{it}"));
            let says = format!("{}{}{}{remedy}", name(judged), rule(check), check.says);
            let _ = writeln!(
                text,
                "::{} file={}{place},title=leaseproof {}::{}",
                level(check.answer, ANNOTATIONS),
                property(&judged.file),
                check.id,
                data(&says)
            );
        }
    }
    text
}

/// What follows the `::` of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A value among its properties.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
