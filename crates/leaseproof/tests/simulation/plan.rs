//! What a seed makes of a schedule: which faults, how often, and the budget under them.
//!
//! Each schedule has some of the faults only: all at once hide one another.

use super::clock::Clock;
use super::mutant::Mutant;
use super::random::Random;
use leaseproof::Policy;
use leaseproof::protocol::Terms;
use leaseproof_model::budget::Budget;
use std::time::Duration;

pub const MS: u64 = 1_000_000;

/// A schedule's numbers. Chances are per mille; spans are nanoseconds of true time.
pub struct Plan {
    /// Nothing happens that the budget does not bear: then no lease may be lost.
    pub calm: bool,
    pub budget: Budget,
    pub terms: Terms,
    pub owners: Vec<Clock>,
    pub store: Clock,
    pub ends: u64,
    /// The longest that a message takes, usually.
    pub delay: u64,
    pub slow: u64,
    pub lose: u64,
    pub twice: u64,
    pub reset: u64,
    pub nobody: u64,
    pub stall: u64,
    pub pause: u64,
    /// From one pause of a process to the next; 0: none.
    pub pauses: u64,
    pub crashes: u64,
    pub store_pauses: u64,
    /// Somebody whose token is greater writes to the resource, past the store.
    pub intrusions: u64,
    pub release: u64,
    pub stuck: u64,
    pub impatient: u64,
    pub work_limit: Option<Duration>,
    /// A grant that has lapsed is still its holder's until somebody else asks.
    pub lazy: bool,
}

pub fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl Plan {
    pub fn new(random: &mut Random, mutant: Mutant) -> Self {
        let budget = budget(random, mutant);
        let calm = mutant.is_for_calm() || random.chance(100);
        let policy = if random.chance(500) {
            Policy::Strict
        } else {
            Policy::Patient
        };
        let mut terms = Terms::of(&budget, policy, Duration::from_millis(10));
        if mutant == Mutant::NoReserve {
            terms.reserve = Duration::ZERO;
        }
        if mutant == Mutant::LateHeartbeat {
            terms.heartbeat = terms.ttl - terms.renew_timeout / 2;
        }
        let ttl = nanos(budget.ttl);
        // Two clocks that are fast and slow by half of it each stay within the budget.
        let most = (nanos(budget.max_clock_drift) * 495_000 / ttl).cast_signed();
        let drifts = random.chance(700);
        let clocks: Vec<Clock> = (0..=random.between(2, 4))
            .map(|_| Clock {
                offset: random.below(1000) * 1000 * MS + 1000 * MS,
                fast: match random.below(if drifts { 3 } else { 1 }) {
                    0 => 0,
                    1 => most,
                    _ => -most,
                },
            })
            .collect();
        let (store, owners) = clocks.split_first().expect("three clocks at least");
        let mut fault = |often: u64| if !calm && random.chance(400) { often } else { 0 };
        let (slow, lose, twice, reset, nobody) = (fault(60), fault(80), fault(80), fault(40), fault(60));
        let (stall, crashes, store_pauses) = (fault(50), fault(4 * ttl), fault(4 * ttl));
        let (release, stuck, impatient) = (fault(40), fault(15), fault(250));
        let (pauses, intrusions, limit) = (fault(3 * ttl / 2), fault(2 * ttl), fault(1));
        let worst = nanos(budget.worst_pause);
        Self {
            calm,
            terms,
            owners: owners.to_vec(),
            store: *store,
            ends: ttl * random.between(4, 6),
            // There and back within the time-out, with what the threads need themselves.
            delay: nanos(budget.renew_timeout) * 2 / 5,
            slow,
            lose,
            twice,
            reset,
            nobody,
            stall,
            pause: match (calm, mutant) {
                (true, Mutant::LongPause) => ttl,
                (true, _) => worst,
                (false, _) => 2 * ttl,
            },
            pauses: if calm { 2 * ttl } else { pauses },
            crashes,
            store_pauses,
            intrusions,
            release,
            stuck,
            impatient,
            work_limit: (limit > 0).then_some(budget.ttl),
            lazy: random.chance(300),
            budget,
        }
    }
}

fn budget(random: &mut Random, mutant: Mutant) -> Budget {
    let ms = Duration::from_millis;
    let (ttl, heartbeat, timeout, drift) = match random.below(3) {
        0 => (3000, 1000, 200, 50),
        1 => (1000, 250, 100, 20),
        _ => (10_000, 3000, 600, 300),
    };
    let slack = if random.chance(300) { drift } else { 0 };
    let mut budget = Budget {
        ttl: ms(ttl),
        heartbeat: ms(heartbeat),
        worst_pause: Duration::ZERO,
        max_clock_drift: ms(drift),
        renew_timeout: ms(timeout),
        early_slack: ms(slack),
    };
    budget.worst_pause = budget.margin() - ms(1);
    assert!(
        budget.holds() || mutant != Mutant::None,
        "a budget that holds: {budget:?}"
    );
    budget
}
