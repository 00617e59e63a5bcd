//! Every series that is exported: name, type, meaning, and where its number comes from. METRICS.md and
//! the page are made of the same table.

use super::belief::Claim;
use super::board::{Board, Entry};
use crate::in_force::is_planned;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::truth::Truth;
use leaseproof_report::exposition::Kind::{self, Counter, Gauge};

/// How many leases become one number where they have no labels of their own.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Fold {
    /// The greatest is the worst.
    Max,
    /// The least is the worst.
    Min,
    /// They add up.
    Sum,
    /// There is no one number for many.
    Nothing,
}

/// A series of each lease.
pub struct LeaseSeries {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// What it means.
    pub help: &'static str,
    /// What `other` shows.
    pub fold: Fold,
    /// Its number; `None` where nothing is known, and then there is no sample.
    pub of: fn(&Entry, &Board, BootNanos) -> Option<f64>,
}

/// A series of the store or of the monitor.
pub struct WholeSeries {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// What it means.
    pub help: &'static str,
    /// Its number.
    pub of: fn(&Board, BootNanos) -> Option<f64>,
}

/// Whether a reading tells what is so now: the store answers, and the key can be read.
fn is_fresh(entry: &Entry, board: &Board, now: BootNanos) -> bool {
    let looked = entry.lease.looked;
    entry.lease.unreadable.is_none() && looked.is_some_and(|looked| now.since(looked.latest) <= board.terms.gap())
}

macro_rules! of_leases {
    ($($name:literal $kind:ident $fold:ident $help:literal = $of:expr;)+) => {
        /// The series of each lease, labelled `lease`.
        pub const OF_LEASES: &[LeaseSeries] = &[$(LeaseSeries {
            name: concat!("leaseproof_watch_", $name),
            kind: $kind,
            help: $help,
            fold: Fold::$fold,
            of: $of,
        }),+];
    };
}

macro_rules! of_whole {
    ($($name:literal $kind:ident $help:literal = $of:expr;)+) => {
        /// The series without a label.
        pub const OF_WHOLE: &[WholeSeries] = &[$(WholeSeries {
            name: concat!("leaseproof_watch_", $name),
            kind: $kind,
            help: $help,
            of: $of,
        }),+];
    };
}

of_leases! {
    "divergence_seconds" Gauge Max "How long, at least, after its grant had ended the owner last reported that it holds the lease; 0 while both agree; no sample while its belief is unknown." =
        |entry, board, now| Some(entry.belief.as_ref()?.divergence(now, &entry.lease, &board.terms)?.as_secs_f64());
    "divergence_worst_seconds" Gauge Max "The worst divergence of the plan's worst_window, so that no scrape misses one." =
        |entry, board, now| entry.belief.as_ref().map(|it| it.worst.at(now, board.terms.window).unwrap_or(0.0));
    "divergences_total" Counter Sum "Divergences that began." =
        |entry, _, _| Some(f64::from(entry.belief.as_ref()?.divergences));
    "belief_known" Gauge Min "Whether the owner's belief is known: 0 while it can't be read or says nothing (a paused owner)." =
        |entry, board, now| Some(truth(entry.belief.as_ref()?.known(now, &entry.lease, &board.terms).is_some()));
    "belief_holds" Gauge Nothing "Whether the owner believes to hold the lease; no sample while that is unknown." =
        |entry, board, now| Some(truth(entry.belief.as_ref()?.known(now, &entry.lease, &board.terms)?.claim == Claim::Holds));
    "belief_age_seconds" Gauge Max "How old the owner's last report is." =
        |entry, _, now| Some(entry.belief.as_ref()?.age(now)?.as_secs_f64());
    "belief_failures_total" Counter Sum "How often the owner's belief could not be read." =
        |entry, _, _| Some(f64::from(entry.belief.as_ref()?.failures));
    "held" Gauge Min "Whether the store grants the lease to somebody; no sample while nothing fresh was read." =
        |entry, board, now| is_fresh(entry, board, now).then(|| truth(entry.lease.grant.is_some()));
    "ttl_left_seconds" Gauge Min "What is left of the TTL if no renewal came since the last reading; negative after its end." =
        |entry, _, now| entry.lease.ttl_left(now);
    "ttl_granted_seconds" Gauge Min "The TTL in force, where the store shows it or the readings confirm the plan's." =
        |entry, _, _| Some(entry.lease.grant.as_ref()?.ttl?.as_secs_f64());
    "ttl_differs" Gauge Max "Whether the TTL in force is surely not the plan's (LP022): 0 while what the readings show of it fits; no sample while they show too little." =
        |entry, board, _| {
            let seen = entry.lease.grant.as_ref()?.granted.range()?;
            match is_planned(&board.terms.budget, seen, false) {
                Truth::Yes => Some(0.0),
                Truth::No => Some(1.0),
                Truth::CannotTell => None,
            }
        };
    "without_ttl" Gauge Max "Whether the lease is held and never ends by itself; no sample while nothing fresh was read." =
        |entry, board, now| {
            let grant = entry.lease.grant.as_ref().filter(|_| is_fresh(entry, board, now))?;
            Some(truth(!grant.has_ttl))
        };
    "renewal_age_seconds" Gauge Max "How long, at least, the lease had not been renewed at the last reading." =
        |entry, _, _| Some(entry.lease.renewed_ago()?.as_secs_f64());
    "renewal_gap_worst_seconds" Gauge Max "The longest that the lease was seen without a renewal in the plan's worst_window; no sample where what is known of the renewals hides all of it." =
        |entry, board, now| entry.lease.worst_age.at(now, board.terms.window);
    "margin_used_ratio" Gauge Max "Which share of the budget's margin the present lack of a renewal has used; 1 and more: a pause of the plan's margin is over." =
        |entry, board, _| Some(board.terms.margin_used(entry.lease.renewed_ago()?));
    "margin_used_worst_ratio" Gauge Max "The worst share of the margin that was used in the plan's worst_window." =
        |entry, board, now| {
            let worst = entry.lease.worst_age.at(now, board.terms.window)?;
            Some(board.terms.margin_used(std::time::Duration::try_from_secs_f64(worst).ok()?))
        };
    "renewals_total" Counter Sum "Renewals that are certain; of several between two readings, or within what whole seconds hide, one is counted." =
        |entry, _, _| Some(f64::from(entry.lease.renewals));
    "lapses_total" Counter Sum "Grants that ended since nobody renewed them." =
        |entry, _, _| Some(f64::from(entry.lease.lapses));
    "holder_changes_total" Counter Sum "Grants that began under our eyes, to whomever." =
        |entry, _, _| Some(f64::from(entry.lease.holder_changes));
    "token" Gauge Nothing "The fencing token of the grant in force; no sample while nothing fresh was read." =
        |entry, board, now| {
            let grant = entry.lease.grant.as_ref().filter(|_| is_fresh(entry, board, now))?;
            number(grant.token?.0)
        };
    "fence_back_total" Counter Sum "Grants whose token was not greater than that of an earlier grant." =
        |entry, _, _| Some(f64::from(entry.lease.fence_back));
    "unreadable" Gauge Max "Whether the key holds something that is no lease, or is closed to this user." =
        |entry, _, _| Some(truth(entry.lease.unreadable.is_some()));
    "reading_age_seconds" Gauge Max "How old the last reading of the lease is." =
        |entry, _, now| Some(now.since(entry.lease.looked?.latest).as_secs_f64());
}

