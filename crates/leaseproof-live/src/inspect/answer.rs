//! The verdict, and the rules that have something to say.

use super::sample::Sample;
use super::side::Evidence;
use super::steps::Steps;
use leaseproof_model::event::EventId;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::inspect::lease_view::{Change, LeaseView};
use leaseproof_model::inspect::owner_view::OwnerState;
use leaseproof_model::inspect::store_view::Form;
use leaseproof_model::inspect::{FirstLook, Shown, Side, ms};
use leaseproof_model::rule::{LP003, LP007, LP012, LP017, LP018, LP019, LP022, Rule};
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::Verdict;
use leaseproof_report::counted::counted;

/// The findings of a span.
#[must_use]
pub fn findings(seen: &Evidence<'_>, samples: &[Sample], steps: &Steps) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut tell = |rule: &Rule, subject, certainty, says: String, evidence: Vec<EventId>| {
        found.push(Finding::new(rule, subject, certainty, 0, says, evidence));
    };
    let Some(lease) = seen.lease else { return found };
    let ends = ends(samples);
    for (before, after, says) in backward_tokens(samples, steps) {
        tell(&LP003, Subject::Store, Truth::Yes, says, vec![before, after]);
    }
    let last = samples.iter().rfind(|sample| sample.reading().is_some());
    if lease.at_last.held && last.is_some_and(without_expiry) {
        let says = "the key has no expiry: either it is no lease at all, or its client sets the expiry in a second step \
                    that never came";
        tell(&LP012, Subject::Owner, Truth::CannotTell, says.to_owned(), ends.clone());
    }
    for it in &lease.happened {
        match it.what {
            Change::EpochChanged => tell(&LP017, Subject::Store, Truth::Yes, it.says.clone(), ends.clone()),
            Change::ClockStepped => tell(&LP018, Subject::Store, Truth::Yes, it.says.clone(), ends.clone()),
            _ => {}
        }
    }
    let (Some(plan), Some(budget)) = (seen.plan, seen.budget) else {
        return found;
    };
    for check in plan.checks.iter().filter(|check| check.holds == Truth::No) {
        let rule = match check.name.as_str() {
            "ttl" => &LP022,
            "budget" => &LP019,
            // The pause is what is left of the gap when the heartbeat is taken off.
            "worst-gap"
                if check
                    .seen
                    .is_some_and(|it| it.at_least_ms - ms(budget.heartbeat) > ms(budget.margin())) =>
            {
                &LP007
            }
            _ => continue,
        };
        tell(
            rule,
            Subject::Configuration,
            Truth::Yes,
            check.says.clone(),
            ends.clone(),
        );
    }
    found
}

/// The first and the last reading.
fn ends(samples: &[Sample]) -> Vec<EventId> {
    let mut good = samples.iter().filter(|sample| sample.reading().is_some());
    let first = good.next().map(|sample| sample.id);
    let last = good.next_back().map(|sample| sample.id);
    first.into_iter().chain(last).collect()
}

fn without_expiry(sample: &Sample) -> bool {
    sample
        .held()
        .is_some_and(|held| held.expires.is_none() && held.bound.is_none())
}

/// Grants whose token is not greater than the one before.
fn backward_tokens(samples: &[Sample], steps: &Steps) -> Vec<(EventId, EventId, String)> {
    let mut found = Vec::new();
    let mut last = samples.iter().find(|sample| sample.held().is_some());
    for &at in &steps.new_grants {
        let now = &samples[at];
        let token = |sample: &Sample| sample.held().and_then(|held| held.token);
        if let Some(before) = last.filter(|before| before.id != now.id)
            && let (Some(old), Some(new)) = (token(before), token(now))
            && new <= old
        {
            found.push((
                before.id,
                now.id,
                format!("the grant after token {old} has token {new}, which is not greater"),
            ));
        }
        last = Some(now);
    }
    found
}

