//! The verdict on one lease: pure, from the numbers alone. What is checked is in `checks`, what would pass in `change`.

use crate::change::{advice, changes};
use crate::checks::{Checked, checked, may_fail};
use crate::report::{Answer, Check, Judged, TermView, ms};
use crate::subject::{Number, Origin, Subject};
use leaseproof_model::budget::Budget;
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

/// A pause that was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measured {
    /// How long it was.
    pub pause: Duration,
    /// Where it was seen, in words.
    pub from: String,
}

/// What is demanded beside the inequality.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Demands {
    /// So many renewals in a row must be able to fail.
    pub renewals: Option<u32>,
}

/// Judges one lease's settings.
#[must_use]
pub fn judge(subject: &Subject, measured: Option<&Measured>, demands: Demands) -> Judged {
    if let Some(unread) = &subject.unread {
        return not_judged(subject, unread);
    }
    let subject = &subject.clone().settled();
    let Checked {
        pause,
        budget,
        mut checks,
    } = checked(subject, measured, demands);
    let assumed = subject.worst_pause.as_ref().map(|number| number.span);
    let ttl = budget.ttl;
    let failed = checks.iter_mut().find(|check| check.answer == Answer::DoesNotHold);
    let changes = match (pause, failed) {
        (Some(_), Some(failed)) => {
            let changes = changes(subject, measured, demands);
            if !changes.is_empty() {
                let advice = advice(&changes, subject);
                failed.remedy = Some(match failed.remedy.take() {
                    Some(remedy) => format!("{remedy}; {advice}"),
                    None => advice,
                });
            }
            changes
        }
        // Which pause must be survived nobody said, or nothing is to be changed.
        _ => Vec::new(),
    };
    let from = match (assumed, measured) {
        (_, Some(seen)) if pause == Some(seen.pause) && assumed != pause => Some(format!("measured: {}", seen.from)),
        (Some(_), _) => subject.worst_pause.as_ref().map(origin),
        _ => None,
    };
    Judged {
        file: subject.file.clone(),
        kind: subject.kind,
        name: subject.name.clone(),
        verdict: Answer::worst(checks.iter().map(|check| check.answer)),
        terms: terms(subject, &budget),
        margin_ms: ms(budget.ttl) - ms(budget.reserved()),
        plain_margin_ms: ms(budget.ttl) - ms(budget.heartbeat),
        worst_pause_ms: pause.map(ms),
        worst_pause_from: from,
        renewals_that_may_fail: may_fail(subject, &budget),
        takeover_within_ms: subject.store.as_ref().map(|facts| ms(takeover(facts, ttl))),
        store: subject.store.as_ref().map(|facts| facts.kind.clone()),
        changes,
        checks,
    }
}

/// A file whose numbers could not be read: what is shown are defaults, by their names, and no pause is held against them.
fn not_judged(subject: &Subject, unread: &Check) -> Judged {
    let budget = subject.budget(subject.ttl.span, Duration::ZERO);
    Judged {
        file: subject.file.clone(),
        kind: subject.kind,
        name: subject.name.clone(),
        verdict: unread.answer,
        terms: terms(subject, &budget),
        margin_ms: ms(budget.ttl) - ms(budget.reserved()),
        plain_margin_ms: ms(budget.ttl) - ms(budget.heartbeat),
        worst_pause_ms: None,
        worst_pause_from: None,
        renewals_that_may_fail: None,
        takeover_within_ms: None,
        store: None,
        changes: Vec::new(),
        checks: vec![unread.clone()],
    }
}

/// The numbers behind the budget's terms, in their order.
pub(crate) fn keys(subject: &Subject) -> [Option<&Number>; 4] {
    [
        Some(&subject.heartbeat),
        Some(&subject.renew_timeout),
        Some(&subject.max_clock_drift),
        None,
    ]
}

fn terms(subject: &Subject, budget: &Budget) -> Vec<TermView> {
    let ttl = TermView {
        name: "ttl",
        key: subject.ttl.key.clone(),
        ms: ms(budget.ttl),
        line: subject.ttl.line,
        from: match budget.ttl == subject.ttl.span {
            true => origin(&subject.ttl),
            false => format!("as granted; asked for: {:?}", subject.ttl.span),
        },
        why: "how long a grant lives without a renewal".to_owned(),
    };
    let rest = keys(subject)
        .into_iter()
        .zip(budget.terms())
        .map(|(number, term)| TermView {
            name: term.name,
            key: number.map_or(term.name, |it| &it.key).to_owned(),
            ms: ms(term.span),
            line: number.and_then(|it| it.line),
            from: number.map_or_else(
                || match &subject.store {
                    Some(facts) => format!("known of {}", facts.kind),
                    None => "no store is named".to_owned(),
                },
                origin,
            ),
            why: match (term.name, subject.renewed) {
                ("heartbeat", false) => "nobody renews it: the lock must outlive the whole run".to_owned(),
                _ => term.why.to_owned(),
            },
        });
    std::iter::once(ttl).chain(rest).collect()
}

fn origin(number: &Number) -> String {
    match &number.origin {
        Origin::Written => "file".to_owned(),
        Origin::CommandLine => "command line".to_owned(),
        Origin::Default(whose) => format!("default: {whose}"),
        Origin::Derived(how) => how.clone(),
    }
}

/// From the last renewal to the next holder, at worst.
fn takeover(facts: &StoreFacts, ttl: Duration) -> Duration {
    ttl.saturating_mul(1 + facts.late_ttls) + facts.late_bound
}
