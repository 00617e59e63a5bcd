//! Many scores, by cause and by what was missing.

use super::score::Score;
use crate::incidents::table::By;
use crate::incidents::truth::Truth;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Counts of some incidents.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub all: u64,
    pub top1: u64,
    pub top3: u64,
    pub certain: u64,
    pub cannot_tell: u64,
    pub wrong: u64,
}

impl Row {
    fn add(&mut self, score: &Score) {
        self.all += 1;
        self.top1 += u64::from(score.top1);
        self.top3 += u64::from(score.top3);
        self.certain += u64::from(score.certain);
        self.cannot_tell += u64::from(score.cannot_tell);
        self.wrong += u64::from(!score.certain_but_wrong.is_empty());
    }
}

/// Whole percent, rounded down: 94.9 is no 95.
fn percent(part: u64, of: u64) -> u64 {
    (part * 100).checked_div(of).unwrap_or(0)
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    rows: BTreeMap<(u8, String), Row>,
    failed: u64,
}

/// The tables, in their order.
const TABLES: [&str; 4] = ["all", "cause", "missing", "client"];

impl Tally {
    /// Counts one.
    pub fn add(&mut self, truth: &Truth, score: &Score) {
        let whose = match truth.by {
            By::Ours => "ours",
            By::Foreign => "foreign",
        };
        let evidence = match (truth.full, truth.missing.len()) {
            (true, _) => "full evidence",
            (false, 1) => "one thing missing",
            _ => "more missing",
        };
        let mut rows = vec![
            (0, "all".to_owned()),
            (0, format!("{whose}: all")),
            (0, format!("all: {evidence}")),
            (0, format!("{whose}: {evidence}")),
            (1, truth.kind.clone()),
            (3, format!("{whose}: {}", truth.client)),
        ];
        rows.extend(truth.missing.iter().map(|it| (2, it.clone())));
        if truth.missing.is_empty() {
            rows.push((2, "nothing".to_owned()));
        }
        for row in rows {
            self.rows.entry(row).or_default().add(score);
        }
    }

    /// Counts one of which there is no diagnosis.
    pub fn failed(&mut self) {
        self.failed += 1;
    }

    /// Whether nothing was called certain that is wrong, and all were diagnosed.
    pub fn is_right(&self) -> bool {
        self.failed == 0 && self.rows.values().all(|row| row.wrong == 0)
    }

    /// For people, or as Markdown.
    pub fn shown(&self, markdown: bool) -> String {
        let mut text = String::new();
        let heads = ["top-1", "top-3", "certain", "cannot tell", "certain but wrong"];
        for (number, table) in (0..).zip(TABLES) {
            let rows: Vec<_> = self.rows.iter().filter(|((of, _), _)| *of == number).collect();
            if rows.is_empty() {
                continue;
            }
            let _ = match markdown {
                true => writeln!(
                    text,
                    "| by {table} | n | {} |\n| --- |{}",
                    heads.join(" | "),
                    " ---: |".repeat(6)
                ),
                false => writeln!(
                    text,
                    "{:<34} {:>4} {:>6} {:>6} {:>8} {:>12} {:>18}",
                    format!("by {table}"),
                    "n",
                    heads[0],
                    heads[1],
                    heads[2],
                    heads[3],
                    heads[4]
                ),
            };
            for ((_, name), row) in rows {
                let of = |part: u64| format!("{} %", percent(part, row.all));
                let cells = [of(row.top1), of(row.top3), of(row.certain), of(row.cannot_tell)];
                let _ = match (markdown, &cells) {
                    (true, _) => writeln!(text, "| {name} | {} | {} | {} |", row.all, cells.join(" | "), row.wrong),
                    (false, [a, b, c, d]) => writeln!(
                        text,
                        "{name:<34} {:>4} {a:>6} {b:>6} {c:>8} {d:>12} {:>18}",
                        row.all, row.wrong
                    ),
                };
            }
            text.push('\n');
        }
        if self.failed > 0 {
            let _ = writeln!(text, "without a diagnosis: {}", self.failed);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn a_share_is_never_rounded_up() {
        assert_eq!(
            [percent(949, 1000), percent(19, 20), percent(0, 0), percent(299, 300)],
            [94, 95, 0, 99]
        );
    }
}
