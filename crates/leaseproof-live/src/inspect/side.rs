//! Which side to look at first, owner or store, and why; or what is missing to say so.

use super::against::{longest_allowed, shortened};
use super::holder::renewed;
use super::missing::missing;
use super::overdue::overdue;
use crate::in_force::{TOLERANCE, of};
use leaseproof_model::budget::Budget;
use leaseproof_model::inspect::lease_view::{Change, Gap, LeaseView};
use leaseproof_model::inspect::owner_view::{OwnerState, OwnerView};
use leaseproof_model::inspect::plan_view::PlanView;
use leaseproof_model::inspect::store_view::StoreView;
use leaseproof_model::inspect::{FirstLook, Range, Shown, Side, ms};
use leaseproof_model::truth::Truth;
use leaseproof_report::counted::counted;
use std::collections::BTreeSet;

/// All that was seen.
#[derive(Copy, Clone, Debug, Default)]
pub struct Evidence<'a> {
    /// Why the store could not be looked at, if it could not.
    pub unreachable: Option<&'a str>,
    /// What the store shows.
    pub store: Option<&'a StoreView>,
    /// What the readings show.
    pub lease: Option<&'a LeaseView>,
    /// The comparison with the plan.
    pub plan: Option<&'a PlanView>,
    /// The plan's numbers.
    pub budget: Option<&'a Budget>,
    /// The owner's process; of several the one that holds, as far as that is known.
    pub owner: Option<&'a OwnerView>,
    /// The other processes that were named.
    pub others: &'a [OwnerView],
    /// The near ends of the named processes' connections when the store was asked for its list of them.
    pub addresses: &'a [String],
    /// From when to when the slowest answer was waited for, in ms from the first reading.
    pub slowest: Option<(f64, f64)>,
}

/// A round trip longer than this, and ten times the usual one, is told.
const SLOW_MS: f64 = 100.0;

/// A transaction that is open for so long is told.
const LONG_OPEN_S: u64 = 2;

/// What has come and lies unread for so long is told.
const UNREAD_MS: u64 = 200;

/// More of the span than this spent waiting for a CPU is told.
const STARVED: f64 = 0.25;

/// The side, the reasons, what is missing.
#[must_use]
pub fn first_look(seen: &Evidence<'_>) -> FirstLook {
    let mut reasons: Vec<(Side, String)> = Vec::new();
    if seen.unreachable.is_some() {
        // Why stands in the answer itself.
        reasons.push((Side::Store, "nothing can be read".to_owned()));
    }
    reasons.extend(seen.owner.into_iter().flat_map(by_process));
    // Where nobody knows which of them holds, each may.
    let known = seen.owner.and_then(|owner| owner.holds.as_ref());
    if known.is_none_or(|holds| holds.it_does != Truth::Yes) {
        reasons.extend(seen.others.iter().filter(|it| !is_stranger(it)).flat_map(by_process));
    }
    reasons.extend(seen.store.and_then(|store| by_row(store, seen)));
    if let Some(owner) = seen.owner {
        reasons.extend(by_sockets(owner, seen.lease));
    }
    // What the store did once the lease was over, or renewals were overdue, explains no end of it: it is told beside.
    let (of_store, afterwards): (Vec<_>, Vec<_>) = by_store(seen).into_iter().partition(|it| it.may_explain);
    reasons.extend(of_store.into_iter().map(|it| (Side::Store, it.says)));
    // A busy host makes every process wait a little: what the store or the network did is said first.
    reasons.extend(seen.owner.and_then(|owner| starved(owner, seen.lease)));
    let renewals = by_renewals(seen);
    // What the store lost explains a gap that is not much longer than itself, where it could cost a renewal at all; it
    // is else told beside.
    let slow = seen.lease.and_then(slow_answer);
    let gap_ms = seen.lease.and_then(worst_gap_ms).unwrap_or(0.0);
    let longest = seen.lease.map_or(0.0, |lease| lease.watched.longest_round_trip_ms);
    let costly = seen
        .lease
        .is_some_and(|lease| costs_a_renewal(longest, seen.budget, lease));
    let in_time = seen.slowest.is_none_or(|(from_ms, _)| {
        seen.lease.is_none_or(|lease| !is_after_the_end(lease, from_ms)) && overdue(seen, from_ms).is_none()
    });
    // By a plan what is left of the gap is a heartbeat and a renewal; without one nobody knows what is usual.
    let explained = match seen.budget {
        Some(budget) => gap_ms - longest <= ms(budget.heartbeat + budget.renew_timeout + TOLERANCE),
        None => longest * 2.0 > gap_ms,
    };
    let (before, after) = match (costly && in_time, explained) {
        (true, true) => (slow, None),
        _ => (None, slow),
    };
    reasons.extend(before.into_iter().chain(renewals));
    let side = reasons.first().map_or_else(|| calm(seen), |(side, _)| *side);
    let calm = (reasons.is_empty() && side == Side::Neither).then(|| calm_words(seen));
    reasons.extend(after);
    reasons.extend(afterwards.into_iter().map(|it| (Side::Store, it.says)));
    reasons.extend(seen.others.iter().filter(|it| is_stranger(it)).flat_map(by_process));
    let mut told = BTreeSet::new();
    let all = calm.into_iter().chain(reasons.into_iter().map(|(_, why)| why));
    let why = all.filter(|why| told.insert(why.clone())).collect();
    FirstLook {
        side,
        why,
        missing: missing(seen),
    }
}

