//! The sums: owner by store, and what was not proven.

use super::ledger::Entry;
use super::owner::Owner;
use leaseproof_model::verdict::Verdict;
use std::collections::{BTreeMap, BTreeSet};

/// A pair of which so many suites in a row counted nothing can't be counted here.
const HOPELESS: u32 = 3;

/// See the module.
#[derive(Default)]
pub struct Sums {
    cells: BTreeMap<(String, String), Cell>,
    sore: Vec<String>,
    others: usize,
}

#[derive(Default)]
struct Cell {
    suites: u32,
    proven: Count,
    violated: Count,
    cannot_tell: Count,
    scenarios: BTreeSet<&'static str>,
    nothing_in_a_row: u32,
}

#[derive(Default, Clone, Copy)]
struct Count {
    runs: u32,
    cycles: u32,
}

impl Sums {
    /// The sums of these suites; `others` are left out.
    pub fn of(entries: &[Entry], others: usize) -> Self {
        let mut sums = Self {
            others,
            ..Self::default()
        };
        for entry in entries {
            let cell = sums
                .cells
                .entry((entry.owner.clone(), entry.store.clone()))
                .or_default();
            cell.suites += 1;
            sums.sore.extend(entry.sore());
            cell.nothing_in_a_row = match entry.scenarios.is_empty() {
                true => cell.nothing_in_a_row + 1,
                false => 0,
            };
            for scenario in &entry.scenarios {
                cell.scenarios.insert(scenario.id.as_str());
                let count = match scenario.verdict {
                    Verdict::Proven => &mut cell.proven,
                    Verdict::Violated => &mut cell.violated,
                    Verdict::CannotTell => &mut cell.cannot_tell,
                };
                count.runs += 1;
                count.cycles += scenario.cycles;
            }
        }
        sums
    }

    /// How many cycles are counted of a pair, whatever they came to.
    pub fn cycles(&self, owner: Owner, store: &str) -> u32 {
        self.cell(owner, store).map_or(0, |cell| {
            cell.proven.cycles + cell.violated.cycles + cell.cannot_tell.cycles
        })
    }

    /// Whether nothing can be counted of a pair here.
    pub fn is_hopeless(&self, owner: Owner, store: &str) -> bool {
        self.cell(owner, store)
            .is_some_and(|cell| cell.nothing_in_a_row >= HOPELESS)
    }

    fn cell(&self, owner: Owner, store: &str) -> Option<&Cell> {
        self.cells.get(&(owner.as_str().to_owned(), store.to_owned()))
    }

    /// Whether nothing was violated, every suite had a verdict, and no more could not be told than is borne.
    pub fn is_right(&self, bear: f64) -> bool {
        let all: u32 = self.cells.values().map(Cell::runs).sum();
        let unclear: u32 = self.cells.values().map(|cell| cell.cannot_tell.runs).sum();
        let violated = self.cells.values().any(|cell| cell.violated.runs > 0);
        let hopeless = self.cells.values().any(|cell| cell.nothing_in_a_row >= HOPELESS);
        all > 0 && !violated && !hopeless && f64::from(unclear) * 100.0 <= bear * f64::from(all)
    }

    /// The table as text.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:<8}  {:<13}  {:>6}  {:>9}  {:>15}  {:>13}  {:>13}\n",
            "owner", "store", "suites", "scenarios", "proven", "violated", "cannot tell"
        );
        for owner in Owner::ALL.iter().map(|owner| owner.as_str()) {
            for ((_, store), cell) in self.cells.iter().filter(|((name, _), _)| name == owner) {
                let told = |count: Count| format!("{} ({})", count.runs, count.cycles);
                text.push_str(&format!(
                    "{owner:<8}  {store:<13}  {:>6}  {:>9}  {:>15}  {:>13}  {:>13}\n",
                    cell.suites,
                    cell.scenarios.len(),
                    told(cell.proven),
                    told(cell.violated),
                    told(cell.cannot_tell),
                ));
            }
        }
        text.push_str("scenario runs, and cycles in brackets\n");
        if self.others > 0 {
            text.push_str(&format!("{} suites of other builds are not counted\n", self.others));
        }
        text
    }
}

impl Sums {
    /// What was not proven, a line a suite.
    pub fn sore(&self) -> String {
        self.sore.iter().map(|line| format!("not proven: {line}\n")).collect()
    }
}

impl Cell {
    fn runs(&self) -> u32 {
        self.proven.runs + self.violated.runs + self.cannot_tell.runs
    }
}
