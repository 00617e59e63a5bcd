//! What the store did is found in whichever cycle it did it, and in no other: LP017 and LP018.

mod story;

use leaseproof_judge::{Policy, judge};
use leaseproof_model::clock::{BootNanos, MonoNanos, Stamp, WallNanos};
use leaseproof_model::event::{Event, What};
use leaseproof_model::history::History;
use story::pauses::{self, THAW};
use story::rounds::repeat;
use story::{Story, at, server};

const CYCLES: u64 = 3;

/// From one cycle to the next.
const LENGTH: u64 = 4_000_000_000;

/// Cycles of these stories, one after the other.
fn rounds<'s>(story_of: impl Fn(u64) -> &'s Story) -> History {
    let mut events = Vec::new();
    for round in 0..CYCLES {
        repeat(&story_of(round).history(), round, LENGTH, &mut events);
    }
    let mut all = story_of(0).history();
    all.events = events;
    all
}

/// A moment of a round.
fn within(round: u64, ms: f64) -> BootNanos {
    BootNanos(at(ms).0 + round * LENGTH)
}

/// The cycles in which this rule found something.
fn found(rule: &str, history: &History) -> Vec<u32> {
    let judged = judge(history, None, &Policy::default());
    let of_rule = judged.findings.iter().filter(|it| it.rule == rule);
    of_rule.map(|it| it.cycle).collect()
}

fn nanos(at: BootNanos) -> i64 {
    i64::try_from(at.0).expect("a small number")
}

/// A clock that is set ahead by a second in each of these rounds.
fn ahead(rounds: &[u64], now: BootNanos) -> i64 {
    let steps = rounds.iter().filter(|&&round| now > within(round, THAW)).count();
    nanos(now) + i64::try_from(steps).expect("a few") * 1_000_000_000
}

fn each(history: &mut History, change: impl FnMut(&mut Event)) {
    history.events.iter_mut().for_each(change);
}

#[test]
fn a_store_s_clock_that_steps_is_found_in_its_cycle() {
    let sound = pauses::over_ttl();
    for (steps, cycles) in [
        (&[][..], &[][..]),
        (&[0], &[1]),
        (&[1], &[2]),
        (&[2], &[3]),
        (&[0, 2], &[1, 3]),
    ] {
        let mut history = rounds(|_| &sound);
        each(&mut history, |event| {
            let now = event.at.earliest;
            if let What::Reading(reading) = &mut event.what {
                reading.server_ns = Some(ahead(steps, now));
            }
        });
        assert_eq!(found("LP018", &history), cycles, "{steps:?}");
    }
}

#[test]
fn a_host_s_clock_that_steps_is_found_in_its_cycle() {
    let sound = pauses::over_ttl();
    for (steps, cycles) in [
        (&[][..], &[][..]),
        (&[0], &[1]),
        (&[1], &[2]),
        (&[2], &[3]),
        (&[0, 2], &[1, 3]),
    ] {
        let mut history = rounds(|_| &sound);
        history.events.sort_by_key(|event| event.at.latest);
        each(&mut history, |event| {
            let boot = event.at.latest;
            event.stamp = Some(Stamp {
                boot,
                mono: MonoNanos(boot.0),
                wall: WallNanos(ahead(steps, boot)),
            });
        });
        assert_eq!(found("LP018", &history), cycles, "{steps:?}");
    }
}

/// A lease that lives though it reads as over, and one that does not.
#[test]
fn a_ttl_below_zero_is_found_in_its_cycle() {
    let below = server::reads_below_zero();
    let mut sound = server::reads_below_zero();
    let plain = pauses::held_until_pause(below.ask.scenario, &below.ask.premises);
    sound.each(|event| {
        // As before the step: a TTL from each reading on.
        let expires = event.at.earliest.plus(plain.ask.budget.ttl);
        if let What::Reading(reading) = &mut event.what
            && let Some(held) = &mut reading.held
        {
            held.expires = Some(leaseproof_model::moment::Moment::exact(expires));
        }
    });
    for flawed in [&[][..], &[0], &[1], &[2], &[0, 2]] {
        let history = rounds(|round| if flawed.contains(&round) { &below } else { &sound });
        let cycles: Vec<u32> = flawed
            .iter()
            .map(|round| u32::try_from(*round).expect("small") + 1)
            .collect();
        assert_eq!(found("LP018", &history), cycles, "{flawed:?}");
    }
}

/// The epoch changes, and with it the lease is gone.
#[test]
fn a_lease_that_the_store_lost_is_found_in_its_cycle() {
    let sound = pauses::within_margin();
    for (lost, cycle) in [(0, 1), (1, 2), (2, 3)] {
        let mut history = rounds(|_| &sound);
        let span = within(lost, 1204.0)..within(lost + 1, 0.0);
        let mut seen = 0;
        history.events.retain(|event| {
            let here = span.contains(&event.at.earliest);
            seen += u32::from(here && matches!(event.what, What::Reading(_)));
            // One look shows it gone, and nothing goes on.
            !here || seen == 1 && matches!(event.what, What::Reading(_)) || matches!(event.what, What::CycleEnded)
        });
        each(&mut history, |event| {
            let (here, later) = (span.contains(&event.at.earliest), event.at.earliest > span.start);
            if let What::Reading(reading) = &mut event.what
                && later
            {
                reading.epoch = Some("another run".to_owned());
                if here {
                    reading.held = None;
                }
            }
        });
        assert_eq!(found("LP017", &history), [cycle], "{lost}");
    }
    assert_eq!(found("LP017", &rounds(|_| &sound)), [0; 0]);
}

/// What a fault of the store did is said for each.
#[test]
fn a_store_that_stood_still_is_found_in_its_cycle() {
    let (still, sound) = (server::paused(), server::paused());
    let mut sound = sound;
    sound.without(|event| matches!(event.what, What::Fault(_)));
    for flawed in [&[][..], &[0], &[1], &[2], &[0, 2]] {
        let history = rounds(|round| if flawed.contains(&round) { &still } else { &sound });
        let cycles: Vec<u32> = flawed
            .iter()
            .map(|round| u32::try_from(*round).expect("small") + 1)
            .collect();
        assert_eq!(found("LP017", &history), cycles, "{flawed:?}");
    }
}
