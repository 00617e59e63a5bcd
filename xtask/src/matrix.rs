//! The confusion matrix: which codes each flaw showed, in how many of its runs.

use std::collections::{BTreeMap, BTreeSet};

/// Counts of codes by row.
#[derive(Default)]
pub struct Matrix {
    rows: BTreeMap<String, Row>,
    not_expressible: BTreeMap<String, String>,
}

#[derive(Default)]
struct Row {
    runs: u32,
    right: u32,
    cannot_tell: u32,
    codes: BTreeMap<String, u32>,
}

impl Matrix {
    /// Adds one run.
    pub fn add(&mut self, label: &str, right: bool, cannot_tell: bool, codes: &BTreeSet<String>) {
        let row = self.rows.entry(label.to_owned()).or_default();
        row.runs += 1;
        row.right += u32::from(right);
        row.cannot_tell += u32::from(cannot_tell);
        for code in codes {
            *row.codes.entry(code.clone()).or_default() += 1;
        }
    }

    /// Notes what a store can't show, so that its absence is seen.
    pub fn not_expressible(&mut self, label: &str, why: &str) {
        self.not_expressible.insert(label.to_owned(), why.to_owned());
    }

    /// Whether every run was right.
    pub fn all_right(&self) -> bool {
        self.rows.values().all(|row| row.right == row.runs)
    }

    /// The table as text.
    pub fn table(&self) -> String {
        let width = self.rows.keys().map(String::len).max().unwrap_or(0).max(4);
        let mut text = format!(
            "{:<width$}  {:>9}  {:>11}  codes found (in how many runs)\n",
            "what", "right", "cannot tell"
        );
        for (label, row) in &self.rows {
            let codes: Vec<_> = row
                .codes
                .iter()
                .map(|(code, count)| format!("{code}:{count}"))
                .collect();
            let right = format!("{}/{}", row.right, row.runs);
            text.push_str(&format!(
                "{label:<width$}  {right:>9}  {:>11}  {}\n",
                row.cannot_tell,
                codes.join(" ")
            ));
        }
        for (label, why) in &self.not_expressible {
            text.push_str(&format!("{label}: {why}\n"));
        }
        let runs: u32 = self.rows.values().map(|row| row.runs).sum();
        let right: u32 = self.rows.values().map(|row| row.right).sum();
        text.push_str(&format!("N = {runs} runs, {right} right\n"));
        text
    }
}