fn by_process(owner: &OwnerView) -> Option<(Side, String)> {
    (owner.state != OwnerState::Running).then(|| (Side::Owner, owner.says.clone()))
}

/// Whether something speaks against its being the holder: what it does is told, but does not lead.
fn is_stranger(owner: &OwnerView) -> bool {
    owner.holds.as_ref().is_some_and(|it| it.hardly)
}

/// It could have run and had no CPU for a good part of the span, and for longer than it ran: less than that costs no
/// renewal, however much of it a long look adds up.
fn starved(owner: &OwnerView, lease: Option<&LeaseView>) -> Option<(Side, String)> {
    let span_ms = lease?.watched.span_ms;
    let (Shown::Is(waited), Shown::Is(ran)) = (&owner.waited_for_cpu_ms, &owner.ran_ms) else {
        return None;
    };
    let says = format!("its threads ran for {ran:.0} ms and waited {waited:.0} ms for a CPU: it is starved");
    (*waited > ran * 2.0 && *waited > span_ms * STARVED).then_some((Side::Owner, says))
}

fn by_sockets(owner: &OwnerView, lease: Option<&LeaseView>) -> Vec<(Side, String)> {
    let Shown::Is(sockets) = &owner.sockets else {
        return Vec::new();
    };
    // It may go through a proxy, or connect anew for each renewal: alone this says nothing.
    if sockets.is_empty() && owner.state != OwnerState::Ended && !lease.is_some_and(renewed) {
        let says = "its process has no connection to the store's port, and no renewal was seen (through a proxy it would \
                    have one to the proxy's)";
        return vec![(Side::Owner, says.to_owned())];
    }
    let (mut reasons, mut unread) = (Vec::new(), Vec::new());
    for socket in sockets {
        let ends = format!("its connection {} to {}", socket.local, socket.remote);
        if socket.state != "established" {
            reasons.push((Side::Network, format!("{ends} is in state {}", socket.state)));
        } else if socket.retransmits > 0 {
            let says = format!(
                "{ends} has {} under way, sent again {}: what is sent does not arrive",
                counted(socket.unacknowledged_bytes, "byte"),
                counted(socket.retransmits, "time")
            );
            reasons.push((Side::Network, says));
        }
        // An answer that has just come is read in a moment.
        let lies = socket.last_received_ms.get().is_none_or(|ago| *ago >= UNREAD_MS);
        if socket.unread_bytes > 0 && lies {
            let says = format!(
                "{ends} holds {} that it has not read",
                counted(socket.unread_bytes, "byte")
            );
            unread.push((Side::Owner, says));
        }
    }
    // What does not arrive may be why the rest lies unread.
    reasons.append(&mut unread);
    reasons
}

/// A transaction that keeps the row to itself: until it ends nobody can do anything with the lease.
fn by_row(store: &StoreView, seen: &Evidence<'_>) -> Option<(Side, String)> {
    let row = store.row_held_by.as_ref()?;
    let open = row.open_s.unwrap_or(0);
    // A renewal under way holds it as well, for as long as a statement takes.
    if !row.is_idle() && open < LONG_OPEN_S {
        return None;
    }
    let state = match (row.state.is_empty(), row.idle_s) {
        (true, _) => "in a state that is hidden from this user".to_owned(),
        (false, Some(idle)) => format!("{} for {idle} s", row.state),
        (false, None) => row.state.clone(),
    };
    let owners = seen.owner.into_iter().chain(seen.others);
    let process = owners.into_iter().find(|owner| {
        let sockets = owner.sockets.get().map(Vec::as_slice).unwrap_or_default();
        sockets.iter().any(|socket| socket.local == row.address)
    });
    let (side, whose) = match process {
        Some(owner) => (Side::Owner, format!(", which is process {}'s,", owner.process.pid)),
        None => (Side::Store, String::new()),
    };
    let says = format!(
        "session {} of user {} from {}{whose} is {state}: its transaction, open for {open} s, holds the lease's row, and \
         until that ends nobody else can renew, release or take the lease",
        row.pid, row.user, row.address
    );
    Some((side, says))
}

