//! The sums.

use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::verdict::Verdict;
use std::collections::BTreeMap;

/// What all runs came to.
#[derive(Default)]
pub struct Tally {
    rows: BTreeMap<(String, ScenarioId), Row>,
    wrong: Vec<String>,
    broken: Vec<String>,
}

#[derive(Default)]
struct Row {
    runs: u32,
    cycles: u32,
    proven: u32,
    cannot_tell: u32,
    violated: u32,
}

impl Tally {
    /// Adds one run of a scenario.
    pub fn add(&mut self, store: &str, id: ScenarioId, verdict: Verdict, cycles: u32) {
        let row = self.rows.entry((store.to_owned(), id)).or_default();
        row.runs += 1;
        row.cycles += cycles;
        match verdict {
            Verdict::Proven => row.proven += 1,
            Verdict::CannotTell => row.cannot_tell += 1,
            Verdict::Violated => row.violated += 1,
        }
    }

    /// Adds something that the store contradicts.
    pub fn wrong(&mut self, what: String) {
        self.wrong.push(what);
    }

    /// Adds a run without a verdict.
    pub fn broken(&mut self, store: &str, why: &str) {
        self.broken.push(format!("{store}: {why}"));
    }

    /// How many scenario runs there were.
    pub fn runs(&self) -> u32 {
        self.rows.values().map(|row| row.runs).sum()
    }

    /// Whether nothing is wrong. What can't be told is counted, and is no wrong premise.
    pub fn is_clean(&self) -> bool {
        self.wrong.is_empty() && self.broken.is_empty() && self.rows.values().all(|row| row.violated == 0)
    }

    /// All of it as text.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:<14} {:<16} {:>5} {:>7} {:>7} {:>12} {:>9}\n",
            "store", "scenario", "runs", "cycles", "proven", "cannot tell", "violated"
        );
        for ((store, id), row) in &self.rows {
            text.push_str(&format!(
                "{store:<14} {:<16} {:>5} {:>7} {:>7} {:>12} {:>9}\n",
                id.as_str(),
                row.runs,
                row.cycles,
                row.proven,
                row.cannot_tell,
                row.violated
            ));
        }
        let cycles: u32 = self.rows.values().map(|row| row.cycles).sum();
        text.push_str(&format!(
            "N = {} runs of {cycles} cycles, {} wrong premises, {} runs without a verdict\n",
            self.runs(),
            self.wrong.len(),
            self.broken.len()
        ));
        for line in self.wrong.iter().chain(&self.broken) {
            text.push_str(&format!("wrong: {line}\n"));
        }
        text
    }
}
