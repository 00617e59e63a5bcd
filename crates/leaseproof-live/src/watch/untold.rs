//! Why nothing can be said at the end of a run without findings: all that was not known. Pure.

use super::belief::{Belief, Claim};
use super::board::{Board, Entry};
use super::notices::shown;
use leaseproof_model::clock::BootNanos;
use leaseproof_report::counted::counted;

/// So many leases are named for one reason; the metrics have them all.
const NAMED: usize = 3;

/// The reasons, each a line; none: what was looked at suffices.
#[must_use]
pub fn untold(board: &Board, now: BootNanos) -> Vec<String> {
    let own = &board.own;
    let mut reasons = Vec::new();
    if own.last_round.is_none() {
        reasons.push("no round of readings was answered".to_owned());
    }
    // A lapse between two readings that are three intervals apart is another monitor's than the one that was asked for.
    if own.missed > own.rounds {
        reasons.push(format!(
            "{} where {} were due: each took longer than the interval, so raise it, or watch fewer leases",
            counted(own.rounds, "round"),
            own.rounds + own.missed
        ));
    }
    let store = &board.store;
    let unanswered = store.failures.saturating_sub(store.refusals);
    if unanswered > 0 {
        reasons.push(format!("the store did not answer {}", counted(unanswered, "round")));
    }
    if store.refusals > 0 {
        reasons.push(format!(
            "the store refused {}: this user may not look",
            counted(store.refusals, "round")
        ));
    }
    if store.time.steps > 0 {
        reasons.push("the store's clock stepped: what it ended or renewed by that is not judged".to_owned());
    }
    if board.store.was_behind {
        reasons.push("a replica answered, which may be behind: give the URL of its primary".to_owned());
    }
    if !own.blind.is_zero() {
        reasons.push(format!("this monitor did not run for {:.1} s", own.blind.as_secs_f64()));
    }
    let mut of = |what: &str, is: &dyn Fn(&Entry) -> bool| {
        let mut names = board.iter().filter(|(_, it)| is(it)).map(|(_, it)| name(it));
        let first: Vec<String> = names.by_ref().take(NAMED).collect();
        let more = match names.count() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        if !first.is_empty() {
            reasons.push(format!("{what}: {}{more}", first.join(", ")));
        }
    };
    of(
        "its TTL ran out without a renewal, and nothing proves that its owner stopped in time",
        &|it| it.lease.lapses > 0,
    );
    of(
        "its holder held it no more, and this store does not show whether it was given back or ran out",
        &|it| it.lease.ends_untold > it.lease.ends_unseen,
    );
    of(
        "its holder held it no more at the first reading after a while, by when its TTL may have been over: whether it was \
         given back or ran out no reading shows",
        &|it| it.lease.ends_unseen > 0,
    );
    let margin = board.terms.budget.margin().as_secs_f64();
    of(
        &format!("the plan's margin of {margin:.3} s was used up without a renewal"),
        &|it| it.lease.margins_gone > 0,
    );
    of(
        "with the TTL in force, which is not the plan's, the margin is not above the worst pause",
        &|it| it.lease.thin > 0,
    );
    of("it is held and never ends by itself", &|it| {
        it.lease.grant.as_ref().is_some_and(|grant| !grant.has_ttl)
    });
    // Below a prefix a free key is a lease that was let go; a key that the plan names is to be held.
    let all_free = board.iter().all(|(_, it)| it.lease.was_never_held());
    of("no reading shows it held", &|it| {
        (it.named || all_free) && it.lease.was_never_held() && it.lease.unreadable.is_none()
    });
    of("the key holds no lease", &|it| {
        it.lease.unreadable.is_some() && !it.lease.closed
    });
    of("this user may not read it", &|it| it.lease.closed);
    of("its owner never said what it believes", &|it| {
        it.belief.as_ref().is_some_and(|belief| belief.last.is_none())
    });
    of("what its owner believes is not known now", &|it| {
        let belief = it.belief.as_ref().filter(|belief| belief.last.is_some());
        // Silence after a release is no belief.
        let over = |belief: &Belief| belief.has_given_up() && it.lease.grant.is_none();
        belief.is_some_and(|belief| belief.known(now, &it.lease, &board.terms).is_none() && !over(belief))
    });
    of(
        "its owner believes to hold it, the store shows nobody, and since when can't be told",
        &|it| {
            let report = it
                .belief
                .as_ref()
                .and_then(|belief| belief.known(now, &it.lease, &board.terms));
            report.is_some_and(|report| report.claim == Claim::Holds)
                && it.lease.grant.is_none()
                && it.lease.looked.is_some()
                && it.lease.unreadable.is_none()
        },
    );
    if board.is_empty() {
        reasons.push("there was no lease to look at".to_owned());
    }
    reasons
}

/// The label, where it has one, as in the metrics.
fn name(entry: &Entry) -> String {
    match &entry.label {
        Some(label) => shown(label),
        None => shown(&entry.key.shown()),
    }
}
