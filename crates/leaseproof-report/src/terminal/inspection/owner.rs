//! What the owner's host shows of its process.

use super::{head, row, shown};
use crate::counted::counted;
use crate::terminal::paper::Paper;
use crate::visible::visible;
use leaseproof_model::inspect::owner_view::OwnerView;
use leaseproof_model::truth::Truth;
use std::collections::BTreeMap;

/// `one_of_several`: each says whether it is the holder.
pub(super) fn lines(paper: &mut Paper, owner: &OwnerView, one_of_several: bool) {
    head(
        paper,
        &format!("owner's process {} ({})", owner.process.pid, visible(&owner.program)),
    );
    if let Some(holds) = owner
        .holds
        .as_ref()
        .filter(|it| one_of_several || it.it_does == Truth::Yes)
    {
        let yes = if holds.it_does == Truth::Yes { "yes: " } else { "" };
        row(paper, "holds it", &format!("{yes}{}", holds.says));
    }
    row(paper, "state", &owner.says);
    let mut letters: BTreeMap<char, usize> = BTreeMap::new();
    for thread in &owner.threads {
        *letters.entry(thread.state).or_default() += 1;
    }
    let listed: Vec<String> = letters
        .iter()
        .map(|(letter, count)| format!("{count} {letter}"))
        .collect();
    let threads = match owner.thread_count {
        0 => "none".to_owned(),
        count if count as usize > owner.threads.len() => {
            format!("{count}, the first {}: {}", owner.threads.len(), listed.join(", "))
        }
        count => format!("{count}: {}", listed.join(", ")),
    };
    row(paper, "threads", &threads);
    row(paper, "freezer", &shown(&owner.freezer, String::clone));
    row(
        paper,
        "throttled",
        &shown(&owner.throttled, |it| {
            format!(
                "{} within the span, for {:.1} ms ({} ever), in {}",
                counted(it.times, "time"),
                it.for_us as f64 / 1000.0,
                counted(it.times_ever, "time"),
                it.group
            )
        }),
    );
    row(
        paper,
        "CPU",
        &format!(
            "ran {}, waited for a CPU {}",
            shown(&owner.ran_ms, |ms| format!("{ms:.1} ms")),
            shown(&owner.waited_for_cpu_ms, |ms| format!("{ms:.1} ms"))
        ),
    );
    row(
        paper,
        "pressure",
        &shown(&owner.pressure, |it| {
            format!(
                "{:.1} % of the last 10 s something waited for a CPU, in {}",
                it.some_10s_percent, it.of
            )
        }),
    );
    sockets(paper, owner);
    row(
        paper,
        "resets",
        &shown(&owner.resets, |count| {
            let connections = counted(*count, "connection");
            format!("{connections} of its network namespace within the span")
        }),
    );
}

fn sockets(paper: &mut Paper, owner: &OwnerView) {
    let Some(all) = owner.sockets.get() else {
        return row(paper, "connection", &shown(&owner.sockets, |_| String::new()));
    };
    if all.is_empty() {
        row(paper, "connection", "none to the store's port");
    }
    for it in all {
        row(
            paper,
            "connection",
            &format!(
                "{} to {}, {}: {} unacknowledged, {} unread, sent again {} now and {} ever; timer {}; last sent {}, last \
                 received {}, round trip {}",
                it.local,
                it.remote,
                it.state,
                counted(it.unacknowledged_bytes, "byte"),
                it.unread_bytes,
                counted(it.retransmits, "time"),
                shown(&it.retransmits_ever, u64::to_string),
                it.timer,
                shown(&it.last_sent_ms, |ms| format!("{ms} ms ago")),
                shown(&it.last_received_ms, |ms| format!("{ms} ms ago")),
                shown(&it.round_trip_ms, |ms| format!("{ms:.2} ms")),
            ),
        );
    }
}
