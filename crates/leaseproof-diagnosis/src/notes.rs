//! What a reader must know of the files: what was assumed, what was cut, and which lines prove less than they seem to.

use crate::story::Story;
use crate::story::mixed::nobodys_lines;
use crate::words::span;
use leaseproof_evidence::clock::{Aligned, Basis};
use leaseproof_evidence::evidence::ProblemKind;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::says::{ClockSays, Says, StoreSays};
use std::time::Duration;

/// The notes.
#[must_use]
pub fn notes(story: &Story<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    clocks(story, &mut notes);
    notes.extend(story.keys.database_note());
    notes.extend(nobody(story));
    slow_log(story, &mut notes);
    jumps(story, &mut notes);
    gap_against_margin(story, &mut notes);
    nobodys(story, &mut notes);
    for problem in &story.evidence.problems {
        // Clocks are told of above, file by file.
        if matches!(
            problem.kind,
            ProblemKind::NoZone | ProblemKind::NoYear | ProblemKind::NotAligned
        ) {
            continue;
        }
        let place = problem.file.map(|file| story.name(file)).unwrap_or_default();
        let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
        notes.push(if place.is_empty() {
            problem.says.clone()
        } else {
            format!("{place}{line}: {}", problem.says)
        });
    }
    notes
}

/// Lines of a file in which several owners speak that don't say whose they are.
fn nobodys(story: &Story<'_>, notes: &mut Vec<String>) {
    for (file, id) in story.evidence.files.iter().zip((0..).map(FileId)) {
        let left = nobodys_lines(story, id).count();
        if left > 0 {
            let speak = story.owners.iter().filter(|owner| owner.files.contains(&id));
            let names: Vec<&str> = speak.map(|owner| owner.name.as_str()).collect();
            notes.push(format!(
                "{} has the lines of several owners ({}), told apart by holder and token; {left} of them have neither, and count for nobody",
                file.name,
                names.join(", ")
            ));
        }
    }
}

/// An owner that is asked about, and that nobody is.
fn nobody(story: &Story<'_>) -> Option<String> {
    let asked = story.asked.owner.as_deref()?;
    let names: Vec<&str> = story.owners.iter().map(|owner| &*owner.name).collect();
    let known = story.owners.iter().any(|owner| owner.answers_to(asked));
    (!known).then(|| match names.is_empty() {
        true => format!("--owner {asked}: no owner speaks in these files"),
        false => format!("--owner {asked}: no owner is called so; there are {}", names.join(", ")),
    })
}

fn clocks(story: &Story<'_>, notes: &mut Vec<String>) {
    let files = &story.evidence.files;
    let named = |wanted: &dyn Fn(&leaseproof_evidence::clock::FileClock) -> bool| -> Vec<String> {
        files
            .iter()
            .filter(|file| file.stamps.is_some() && wanted(&file.clock))
            .map(|file| file.name.to_string())
            .collect()
    };
    let zone = named(&|clock| clock.zone == Basis::Assumed);
    if !zone.is_empty() {
        notes.push(format!(
            "the stamps of {} have no zone, and UTC was taken: if that is wrong, give --tz",
            zone.join(", ")
        ));
    }
    let year = named(&|clock| clock.year == Basis::Assumed);
    if !year.is_empty() {
        notes.push(format!(
            "the stamps of {} have no year, and one was taken that fits: if it is wrong, give --year",
            year.join(", ")
        ));
    }
    let loose = named(&|clock| clock.aligned == Aligned::Not);
    if !loose.is_empty() {
        notes.push(format!(
            "{} count from a start that no line dates: only durations and their own order are used",
            loose.join(", ")
        ));
    }
    if let Some(says) = story.concord.contradiction() {
        notes.push(says.to_owned());
    }
    if let Some(says) = story.concord.unshown() {
        notes.push(says.to_owned());
    } else if story.timeline.one_clock_assumed {
        notes.push("not all files name a host: those without one are taken to be of one clock (if they are not: --offset FILE=+12ms±3ms)".to_owned());
    }
}

/// Silence of the slow log proves nothing, unless its threshold is 0.
fn slow_log(story: &Story<'_>, notes: &mut Vec<String>) {
    let is_slow_log = |file: &leaseproof_evidence::evidence::FileRead| {
        file.name.to_ascii_lowercase().contains("slowlog")
            || file.formats.keys().any(|format| format.contains("slowlog"))
    };
    let seen = story
        .evidence
        .records
        .iter()
        .any(|record| matches!(record.says, Says::Store(StoreSays::SlowCommand { .. })))
        || story.evidence.files.iter().any(is_slow_log);
    if !seen {
        return;
    }
    match &story.numbers.slowlog {
        Some(threshold) if threshold.value == Duration::ZERO => {}
        Some(threshold) => notes.push(format!(
            "LP020: the slow log has only commands that took {} or more: that a renewal is missing there proves nothing",
            span(threshold.value)
        )),
        None => notes.push(
            "LP020: the slow log has only commands above its threshold, and no line tells that it was 0: that a renewal is missing there proves nothing"
                .to_owned(),
        ),
    }
}

fn jumps(story: &Story<'_>, notes: &mut Vec<String>) {
    let claims: Vec<_> = story
        .evidence
        .records
        .iter()
        .filter(|record| matches!(record.says, Says::Clock(ClockSays::JumpClaimed { .. })))
        .collect();
    let stepped = story
        .evidence
        .records
        .iter()
        .any(|record| matches!(record.says, Says::Clock(ClockSays::Stepped { .. })));
    if let Some(first) = claims.first()
        && !stepped
    {
        notes.push(format!(
            "{}: \"time jump detected\" is no proof of a clock step: a daemon that was stopped itself for more than 10 s says the same, and no line tells of a step",
            story.evidence.show(first.place)
        ));
    }
}

/// Nothing was lost, and it was close.
fn gap_against_margin(story: &Story<'_>, notes: &mut Vec<String>) {
    let (Some(margin), None) = (story.numbers.margin(), &story.loss) else {
        return;
    };
    let longest = story
        .stops
        .iter()
        .filter(|stop| stop.who != crate::story::stop::Who::Store)
        .map(|stop| stop.took)
        .max();
    if let Some(longest) = longest {
        notes.push(format!(
            "the longest stop on record is {}, the margin {} ({})",
            span(longest),
            span(margin),
            story.numbers.shown()
        ));
    }
}
