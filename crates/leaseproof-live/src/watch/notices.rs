//! What people are told at once, and the lines that they read.

use super::lease::Change;
use std::sync::Arc;
use std::time::Duration;

/// What people should be told at once.
#[derive(Clone, PartialEq, Debug)]
pub enum Notice {
    /// An owner reported a belief after its grant had ended.
    Diverged {
        /// The lease's key.
        key: Arc<str>,
        /// By how much, at least.
        by: Duration,
        /// Whether no reading ever showed anybody to hold it: the plan may name another key than the owner's.
        never_held: bool,
    },
    /// The store shows something new of a lease.
    Changed {
        /// The lease's key.
        key: Arc<str>,
        /// What.
        change: Change,
    },
    /// The store does not answer, in its own words.
    StoreLost(String),
    /// It answers, and refuses what is asked, in its own words.
    StoreRefuses(String),
    /// It answers again.
    StoreBack,
    /// Another process or role of the store answers now.
    StoreEpoch(String),
    /// The store's clock stepped.
    StoreStepped,
    /// How the store is asked, where that is not the usual way, in the adapter's words.
    StoreWay(String),
    /// A round of readings took longer than the interval.
    Late {
        /// How long it took.
        took: Duration,
        /// How often there is to be one.
        interval: Duration,
    },
    /// The monitor itself did not run.
    Blind(Duration),
    /// A key that is no lease, or that this user may not read, in the store's words.
    Unreadable {
        /// The key.
        key: Arc<str>,
        /// What is wrong with it.
        why: String,
    },
    /// Leases below a prefix were left out, since there are more than the plan's bound.
    LeftOut {
        /// The prefix.
        prefix: String,
        /// The bound.
        max: usize,
    },
    /// Keys below a prefix whose names are no UTF-8: a listing leaves them out.
    NotText {
        /// The prefix.
        prefix: String,
        /// How many.
        count: u64,
    },
}

/// One line, without a time.
#[must_use]
pub fn line(notice: &Notice) -> String {
    match notice {
        Notice::Diverged { key, by, never_held } => format!(
            "{}: DIVERGED: the owner reported that it holds the lease, {} at least after its grant had ended{}",
            shown(key),
            span(*by),
            if *never_held {
                "; no reading shows it held by anybody: is this the owner's key?"
            } else {
                ""
            }
        ),
        Notice::Changed { key, change } => match change {
            Change::NewHolder { holder, token } => {
                let token = token.map_or_else(String::new, |token| format!(", token {token}"));
                format!("{}: held by {}{token} now", shown(key), shown(holder.as_str()))
            }
            Change::FenceBack { from, to } => format!(
                "{}: FENCE WENT BACK: the new grant has token {to}, an earlier one had {from}",
                shown(key)
            ),
            Change::Lapsed { holder, surely } => format!(
                "{}: LAPSED: the TTL of {} ran out without a renewal{}",
                shown(key),
                shown(holder.as_str()),
                if *surely {
                    ""
                } else {
                    ", or it was given back right before: this store shows no more"
                }
            ),
            Change::Gone { holder, within, unseen } => format!(
                "{}: GONE: {} holds it no more, since {} at the most: given back, taken away or run out, and {}",
                shown(key),
                shown(holder.as_str()),
                span(*within),
                match unseen {
                    false => "this store does not show which",
                    true => "no reading since then shows which: its TTL may have been over by now",
                }
            ),
            Change::TtlDiffers { says } => format!("{}: TTL DIFFERS: {says} (LP022)", shown(key)),
            Change::MarginGone { holder, age, margin } => format!(
                "{}: MARGIN GONE: {} was not renewed for {} at least: the plan's margin of {} is used up",
                shown(key),
                shown(holder.as_str()),
                span(*age),
                span(*margin)
            ),
        },
        Notice::StoreLost(why) => format!("the store does not answer: {}", shown(why)),
        // The words begin with the store itself.
        Notice::StoreRefuses(why) => shown(why),
        Notice::StoreBack => "the store answers again".to_owned(),
        Notice::StoreEpoch(epoch) => format!("another process or role of the store answers: {}", shown(epoch)),
        Notice::StoreStepped => "the store's clock stepped: renewals across it are not judged".to_owned(),
        Notice::StoreWay(how) => shown(how),
        Notice::Late { took, interval } => format!(
            "LATE: a round of readings took {}, and one is due every {}: leases are read less often than that",
            span(*took),
            span(*interval)
        ),
        Notice::Blind(by) => format!(
            "this monitor did not run for {}: nothing is judged from that span",
            span(*by)
        ),
        Notice::Unreadable { key, why } => format!("{}: {}", shown(key), shown(why)),
        Notice::NotText { prefix, count } => format!(
            "{}: {} no UTF-8: left out here, watched when named by --key-hex",
            shown(prefix),
            match count {
                1 => "the name of one key below it is".to_owned(),
                _ => format!("the names of {count} keys below it are"),
            }
        ),
        Notice::LeftOut { prefix, max } => format!(
            "{}: there are more leases below it than max = {max}: the others are left out",
            shown(prefix)
        ),
    }
}

/// A text that others chose, with nothing in it that moves a terminal's cursor.
pub(super) fn shown(text: &str) -> String {
    leaseproof_report::visible::visible(text).to_string()
}

fn span(span: Duration) -> String {
    format!("{:.3} s", span.as_secs_f64())
}
