//! What the store shows of itself.

use super::{LABEL, head, row, shown};
use crate::counted::counted;
use crate::terminal::paper::{Paint, Paper};
use crate::visible::visible;
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::store_view::{Connections, Form, Monitored, SlowLog, StoreView};

/// So many slow commands, and so many monitored ones, are listed.
const LISTED: usize = 10;

/// So many connections are listed.
const CONNECTIONS: usize = 5;

pub(super) fn lines(paper: &mut Paper, store: &StoreView) {
    head(paper, &format!("store {}", visible(&store.kind)));
    for it in &store.attributes {
        row(paper, &it.name, &shown(&it.value, String::clone));
        if let Some(concern) = &it.concern {
            paper.hanging(2 + LABEL, 2 + LABEL, &[(Paint::Warn, &visible(concern))]);
        }
    }
    row(paper, "key in", &store.key.namespace);
    if let Form::Foreign(what) = &store.key.form {
        row(paper, "key holds", what);
    }
    connections(paper, &store.connections);
    slow_log(paper, &store.slow_log);
    if let Some(monitored) = &store.monitored {
        self::monitored(paper, monitored);
    }
    if !store.refused.is_empty() {
        row(
            paper,
            "not allowed",
            &format!("{} (this user may not ask)", store.refused.join(", ")),
        );
    }
}

fn connections(paper: &mut Paper, connections: &Shown<Connections>) {
    row(
        paper,
        "connections",
        &shown(connections, |it| format!("{} in all; {}", it.all, it.means)),
    );
    for it in connections.get().iter().flat_map(|it| &it.candidates).take(CONNECTIONS) {
        let name = it.name.as_ref().map_or_else(String::new, |name| format!(" `{name}`"));
        let text = format!(
            "{}{name}: there for {} s, idle for {} s, last {}; {}",
            it.address, it.age_s, it.idle_s, it.last_command, it.why
        );
        row(paper, "", &text);
    }
}

fn slow_log(paper: &mut Paper, log: &Shown<SlowLog>) {
    row(
        paper,
        "slow log",
        &shown(log, |it| {
            let threshold = match &it.threshold_us {
                Shown::Is(Some(us)) => format!("threshold {us} µs"),
                Shown::Is(None) => "off".to_owned(),
                other => format!("threshold {}", shown(other, |_| String::new())),
            };
            format!(
                "{threshold}; {} of {} {}: {}",
                it.entries.len(),
                it.looked_at,
                match (it.entries.len(), it.looked_at) {
                    (_, 1) => "entry names the key",
                    (1, _) => "entries names the key",
                    _ => "entries name the key",
                },
                it.means
            )
        }),
    );
    for it in log.get().iter().flat_map(|it| &it.entries).take(LISTED) {
        let from = it
            .address
            .as_ref()
            .map_or_else(String::new, |from| format!(" from {from}"));
        row(
            paper,
            "",
            &format!("at {} s: {} took {} µs{from}", it.unix_s, it.command, it.took_us),
        );
    }
}

fn monitored(paper: &mut Paper, monitored: &Shown<Monitored>) {
    row(
        paper,
        "monitored",
        &shown(monitored, |it| {
            format!(
                "{} in {:.1} s, {} of them on the key{}{}",
                counted(it.commands, "command"),
                it.watched_ms as f64 / 1000.0,
                // Of those who wrote the document before it was counted, what they kept.
                it.named_key.max(it.on_key.len() as u64),
                if it.on_key.len() > LISTED {
                    ", the first ten below"
                } else {
                    ""
                },
                if it.cut { "; ended at the bound of commands" } else { "" }
            )
        }),
    );
    for it in monitored.get().iter().flat_map(|it| &it.on_key).take(LISTED) {
        let seconds = it.unix_us as f64 / 1e6;
        row(
            paper,
            "",
            &format!("at {seconds:.6} s from {}: {}", it.from, it.command),
        );
    }
}
