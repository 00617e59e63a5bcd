//! Notices as lines that people read.

use super::board::Notice;
use super::lease::Change;
use std::time::Duration;

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
        },
        Notice::StoreLost(why) => format!("the store does not answer: {}", shown(why)),
        Notice::StoreBack => "the store answers again".to_owned(),
        Notice::StoreEpoch(epoch) => format!("another process or role of the store answers: {}", shown(epoch)),
        Notice::StoreStepped => "the store's clock stepped: renewals across it are not judged".to_owned(),
        Notice::StoreWay(how) => shown(how),
        Notice::Blind(by) => format!(
            "this monitor did not run for {}: nothing is judged from that span",
            span(*by)
        ),
        Notice::Unreadable { key, why } => format!("{}: {}", shown(key), shown(why)),
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
