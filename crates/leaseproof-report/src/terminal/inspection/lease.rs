//! What the readings show, and the same beside a plan.

use super::{LABEL, head, range, row, shown};
use crate::counted::counted;
use crate::terminal::paper::{Paint, Paper};
use crate::visible::visible;
use leaseproof_model::inspect::lease_view::{LeaseView, Renewals};
use leaseproof_model::inspect::plan_view::PlanView;
use leaseproof_model::truth::Truth;

/// So many renewals are listed; the JSON document has all.
const LISTED: usize = 8;

/// So many changes are listed.
const CHANGES: usize = 12;

/// A last reading that is older than this does not show what is now.
const OLD_MS: f64 = 100.0;

/// `elsewhere`: what may be the lock lies beside the key.
pub(super) fn lines(paper: &mut Paper, lease: &LeaseView, elsewhere: bool) {
    let (first, last) = (&lease.at_first, &lease.at_last);
    head(paper, "lease");
    let nobody = match elsewhere {
        true => "nobody under the key itself",
        false => "nobody",
    };
    row(paper, "holder", last.holder.as_deref().unwrap_or(nobody));
    if first.held && first.holder != last.holder {
        row(paper, "at first", first.holder.as_deref().unwrap_or("nobody"));
    }
    let counter = last.counter.map(|counter| format!("the counter is at {counter}"));
    let token = match (last.token, counter) {
        (Some(token), Some(counter)) => format!("{token}; {counter}"),
        (Some(token), None) => token.to_string(),
        (None, Some(counter)) => format!("none with the lease; {counter}"),
        (None, None) => "none that the store shows".to_owned(),
    };
    row(paper, "token", &token);
    match lease.watched.unseen_at_end_ms {
        unseen if unseen > OLD_MS => row(
            paper,
            "TTL then",
            &format!(
                "{}, {unseen:.0} ms before the end: nothing was read since",
                last.ttl_words
            ),
        ),
        _ => row(paper, "TTL now", &last.ttl_words),
    }
    let varies = if lease.ttl_varies {
        ", different from renewal to renewal"
    } else {
        ""
    };
    row(
        paper,
        "TTL granted",
        &format!("{}{varies}", shown(&lease.granted_ttl, |it| range(*it))),
    );
    renewals(paper, lease);
    for it in lease.happened.iter().take(CHANGES) {
        let (from, to) = it.between_ms;
        row(
            paper,
            "happened",
            &format!("between {:.3} and {:.3} s: {}", from / 1000.0, to / 1000.0, it.says),
        );
    }
    if lease.happened.len() > CHANGES {
        row(
            paper,
            "",
            &format!("and {} more, in the JSON document", lease.happened.len() - CHANGES),
        );
    }
    row(
        paper,
        "clock",
        &shown(&lease.clock, |it| match it.plus_minus_ms {
            0.0 => it.says.clone(),
            known => format!("{} ({:+.2} ms ±{known:.2})", it.says, unsigned_zero(it.ahead_ms)),
        }),
    );
    let watched = &lease.watched;
    let failed = match (watched.failed, &watched.failure) {
        (0, _) => String::new(),
        (failed, Some(why)) => format!("; {failed} failed, the last: {why}"),
        (failed, None) => format!("; {failed} failed"),
    };
    let cut = if watched.cut { ", interrupted" } else { "" };
    row(
        paper,
        "watched",
        &format!(
            "{:.1} s, {} (round trip {:.1} ms, the longest {:.1} ms), at most {:.0} ms apart, woken up to {:.0} \
             ms late{cut}{failed}",
            watched.span_ms / 1000.0,
            counted(watched.readings, "reading"),
            watched.round_trip_ms,
            watched.longest_round_trip_ms,
            watched.longest_hole_ms,
            watched.own_lag_ms,
        ),
    );
}

fn renewals(paper: &mut Paper, lease: &LeaseView) {
    let Some(renewals) = lease.renewals.get() else {
        return row(paper, "renewals", &shown(&lease.renewals, |_: &Renewals| String::new()));
    };
    let mut says = match renewals.seen.len() {
        0 => "none within the span".to_owned(),
        1 => "1, by someone: the store does not say by whom".to_owned(),
        count => format!("{count}, by someone: the store does not say by whom"),
    };
    if let Some(before) = renewals.before_ms_ago {
        says.push_str(&format!("; one {} before the first reading", range(before)));
    }
    row(paper, "renewals", &says);
    let hidden = renewals.seen.len().saturating_sub(LISTED);
    if hidden > 0 {
        let ones = if hidden == 1 { "one" } else { "ones" };
        row(paper, "", &format!("{hidden} earlier {ones}, in the JSON document"));
    }
    for it in renewals.seen.iter().skip(hidden) {
        let left = it
            .left_before
            .map_or_else(String::new, |left| format!(", {} were left", range(left)));
        row(
            paper,
            "",
            &format!("at {:.3} s ±{:.1} ms{left}", it.at_ms / 1000.0, it.plus_minus_ms),
        );
    }
    if let Some(cadence) = renewals.cadence {
        row(paper, "cadence", &range(cadence));
    }
    if let Some(gap) = &renewals.worst_gap {
        let open = if gap.length.at_most_ms.is_none() {
            ", no renewal ended it"
        } else {
            ""
        };
        let left = gap
            .left_at_end
            .map_or_else(String::new, |left| format!("; margin left at its end {}", range(left)));
        row(
            paper,
            "worst gap",
            &format!("{}, from {:.3} s{open}{left}", range(gap.length), gap.from_ms / 1000.0),
        );
        if let Some(most) = renewals.perhaps_gap_ms {
            row(
                paper,
                "",
                &format!("of another no more is known than that it was at most {most:.0} ms"),
            );
        }
    }
}

pub(super) fn plan(paper: &mut Paper, plan: &PlanView) {
    head(paper, &format!("against {}", visible(&plan.path)));
    for check in &plan.checks {
        let (paint, word) = match (check.holds, check.weighs) {
            (Truth::Yes, _) => (Paint::Good, "agrees"),
            (Truth::No, true) => (Paint::Bad, "differs"),
            (Truth::No, false) => (Paint::Warn, "differs"),
            (Truth::CannotTell, _) => (Paint::Warn, "cannot tell"),
        };
        let name = format!("{:<LABEL$}", check.name);
        paper.hanging(
            2,
            2 + LABEL,
            &[
                (Paint::Dim, &name),
                (paint, word),
                (Paint::Plain, ": "),
                (Paint::Plain, &visible(&check.says)),
            ],
        );
    }
    row(paper, "margin", &format!("{:.0} ms by the plan", plan.margin_ms));
}

/// A little less than nothing is nothing: "-0.00" would be read as a direction.
fn unsigned_zero(ms: f64) -> f64 {
    (ms * 100.0).round() / 100.0 + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_direction() {
        for (ms, text) in [
            (-0.004, "+0.00"),
            (0.004, "+0.00"),
            (-0.0, "+0.00"),
            (-0.006, "-0.01"),
            (1.25, "+1.25"),
        ] {
            assert_eq!(format!("{:+.2}", unsigned_zero(ms)), text, "{ms}");
        }
    }
}
