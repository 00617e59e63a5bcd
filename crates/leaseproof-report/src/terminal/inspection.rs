//! One look at a lease, as a person reads it: the answer first, then which side to look at, then what
//! was seen, then how to see it by hand.

use super::paper::{Paint, Paper};
use super::{TerminalStyle, of_verdict};
use crate::visible::visible;
use crate::words;
use leaseproof_model::inspect::{Inspection, Range, Shown, Side};
use leaseproof_model::verdict::Verdict;

mod lease;
mod owner;
mod store;

/// The whole text.
#[must_use]
pub fn render(seen: &Inspection, style: &TerminalStyle) -> String {
    let mut paper = Paper::new(style);
    headline(&mut paper, seen);
    first_look(&mut paper, seen);
    findings(&mut paper, seen);
    if let Some(lease) = &seen.lease {
        let elsewhere = seen.store.as_ref().is_some_and(|store| store.key.elsewhere.is_some());
        lease::lines(&mut paper, lease, elsewhere);
    }
    if let Some(plan) = &seen.plan {
        lease::plan(&mut paper, plan);
    }
    if let Some(store) = &seen.store {
        store::lines(&mut paper, store);
    }
    for owner in seen.owner.iter().chain(&seen.others) {
        owner::lines(&mut paper, owner, !seen.others.is_empty());
    }
    missing(&mut paper, seen);
    by_hand(&mut paper, seen);
    paper.finish()
}

fn headline(paper: &mut Paper, seen: &Inspection) {
    let paint = of_verdict(seen.verdict);
    let word = match seen.verdict {
        Verdict::Proven => "nothing wrong",
        other => other.as_str(),
    };
    let says = match seen.verdict {
        Verdict::Proven => seen.says.strip_prefix("nothing wrong was seen: ").unwrap_or(&seen.says),
        _ => &seen.says,
    };
    paper.line(
        0,
        &[(paint, word), (Paint::Plain, ": "), (Paint::Plain, &visible(says))],
    );
    let place = format!("{} on {}", visible(&seen.key), visible(&seen.url));
    let took = format!(
        ", looked at {} for {:.1} s",
        utc(seen.began_unix_ms),
        seen.took_ms as f64 / 1000.0
    );
    paper.line(2, &[(Paint::Dim, &place), (Paint::Dim, &took)]);
}

fn first_look(paper: &mut Paper, seen: &Inspection) {
    let (paint, side) = match seen.first.side {
        Side::Owner => (Paint::Bad, "the owner"),
        Side::Store => (Paint::Bad, "the store"),
        Side::Network => (Paint::Bad, "the network between them"),
        Side::Neither => (Paint::Good, "neither side"),
        Side::CannotTell => (Paint::Warn, "what is missing (see below)"),
    };
    head(paper, "look first at");
    let mut why = seen.first.why.iter();
    match why.next() {
        Some(first) => paper.line(
            2,
            &[(paint, side), (Paint::Plain, ": "), (Paint::Plain, &visible(first))],
        ),
        None => paper.line(2, &[(paint, side)]),
    }
    for more in why {
        paper.line(2, &[(Paint::Plain, "also: "), (Paint::Plain, &visible(more))]);
    }
}

fn findings(paper: &mut Paper, seen: &Inspection) {
    if seen.findings.is_empty() {
        return;
    }
    head(paper, "rules");
    for finding in &seen.findings {
        let name = format!("{} {}: ", visible(&finding.rule), visible(&finding.name));
        paper.line(2, &[(Paint::Bold, &name), (Paint::Plain, &visible(&finding.says))]);
    }
}

fn missing(paper: &mut Paper, seen: &Inspection) {
    if seen.first.missing.is_empty() {
        return;
    }
    head(paper, "missing");
    for it in &seen.first.missing {
        let what = format!("{}: ", visible(&it.what));
        paper.line(2, &[(Paint::Plain, &what), (Paint::Bold, &visible(&it.how))]);
    }
}

fn by_hand(paper: &mut Paper, seen: &Inspection) {
    if !seen.by_hand.is_empty() {
        head(paper, "by hand");
        for command in &seen.by_hand {
            // Never wrapped: it is there to be copied.
            paper.verbatim(2, &visible(command));
        }
    }
    if let Some(saved) = &seen.saved {
        paper.gap_if(true);
        paper.line(0, &[(Paint::Bold, "evidence  "), (Paint::Plain, &visible(saved))]);
    }
}

fn head(paper: &mut Paper, text: &str) {
    paper.gap_if(true);
    paper.line(0, &[(Paint::Bold, text)]);
}

/// The column in which a row's text begins, less its indent.
const LABEL: usize = 13;

/// A row: what, and what was seen.
fn row(paper: &mut Paper, label: &str, text: &str) {
    let label = format!("{label:<LABEL$}");
    paper.hanging(2, 2 + LABEL, &[(Paint::Dim, &label), (Paint::Plain, &visible(text))]);
}

/// What is shown, or why it isn't.
fn shown<T>(it: &Shown<T>, words: impl FnOnce(&T) -> String) -> String {
    match it {
        Shown::Is(it) => words(it),
        Shown::NotByThisStore => "not shown by this store".to_owned(),
        Shown::Withheld(why) => format!("not shown: {why}"),
    }
}

/// A length in ms, as sharp as it is known.
fn range(range: Range) -> String {
    match range.at_most_ms {
        None => format!("at least {:.0} ms", range.at_least_ms),
        Some(most) => {
            let half = (most - range.at_least_ms) / 2.0;
            format!("{:.0} ms ±{half:.1}", range.middle_ms())
        }
    }
}

/// A moment of the wall clock, to the second.
fn utc(unix_ms: i64) -> String {
    let seconds = unix_ms.div_euclid(1000);
    let of_day = seconds.rem_euclid(86_400);
    format!(
        "{} {:02}:{:02}:{:02} UTC",
        words::day(seconds),
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_the_wall_clock() {
        for (unix_ms, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400_000, "2000-02-29 00:00:00 UTC"),
            (1_796_026_503_999, "2026-11-30 08:15:03 UTC"),
            (4_102_444_799_000, "2099-12-31 23:59:59 UTC"),
        ] {
            assert_eq!(utc(unix_ms), text);
        }
    }
}