of_whole! {
    "store_up" Gauge "Whether the store answered the last round with readings." = |board, _| Some(truth(board.store.up));
    "store_failures_total" Counter "Rounds that the store did not answer, or refused." = |board, _| number(board.store.failures);
    "store_clock_offset_seconds" Gauge "The store's clock less this host's wall clock." =
        |board, _| Some(board.store.time.offset?.0);
    "store_clock_offset_uncertainty_seconds" Gauge "By how much the offset may be wrong, both ways." =
        |board, _| Some(board.store.time.offset?.1);
    "store_clock_steps_total" Counter "How often the store's clock was seen to step." =
        |board, _| Some(f64::from(board.store.time.steps));
    "store_epoch_changes_total" Counter "How often another process or role of the store answered." =
        |board, _| Some(f64::from(board.store.epoch_changes));
    "store_may_be_behind" Gauge "Whether a replica answers, whose readings may be older than they say." =
        |board, _| Some(truth(board.store.may_be_behind));
    "store_shows_expiry" Gauge "Whether the store shows when a lease will expire." =
        |board, _| Some(truth(board.terms.shows_expiry));
    "store_shows_renewals" Gauge "Whether the store shows renewals." =
        |board, _| Some(truth(board.terms.shows_renewals));
    "own_lag_seconds" Gauge "How late the monitor itself woke last, by the boot clock." =
        |board, _| Some(board.own.lag.as_secs_f64());
    "own_lag_worst_seconds" Gauge "The worst lateness of the plan's worst_window." =
        |board, now| board.own.lag_worst.at(now, board.terms.window);
    "blind_seconds_total" Counter "How long the monitor itself did not run: it judges nothing from those spans." =
        |board, _| Some(board.own.blind.as_secs_f64());
    "rounds_total" Counter "Rounds of readings that were begun." = |board, _| number(board.own.rounds);
    "rounds_missed_total" Counter "Rounds that were due and not begun, since the one before was not over." =
        |board, _| number(board.own.missed);
    "round_seconds" Gauge "How long the last round took." = |board, _| Some(board.own.round.as_secs_f64());
    "last_round_timestamp_seconds" Gauge "When the store last answered a round, in seconds since 1970." =
        |board, _| {
            let nanos = u64::try_from(board.own.last_round?.wall.0).ok()?;
            Some(std::time::Duration::from_nanos(nanos).as_secs_f64())
        };
    "leases" Gauge "Leases under watch." = |board, _| number(board.len() as u64);
    "leases_in_other" Gauge "Those of them without a label of their own." =
        |board, _| number(board.iter().filter(|(_, it)| it.label.is_none()).count() as u64);
    "leases_left_out" Gauge "Leases below the plan's prefixes that are not under watch, as far as they were counted." =
        |board, _| number(board.own.left_out);
    "log_dropped_bytes_total" Counter "Bytes of owners' logs that were passed over since they came too fast." =
        |board, _| number(board.own.log_dropped);
    "plan_ttl_seconds" Gauge "The plan's TTL." = |board, _| Some(board.terms.budget.ttl.as_secs_f64());
    "plan_heartbeat_seconds" Gauge "The plan's heartbeat." = |board, _| Some(board.terms.budget.heartbeat.as_secs_f64());
    "plan_margin_seconds" Gauge "The margin of the plan's budget." =
        |board, _| Some(board.terms.budget.margin().as_secs_f64());
    "plan_interval_seconds" Gauge "How often each lease is read." = |board, _| Some(board.terms.interval.as_secs_f64());
}

fn truth(it: bool) -> f64 {
    f64::from(u8::from(it))
}

#[expect(clippy::cast_precision_loss, reason = "the format has nothing but doubles")]
fn number(it: u64) -> Option<f64> {
    Some(it as f64)
}
