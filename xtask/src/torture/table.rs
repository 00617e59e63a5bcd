//! The sums of all cases.

use super::case::Outcome;
use std::collections::BTreeMap;
use std::time::Duration;

/// One row.
#[derive(Default)]
struct Row {
    cases: usize,
    fell: usize,
    in_force: usize,
    left: usize,
    slowest: Duration,
    cannot_tell: usize,
    proven: usize,
    violated: usize,
}

/// The table, in the order in which its rows were first named.
#[derive(Default)]
pub struct Table {
    order: Vec<(String, &'static str)>,
    rows: BTreeMap<(String, &'static str), Row>,
}

impl Table {
    /// Names a row.
    pub fn row(&mut self, blow: &str, store: &'static str) {
        let name = (blow.to_owned(), store);
        if !self.rows.contains_key(&name) {
            self.order.push(name.clone());
            self.rows.insert(name, Row::default());
        }
    }

    /// Counts one case.
    pub fn add(&mut self, blow: &str, store: &'static str, outcome: &Outcome) {
        self.row(blow, store);
        let Some(row) = self.rows.get_mut(&(blow.to_owned(), store)) else {
            return;
        };
        row.cases += 1;
        row.fell += usize::from(outcome.fell);
        row.in_force += usize::from(outcome.in_force);
        row.left += usize::from(!outcome.left.is_empty());
        row.slowest = row.slowest.max(outcome.clean_after);
        for status in &outcome.judged {
            match status {
                0 => row.proven += 1,
                1 => row.violated += 1,
                _ => row.cannot_tell += 1,
            }
        }
    }

    /// As text.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:<34} {:<7} {:>4} {:>5} {:>9} {:>10} {:>13} {:>22}\n",
            "what was done", "store", "N", "fell", "in force", "left", "clean after", "bundle 3 / 0 whole / 1"
        );
        let mut all = Row::default();
        for name in &self.order {
            let Some(row) = self.rows.get(name) else { continue };
            let left = match row.left {
                0 => "nothing".to_owned(),
                some => format!("{some} runs"),
            };
            text.push_str(&format!(
                "{:<34} {:<7} {:>4} {:>5} {:>9} {:>10} {:>11.1} s {:>22}\n",
                name.0,
                name.1,
                row.cases,
                row.fell,
                row.in_force,
                left,
                row.slowest.as_secs_f64(),
                format!("{} / {} / {}", row.cannot_tell, row.proven, row.violated)
            ));
            all.cases += row.cases;
            all.fell += row.fell;
            all.left += row.left;
        }
        text.push_str(&format!(
            "N = {}, the blow fell in {}; something was left or wrong in {}\n\
             in force: of those looked at, something was stopped, frozen or stepped when the blow fell\n\
             clean after: the slowest, from the blow (or the healing's begin) to nothing left\n",
            all.cases, all.fell, all.left
        ));
        text
    }

    /// Rows in which no blow fell: they have shown nothing.
    pub fn missed(&self) -> Vec<String> {
        let rows = self.order.iter().filter_map(|name| Some((name, self.rows.get(name)?)));
        rows.filter(|(_, row)| row.fell == 0)
            .map(|(name, _)| format!("{} on {}", name.0, name.1))
            .collect()
    }
}
