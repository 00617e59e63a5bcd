//! A dashboard for Grafana: `watch --dashboard`.

use serde_json::{Value, json};

/// Title, unit, expressions with their legends, and how it is shown.
type Panel = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    Shown,
);

#[derive(Copy, Clone)]
enum Shown {
    Lines,
    Number,
    Table,
}

const PANELS: &[Panel] = &[
    (
        "Worst divergence",
        "s",
        &[("max(leaseproof_watch_divergence_worst_seconds)", "")],
        Shown::Number,
    ),
    (
        "Margin used, worst",
        "percentunit",
        &[("max(leaseproof_watch_margin_used_worst_ratio)", "")],
        Shown::Number,
    ),
    (
        "Store up",
        "none",
        &[("min(leaseproof_watch_store_up)", "")],
        Shown::Number,
    ),
    ("Leases", "none", &[("sum(leaseproof_watch_leases)", "")], Shown::Number),
    (
        "Divergence: a belief reported after its grant had ended",
        "s",
        &[("leaseproof_watch_divergence_seconds", "{{lease}}")],
        Shown::Lines,
    ),
    (
        "TTL left",
        "s",
        &[("bottomk(10, leaseproof_watch_ttl_left_seconds)", "{{lease}}")],
        Shown::Lines,
    ),
    (
        "Renewal age",
        "s",
        &[
            ("topk(10, leaseproof_watch_renewal_age_seconds)", "{{lease}}"),
            ("leaseproof_watch_plan_heartbeat_seconds", "heartbeat"),
        ],
        Shown::Lines,
    ),
    (
        "Worst gap without a renewal",
        "s",
        &[("topk(10, leaseproof_watch_renewal_gap_worst_seconds)", "{{lease}}")],
        Shown::Lines,
    ),
    (
        "Holder changes an hour",
        "none",
        &[(
            "topk(10, increase(leaseproof_watch_holder_changes_total[1h]))",
            "{{lease}}",
        )],
        Shown::Lines,
    ),
    (
        "Fencing token",
        "none",
        &[("leaseproof_watch_token", "{{lease}}")],
        Shown::Lines,
    ),
    (
        "Beliefs that are not known",
        "s",
        &[(
            "leaseproof_watch_belief_age_seconds and leaseproof_watch_belief_known == 0",
            "{{lease}}",
        )],
        Shown::Table,
    ),
    (
        "The store's clock less ours",
        "s",
        &[
            ("leaseproof_watch_store_clock_offset_seconds", "offset"),
            ("leaseproof_watch_store_clock_offset_uncertainty_seconds", "uncertainty"),
        ],
        Shown::Lines,
    ),
    (
        "The monitor's own lag",
        "s",
        &[
            ("leaseproof_watch_own_lag_worst_seconds", "worst"),
            ("increase(leaseproof_watch_blind_seconds_total[5m])", "blind in 5 min"),
        ],
        Shown::Lines,
    ),
    (
        "A round of readings",
        "s",
        &[
            ("leaseproof_watch_round_seconds", "took"),
            ("leaseproof_watch_plan_interval_seconds", "interval"),
        ],
        Shown::Lines,
    ),
];

/// The dashboard as a JSON document with a line feed at its end.
#[must_use]
pub fn render() -> String {
    let (mut x, mut y) = (0, 0);
    let mut panels = Vec::new();
    for (number, (title, unit, targets, shown)) in PANELS.iter().enumerate() {
        let (kind, width, height) = match shown {
            Shown::Lines => ("timeseries", 12, 8),
            Shown::Number => ("stat", 6, 4),
            Shown::Table => ("table", 12, 8),
        };
        panels.push(json!({
            "id": number + 1,
            "title": title,
            "type": kind,
            "datasource": datasource(),
            "gridPos": { "x": x, "y": y, "w": width, "h": height },
            "fieldConfig": { "defaults": { "unit": unit, "min": if *unit == "s" { Value::Null } else { json!(0) } }, "overrides": [] },
            "targets": targets.iter().enumerate().map(|(at, (expr, legend))| json!({
                "refId": char::from(b'A' + u8::try_from(at).unwrap_or(0)).to_string(),
                "datasource": datasource(),
                "expr": expr,
                "legendFormat": legend,
                "instant": matches!(shown, Shown::Table),
                "format": if matches!(shown, Shown::Table) { "table" } else { "time_series" },
            })).collect::<Vec<_>>(),
        }));
        x += width;
        if x >= 24 {
            x = 0;
            y += height;
        }
    }
    let document = json!({
        "title": "Leases",
        "uid": "leaseproof-watch",
        "tags": ["leaseproof"],
        "schemaVersion": 38,
        "version": 1,
        "editable": true,
        "refresh": "10s",
        "time": { "from": "now-1h", "to": "now" },
        "templating": { "list": [{
            "name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"
        }] },
        "panels": panels,
    });
    format!("{document:#}\n")
}

fn datasource() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

/// Every expression of the dashboard, to be checked.
#[must_use]
pub fn expressions() -> Vec<&'static str> {
    PANELS
        .iter()
        .flat_map(|(_, _, targets, _)| targets.iter().map(|(expr, _)| *expr))
        .collect()
}
