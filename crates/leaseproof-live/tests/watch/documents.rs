//! What is exported, what is documented and what the rules and the dashboard read are the same.

use leaseproof_live::watch::rules::{RuleNumbers, render};
use leaseproof_live::watch::series::{OF_LEASES, OF_WHOLE};
use leaseproof_live::watch::{dashboard, page};
use leaseproof_model::budget::Budget;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

fn metrics_page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/METRICS.md");
    std::fs::read_to_string(path).expect("docs/METRICS.md")
}

fn rules() -> String {
    render(&RuleNumbers {
        budget: Budget::standard(),
        interval: Duration::from_secs(1),
        alert_share: 0.1,
    })
}

#[test]
fn metrics_md_has_every_series_with_its_type_and_every_alert() {
    let text = metrics_page();
    let exported = OF_LEASES
        .iter()
        .map(|it| (it.name, it.kind))
        .chain(OF_WHOLE.iter().map(|it| (it.name, it.kind)));
    for (name, kind) in exported {
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")))
            .unwrap_or_else(|| panic!("{name} is not in METRICS.md"));
        assert!(row.contains(&format!("| {} |", kind.as_str())), "{row}");
    }
    for line in rules().lines() {
        if let Some(name) = line.trim().strip_prefix("- alert: ") {
            assert!(text.contains(&format!("`{name}`")), "{name} is not in METRICS.md");
        }
    }
}

#[test]
fn rules_and_dashboard_read_what_is_exported() {
    let mut known: BTreeSet<&str> = OF_LEASES.iter().map(|it| it.name).collect();
    known.extend(OF_WHOLE.iter().map(|it| it.name));
    known.insert(page::INFO);
    let rules = rules();
    let texts = rules
        .lines()
        .filter(|line| line.trim().starts_with("expr:"))
        .chain(dashboard::expressions());
    for text in texts {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        for word in words.filter(|word| word.starts_with("leaseproof_watch_")) {
            assert!(known.contains(word), "{word} in {text}");
        }
    }
}
