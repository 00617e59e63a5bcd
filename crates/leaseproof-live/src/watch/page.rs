//! The board as a page of metrics. Leases beyond the bound of labels are one line, `other`, with the
//! worst of them.

use super::board::{Board, Entry};
use super::label::OTHER;
use super::series::{Fold, OF_LEASES, OF_WHOLE};
use leaseproof_model::clock::BootNanos;
use leaseproof_report::exposition::{Kind, Page};

/// The series that says what the monitor and its store are.
pub const INFO: &str = "leaseproof_watch_info";

/// The page, as things are known at `now`.
#[must_use]
pub fn render(board: &Board, now: BootNanos) -> String {
    let mut page = Page::new();
    page.family(INFO, Kind::Gauge, "Always 1; what is watched, and by which version.");
    let labels = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("store", &board.store.kind),
        ("store_version", &board.store.version),
    ];
    page.sample(INFO, &labels, 1.0);
    for series in OF_WHOLE {
        if let Some(value) = (series.of)(board, now) {
            page.family(series.name, series.kind, series.help);
            page.sample(series.name, &[], value);
        }
    }
    let (labelled, others): (Vec<_>, Vec<_>) = board.iter().map(|(_, it)| it).partition(|it| it.label.is_some());
    for (series, gone) in OF_LEASES.iter().zip(board.gone()) {
        let mut begun = false;
        let mut sample = |label: &str, value: f64| {
            if !std::mem::replace(&mut begun, true) {
                page.family(series.name, series.kind, series.help);
            }
            page.sample(series.name, &[("lease", label)], value);
        };
        for entry in &labelled {
            if let (Some(label), Some(value)) = (&entry.label, (series.of)(entry, board, now)) {
                sample(label, value);
            }
        }
        let values = others.iter().filter_map(|entry| (series.of)(entry, board, now));
        match folded(series.fold, values) {
            Some(value) => sample(OTHER, value + gone),
            None if *gone > 0.0 => sample(OTHER, *gone),
            None => {}
        }
    }
    page.finish()
}

fn folded(fold: Fold, values: impl Iterator<Item = f64>) -> Option<f64> {
    match fold {
        Fold::Max => values.reduce(f64::max),
        Fold::Min => values.reduce(f64::min),
        Fold::Sum => values.reduce(|a, b| a + b),
        Fold::Nothing => None,
    }
}

/// How bad a lease is, for a view that shows the worst first.
#[must_use]
pub fn badness(entry: &Entry, board: &Board, now: BootNanos) -> f64 {
    let diverged = entry
        .belief
        .as_ref()
        .and_then(|it| it.divergence(now, &entry.lease, &board.terms));
    let used = entry.lease.renewed_ago().map(|age| board.terms.margin_used(age));
    let unreadable = f64::from(u8::from(entry.lease.unreadable.is_some()));
    diverged.map_or(0.0, |by| by.as_secs_f64() * 1e6)
        + f64::from(entry.lease.fence_back) * 1e5
        + unreadable * 1e3
        + used.unwrap_or(0.0)
}
