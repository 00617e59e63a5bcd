//! What each answer makes of a grant.

use super::{Answer, Change, Loss, Policy, Protocol, Step, Terms};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::name::Token;
use std::time::Duration;

const MS: u64 = 1_000_000;

fn at(ms: u64) -> BootNanos {
    BootNanos(ms * MS)
}

fn terms(policy: Policy) -> Terms {
    Terms {
        ttl: Duration::from_millis(3000),
        heartbeat: Duration::from_millis(1000),
        renew_timeout: Duration::from_millis(200),
        reserve: Duration::from_millis(50),
        policy,
        ahead: Duration::from_millis(10),
    }
}

/// Granted by a request that was sent at 0 and answered at 10 ms.
fn held(policy: Policy) -> Protocol {
    let mut lease = Protocol::new(terms(policy), at(0));
    assert_eq!(lease.next(at(0)), Step::Acquire);
    let until = at(2950);
    assert_eq!(
        lease.granted(at(0), at(10), Token(7)),
        Change::Extend { token: Token(7), until }
    );
    lease
}

#[test]
fn validity_counts_from_the_request() {
    let mut lease = held(Policy::Strict);
    assert_eq!(lease.permit(at(2949)), Some((Token(7), at(2950))));
    assert_eq!(lease.permit(at(2950)), None);
    assert_eq!(lease.next(at(10)), Step::Sleep(at(1000)));
    assert_eq!(lease.next(at(1000)), Step::Renew);
    let _ = lease.renewed(at(1000), at(1190), Answer::Applied);
    assert_eq!(lease.permit(at(3949)), Some((Token(7), at(3950))));
    assert_eq!(lease.next(at(1190)), Step::Sleep(at(2000)));
}

#[test]
fn each_answer() {
    use Answer::{Applied, NotApplied, Refused, Unknown};
    // A renewal sent at 1000 ms: what is to be done once it is answered, and at what time the permit ends.
    let table = [
        (Policy::Strict, Applied, 1100, Step::Sleep(at(2000)), Some(3950)),
        (Policy::Strict, Refused, 1100, Step::Over(Loss::Refused), None),
        (Policy::Strict, Unknown, 1200, Step::Renew, None),
        (Policy::Strict, Unknown, 2950, Step::Over(Loss::Unknown), None),
        (Policy::Strict, NotApplied, 1100, Step::Sleep(at(1350)), Some(2950)),
        (Policy::Patient, Refused, 1100, Step::Over(Loss::Refused), None),
        (Policy::Patient, Unknown, 1200, Step::Sleep(at(1450)), Some(2950)),
        (Policy::Patient, NotApplied, 1100, Step::Sleep(at(1350)), Some(2950)),
        // Paused between request and answer.
        (Policy::Strict, Applied, 3900, Step::Renew, Some(3950)),
        (Policy::Strict, Applied, 3950, Step::Renew, None),
        (Policy::Strict, NotApplied, 2950, Step::Over(Loss::Expired), None),
        (Policy::Patient, Unknown, 2950, Step::Over(Loss::Unknown), None),
    ];
    for (policy, answer, now, next, until) in table {
        let mut lease = held(policy);
        assert_eq!(lease.next(at(1000)), Step::Renew);
        let change = lease.renewed(at(1000), at(now), answer);
        let permit = lease.permit(at(now)).map(|(_, until)| until);
        let case = format!("{policy:?} {answer:?} at {now}");
        match change {
            Change::Extend { until, .. } => assert_eq!((answer, Some(until)), (Applied, permit), "{case}"),
            Change::End => assert!(matches!(next, Step::Over(_)), "{case}"),
            Change::None => assert!(!matches!(next, Step::Over(_)), "{case}"),
            Change::Doubt => assert_eq!((policy, answer, permit), (Policy::Strict, Unknown, None), "{case}"),
        }
        assert_eq!(permit, until.map(at), "{case}");
        assert_eq!(lease.next(at(now)), next, "{case}");
    }
}

/// After a pause the store is asked before the lease is given up; nothing is permitted meanwhile.
#[test]
fn a_pause_over_the_ttl() {
    let mut lease = held(Policy::Strict);
    assert_eq!(lease.permit(at(9000)), None);
    assert_eq!(lease.next(at(9000)), Step::Renew);
    assert_eq!(lease.patience(at(9000)), Duration::from_millis(200));
    let mut again = lease.clone();
    let _ = lease.renewed(at(9000), at(9001), Answer::Refused);
    assert_eq!(lease.next(at(9001)), Step::Over(Loss::Refused));
    let _ = again.renewed(at(9000), at(9001), Answer::Applied);
    assert_eq!(again.permit(at(9001)), Some((Token(7), at(11_950))));
}

/// Nothing is done while nobody knows what became of a renewal; the store's word takes the lease up again.
#[test]
fn doubt_ends_by_the_store_s_word() {
    let mut lease = held(Policy::Strict);
    let _ = lease.renewed(at(1000), at(1200), Answer::Unknown);
    assert!(lease.is_doubted());
    assert_eq!(lease.permit(at(1200)), None);
    let mut again = lease.clone();
    let _ = again.renewed(at(1200), at(1400), Answer::Unknown);
    assert_eq!(again.next(at(1400)), Step::Sleep(at(1650)));
    assert_eq!(again.next(at(2950)), Step::Renew);
    let _ = again.renewed(at(2950), at(3150), Answer::Unknown);
    assert_eq!(again.next(at(3150)), Step::Over(Loss::Unknown));
    let _ = lease.renewed(at(1200), at(1201), Answer::Applied);
    assert_eq!(lease.permit(at(1201)), Some((Token(7), at(4150))));
}

#[test]
fn a_grant_that_came_too_late_is_nobodys() {
    let mut lease = Protocol::new(terms(Policy::Strict), at(0));
    assert_eq!(lease.granted(at(0), at(2950), Token(7)), Change::None);
    assert_eq!(lease.permit(at(2950)), None);
    assert_eq!(lease.next(at(2950)), Step::Acquire);
}

#[test]
fn what_is_over_stays_over() {
    let mut lease = held(Policy::Strict);
    assert_eq!(lease.end(Loss::Released), Step::Over(Loss::Released));
    assert_eq!(lease.renewed(at(1000), at(1001), Answer::Applied), Change::None);
    assert_eq!(lease.granted(at(1000), at(1001), Token(9)), Change::None);
    lease.end(Loss::Fenced);
    assert_eq!(lease.permit(at(1)), None);
    assert_eq!(lease.next(at(1002)), Step::Over(Loss::Released));
}

#[test]
fn a_late_answer_moves_no_end_back() {
    let mut lease = held(Policy::Patient);
    let _ = lease.renewed(at(2000), at(2001), Answer::Applied);
    let _ = lease.renewed(at(1000), at(2002), Answer::Applied);
    assert_eq!(lease.permit(at(2002)), Some((Token(7), at(4950))));
}

/// A renewal is not waited for beyond the validity that is left.
#[test]
fn patience() {
    let lease = held(Policy::Patient);
    for (now, ms) in [(1000, 200), (2900, 40), (2945, 10), (2950, 200)] {
        assert_eq!(lease.patience(at(now)), Duration::from_millis(ms), "{now}");
    }
}
