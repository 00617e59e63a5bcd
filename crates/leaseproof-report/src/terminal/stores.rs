//! A run on several stores: one table, scenario by store.

use super::of_verdict;
use super::paper::{Paint, Paper};
use crate::visible::visible;
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::verdict::{RunVerdict, Verdict};

/// The stores of a run, in its own order.
pub(super) fn of(run: &RunVerdict) -> Vec<&str> {
    let named = run.scenarios.iter().map(|it| it.store.as_str());
    let named = named.chain(run.not_offered.iter().map(|it| it.store.as_str()));
    let mut stores: Vec<&str> = Vec::new();
    for store in named.filter(|store| !store.is_empty()) {
        if !stores.contains(&store) {
            stores.push(store);
        }
    }
    stores
}

/// The table.
pub(super) fn table(paper: &mut Paper, run: &RunVerdict) {
    let stores = of(run);
    let mut ids: Vec<ScenarioId> = run.scenarios.iter().map(|it| it.id).collect();
    ids.extend(run.not_offered.iter().map(|it| it.id));
    ids.sort_unstable();
    ids.dedup();
    let wide = ids
        .iter()
        .map(|id| id.as_str().len())
        .max()
        .unwrap_or(0)
        .max("scenario".len())
        + 2;
    let column = |store: &str| visible(store).chars().count().max("cannot tell".len()) + 2;
    paper.gap_if(true);
    let mut head = vec![(Paint::Bold, format!("{:<wide$}", "scenario"))];
    head.extend(stores.iter().map(|store| {
        let width = column(store);
        (Paint::Bold, format!("{:<width$}", visible(store)))
    }));
    line(paper, &head);
    for id in ids {
        let mut cells = vec![(Paint::Plain, format!("{:<wide$}", id.as_str()))];
        for store in &stores {
            let width = column(store);
            let seen = run.scenarios.iter().find(|it| it.id == id && it.store == *store);
            cells.push(match seen {
                Some(it) => (paint(it.verdict), format!("{:<width$}", it.verdict.as_str())),
                None => (Paint::Dim, format!("{:<width$}", "-")),
            });
        }
        line(paper, &cells);
    }
}

/// Most of a table is proven: what isn't should meet the eye.
fn paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Proven => Paint::Plain,
        it => of_verdict(it),
    }
}

fn line(paper: &mut Paper, cells: &[(Paint, String)]) {
    let cells: Vec<(Paint, &str)> = cells.iter().map(|(paint, text)| (*paint, text.as_str())).collect();
    paper.line(0, &cells);
}