/// The verdict and its sentence.
#[must_use]
pub fn answer(seen: &Evidence<'_>, findings: &[Finding], first: &FirstLook) -> (Verdict, String) {
    if let Some(why) = seen.unreachable {
        return (Verdict::CannotTell, format!("the store can't be looked at: {why}"));
    }
    let broken = seen.plan.and_then(|plan| {
        let mut checks = plan.checks.iter();
        checks.find(|check| check.weighs && check.holds == Truth::No)
    });
    if let Some(check) = broken {
        return (Verdict::Violated, check.says.clone());
    }
    if let Some(finding) = findings.iter().find(|it| it.rule == LP003.code) {
        return (Verdict::Violated, finding.says.clone());
    }
    let endless = findings.iter().any(|it| it.rule == LP012.code);
    match open(seen, first, endless) {
        Some(why) => (Verdict::CannotTell, why),
        None => (
            Verdict::Proven,
            "nothing wrong was seen: one holder, renewed throughout, by a store that answered".to_owned(),
        ),
    }
}

/// What keeps "nothing wrong" from being said.
fn open(seen: &Evidence<'_>, first: &FirstLook, endless: bool) -> Option<String> {
    if let Some(Form::Foreign(what)) = seen.store.map(|store| &store.key.form) {
        return Some(format!("this is no plain lease: the key holds {what}"));
    }
    let Some(lease) = seen.lease else {
        return Some("there was no reading".to_owned());
    };
    let elsewhere = seen.store.and_then(|store| store.key.elsewhere.as_ref());
    if let Some(elsewhere) = elsewhere.filter(|_| !lease.at_last.held && lease.happened.is_empty()) {
        return Some(format!("nothing lies under the key itself, but {elsewhere}"));
    }
    if let Some(why) = not_held(lease, endless) {
        return Some(why);
    }
    if let Some(it) = lease.happened.first() {
        return Some(format!("within the span: {}", it.says));
    }
    if lease.watched.failed > 0 {
        return Some(format!("{} failed", counted(lease.watched.failed, "reading")));
    }
    if let Some(owner) = seen.owner.filter(|owner| owner.state != OwnerState::Running) {
        return Some(owner.says.clone());
    }
    if !matches!(first.side, Side::Neither) {
        // Without a side what is told is told beside.
        let why = first.why.first().filter(|_| first.side != Side::CannotTell);
        return Some(match (why, &lease.renewals) {
            (Some(why), _) => why.clone(),
            (None, Shown::NotByThisStore) => "it is held; renewals are not shown by this store".to_owned(),
            (None, Shown::Withheld(why)) => format!("it is held; renewals are not shown: {why}"),
            (None, Shown::Is(_)) => "it is held, and no renewal was seen in the span".to_owned(),
        });
    }
    if lease.watched.cut {
        return Some("it was interrupted before the span was over".to_owned());
    }
    let unknown = seen
        .plan
        .and_then(|plan| plan.checks.iter().find(|it| it.weighs && it.holds == Truth::CannotTell));
    unknown.map(|check| check.says.clone())
}

/// `endless`: the store says that there is no TTL. That none may be read is another thing.
fn not_held(lease: &LeaseView, endless: bool) -> Option<String> {
    let last = &lease.at_last;
    if !last.held {
        // What ended it, whatever the store did afterwards.
        let ended = lease.happened.iter().rev().find(|it| it.what.is_end());
        return Some(match ended.or_else(|| lease.happened.last()) {
            Some(it) => format!(
                "nobody holds it: {}",
                it.says.strip_prefix("free: ").unwrap_or(&it.says)
            ),
            None => format!(
                "nobody holds it ({}): whether anybody should is not in the store",
                last.ttl_words
            ),
        });
    }
    let holder = last.holder.as_deref().unwrap_or("somebody");
    if endless {
        return Some(format!("{holder} holds it without a TTL ({})", last.ttl_words));
    }
    match &lease.granted_ttl {
        Shown::Withheld(why) if last.left.is_none() => Some(format!("{holder} holds it; its TTL is not shown: {why}")),
        _ => None,
    }
}