/// Something that the store did.
struct OfStore {
    says: String,
    /// Whether the lease was held when it began, or nobody knows, and no renewals were overdue by then.
    may_explain: bool,
}

fn by_store(seen: &Evidence<'_>) -> Vec<OfStore> {
    let mut reasons = Vec::new();
    if let Some(lease) = seen.lease {
        for it in &lease.happened {
            if matches!(it.what, Change::Silent | Change::EpochChanged | Change::ClockStepped) {
                let late = it.what == Change::Silent && overdue(seen, it.between_ms.0).is_some();
                reasons.push(OfStore {
                    says: it.says.clone(),
                    may_explain: !late && !is_after_the_end(lease, it.between_ms.0),
                });
            }
        }
    }
    if seen.store.is_some_and(|store| store.may_be_behind) {
        let says = "a replica answers: what it shows may be behind the truth, so look at the primary";
        reasons.push(OfStore {
            says: says.to_owned(),
            may_explain: true,
        });
    }
    reasons
}

/// Whether nobody held the lease any more at this moment.
fn is_after_the_end(lease: &LeaseView, when_ms: f64) -> bool {
    let last = lease
        .happened
        .iter()
        .rev()
        .find(|other| other.between_ms.1 <= when_ms && (other.what.is_end() || other.what.is_begin()));
    last.is_some_and(|other| other.what.is_end())
}

/// Whether so long without an answer can have cost the lease a renewal: it is a third of the TTL, or the plan's margin
/// where that is shorter. Where nobody knows either that can't be said.
#[must_use]
pub fn costs_a_renewal(lost_ms: f64, budget: Option<&Budget>, lease: &LeaseView) -> bool {
    let of_plan = budget.map(|budget| ms(budget.margin().min(budget.ttl / 3)));
    let third = lease.granted_ttl.get().map(|ttl| ttl.at_least_ms / 3.0);
    let bar = of_plan.into_iter().chain(third).reduce(f64::min);
    bar.is_some_and(|bar| lost_ms >= bar)
}

fn worst_gap_ms(lease: &LeaseView) -> Option<f64> {
    Some(lease.renewals.get()?.worst_gap.as_ref()?.length.at_least_ms)
}

fn slow_answer(lease: &LeaseView) -> Option<(Side, String)> {
    let watched = &lease.watched;
    // A machine that wakes us late also reads an answer late.
    let slow = SLOW_MS.max(10.0 * watched.round_trip_ms).max(3.0 * watched.own_lag_ms);
    (watched.longest_round_trip_ms > slow).then(|| {
        let says = format!(
            "one answer took {:.0} ms, where {:.1} ms are usual: the store or the way to it was slow",
            watched.longest_round_trip_ms, watched.round_trip_ms
        );
        (Side::Store, says)
    })
}

fn by_renewals(seen: &Evidence<'_>) -> Vec<(Side, String)> {
    let Some(lease) = seen.lease else { return Vec::new() };
    let silences = lease
        .happened
        .iter()
        .filter(|it| it.what == Change::Silent && !is_after_the_end(lease, it.between_ms.0));
    let silent = silences.map(|it| it.between_ms.1 - it.between_ms.0).reduce(f64::max);
    let answered = format!(
        "while the store answered {} of {}, the slowest in {:.1} ms{}",
        lease.watched.readings,
        counted(lease.watched.readings + lease.watched.failed, "reading"),
        lease.watched.longest_round_trip_ms,
        silent.map_or_else(String::new, |ms| format!(", and nothing for {ms:.0} ms"))
    );
    let mut reasons = Vec::new();
    let mut begins = lease.happened.iter().filter(|it| it.what == Change::Silent);
    let late =
        begins.find_map(|it| overdue(seen, it.between_ms.0).filter(|_| !is_after_the_end(lease, it.between_ms.0)));
    if let Some(age) = late {
        reasons.push((
            Side::Owner,
            format!(
                "two renewals or more were overdue when the store fell silent: it had not been renewed for {age:.0} ms"
            ),
        ));
    }
    for it in &lease.happened {
        if it.what == Change::Expired {
            reasons.push((Side::Owner, format!("its TTL ran out without a renewal, {answered}")));
        }
        if matches!(it.what, Change::Shortened | Change::ExpiryRemoved) {
            reasons.push((Side::Owner, format!("{}: a client did that, no store does", it.says)));
        }
        if it.what == Change::EndedEarly && may_evict(seen) {
            let says = format!("it ended early, and the store evicts keys: {}", it.says);
            reasons.push((Side::Store, says));
        }
    }
    let differs = |name: &str| {
        let checks = seen.plan.map(|plan| &plan.checks[..]).unwrap_or_default();
        checks.iter().find(|it| it.name == name && it.holds == Truth::No)
    };
    if let Some(check) = differs("budget") {
        reasons.push((
            Side::Owner,
            format!("it sets another TTL than the plan's: {}", check.says),
        ));
    }
    let Some(renewals) = lease.renewals.get() else {
        return reasons;
    };
    let Some(gap) = &renewals.worst_gap else { return reasons };
    // A renewal that shortens the TTL does not show, so that a gap need not be one: what was shortened is told.
    if let Some(beyond) = too_long(gap, seen.budget, lease.granted_ttl.get()).filter(|_| !shortened(lease)) {
        let whose = match gap.length.at_most_ms {
            Some(_) => String::new(),
            None => whose(lease, gap),
        };
        let says = format!("{} without a renewal{whose}, {beyond}, {answered}", of(gap.length));
        reasons.push((Side::Owner, says));
    } else if differs("cadence").is_some() {
        reasons.push((
            Side::Owner,
            format!("it is renewed more rarely than the plan says, {answered}"),
        ));
    }
    reasons
}

/// Whose a gap is that no renewal ended, in words: where the lease changed hands within the span, the gaps of two are on
/// record.
fn whose(lease: &LeaseView, gap: &Gap) -> String {
    let begun = lease.happened.iter().rfind(|it| it.what.is_begin());
    match (&lease.at_last.holder, begun) {
        (_, None) => " by the last reading".to_owned(),
        (Some(holder), Some(begun)) if gap.from_ms >= begun.between_ms.0 => {
            format!(" of {holder} by the last reading")
        }
        (_, Some(_)) => " of the holder before, up to the end of its lease".to_owned(),
    }
}

/// What a gap is longer than, in words; none where it is not, or can't be told.
fn too_long(gap: &Gap, budget: Option<&Budget>, ttl: Option<&Range>) -> Option<String> {
    let longer = |bound: f64| gap.length.at_least_ms > bound;
    if let Some(budget) = budget {
        let bound = ms(longest_allowed(budget));
        return longer(bound).then(|| format!("where the budget allows {bound:.0} ms"));
    }
    let ttl = ttl?;
    match (ttl.at_most_ms, gap.left_at_end.and_then(|left| left.at_most_ms)) {
        (Some(most), _) => {
            let bound = most * 2.0 / 3.0;
            longer(bound).then(|| format!("where two thirds of its TTL are {bound:.0} ms"))
        }
        // The longer the TTL is, the more of it has passed when so much is left.
        (None, Some(left)) => (left * 3.0 < ttl.at_least_ms).then(|| {
            format!(
                "with {left:.0} ms left at the most of a TTL of at least {:.0} ms",
                ttl.at_least_ms
            )
        }),
        (None, None) => None,
    }
}

fn may_evict(seen: &Evidence<'_>) -> bool {
    let attributes = seen.store.map(|store| &store.attributes[..]).unwrap_or_default();
    attributes
        .iter()
        .any(|it| it.name == "eviction" && it.concern.as_ref().is_some_and(|why| why.contains("drop")))
}

/// Without a reason on any side: is that because all is well?
fn calm(seen: &Evidence<'_>) -> Side {
    let Some(lease) = seen.lease else {
        return Side::CannotTell;
    };
    let renewed = lease.renewals.get().is_some_and(|it| !it.seen.is_empty());
    let quiet = lease.happened.is_empty();
    if lease.at_last.held && lease.at_last.left.is_some() && renewed && quiet {
        Side::Neither
    } else {
        Side::CannotTell
    }
}

fn calm_words(seen: &Evidence<'_>) -> String {
    let renewals = seen.lease.and_then(|lease| lease.renewals.get());
    let count = counted(renewals.map_or(0, |it| it.seen.len()) as u64, "renewal");
    let gap = renewals.and_then(|it| it.worst_gap.as_ref());
    match gap {
        Some(gap) => format!("{count} by the same holder, the worst gap {}", of(gap.length)),
        None => format!("{count} by the same holder"),
    }
}
