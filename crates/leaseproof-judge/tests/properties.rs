//! What holds of every record: when it happened does not matter, and less evidence never makes surer.

mod story;

use leaseproof_judge::{Policy, judge};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, OwnerEvent, What};
use leaseproof_model::finding::Finding;
use leaseproof_model::history::History;
use leaseproof_model::moment::Moment;
use leaseproof_model::rule::Class;
use leaseproof_model::verdict::{ScenarioVerdict, Verdict};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;
use story::Story;
use story::pauses::{self, THAW};

/// Sound and flawed stories, some of them close to the edge.
fn stories() -> Vec<Story> {
    let mut late = pauses::over_ttl();
    late.works(THAW + 2.0, 2900.0, "a1", 1);
    let mut straddling = pauses::over_ttl();
    straddling.wrote(THAW + 2.0, "a1", 1);
    let mut edge = pauses::over_ttl();
    edge.wrote(THAW + 240.0, "a1", 1)
        .wrote_with(THAW + 251.0, "a1", 1, |write| write.connection = 9);
    let mut claims = pauses::within_margin();
    claims
        .said(2990.0, "a1", OwnerEvent::Lost)
        .said(2995.0, "a1", OwnerEvent::Renewed);
    // What is judged lies inside the cycle: outside nothing is asked of the observer.
    claims.each(|event| {
        if matches!(event.what, What::CycleEnded) {
            event.at = story::about(2999.0);
        }
    });
    let mut loss = pauses::after_loss();
    loss.renewed(2010.0);
    pauses::lab_frees(&mut loss);
    vec![
        pauses::over_ttl(),
        pauses::within_margin(),
        pauses::and_gone(),
        late,
        straddling,
        edge,
        claims,
        loss,
    ]
}

fn judged(history: &History) -> ScenarioVerdict {
    judge(history, None, &Policy::default())
}

fn moments(event: &mut Event, change: &impl Fn(Moment) -> Moment, shift: &impl Fn(BootNanos) -> BootNanos) {
    event.at = change(event.at);
    match &mut event.what {
        What::Reading(reading) => {
            reading.previous = reading.previous.map(shift);
            if let Some(held) = &mut reading.held {
                held.expires = held.expires.map(change);
                held.granted = held.granted.map(shift);
                held.renewed = held.renewed.map(shift);
            }
        }
        What::Write(write) => write.arrived = write.arrived.map(change),
        What::Said(said) => {
            said.boot = said.boot.map(shift);
            said.valid_until = said.valid_until.map(shift);
        }
        What::Coverage(coverage) => {
            coverage.from = shift(coverage.from);
            coverage.until = shift(coverage.until);
        }
        _ => {}
    }
}

/// The accusations that are sure.
fn sure(findings: &[Finding]) -> BTreeSet<(String, Option<String>, u32)> {
    findings
        .iter()
        .filter(|it| matches!(it.class, Class::Breach | Class::Availability) && it.certainty.is_yes())
        .map(|it| (it.rule.clone(), it.owner.clone(), it.cycle))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shifting_all_times_changes_nothing(story in 0..8_usize, by in 0..4_000_000_000_000_u64) {
        let history = stories()[story].history();
        let mut shifted = history.clone();
        let later = |at: BootNanos| BootNanos(at.0 + by);
        let both = |at: Moment| Moment { earliest: later(at.earliest), latest: later(at.latest) };
        shifted.events.iter_mut().for_each(|event| moments(event, &both, &later));
        prop_assert_eq!(judged(&history), judged(&shifted));
    }

    #[test]
    fn a_wider_interval_never_makes_surer(
        story in 0..8_usize,
        place in 0..400_usize,
        before in 0..400_u64,
        after in 0..400_u64,
        expiry in any::<bool>(),
    ) {
        let history = stories()[story].history();
        let mut wider = history.clone();
        let place = place % wider.events.len();
        let widen = |at: Moment| Moment {
            earliest: at.earliest.minus(Duration::from_millis(before)),
            latest: at.latest.plus(Duration::from_millis(after)),
        };
        let event = &mut wider.events[place];
        match &mut event.what {
            What::Reading(reading) => {
                if let Some(held) = reading.held.as_mut().filter(|_| expiry) {
                    held.expires = held.expires.map(widen);
                } else {
                    // A look that took longer: the change before it is known less well.
                    event.at = widen(event.at);
                    reading.previous = reading.previous.map(|at| at.minus(Duration::from_millis(before)));
                }
            }
            What::Said(said) => {
                said.boot = None;
                event.at = widen(event.at);
            }
            _ => event.at = widen(event.at),
        }
        let (narrow, wide) = (judged(&history), judged(&wider));
        let sure_of_narrow = sure(&narrow.findings);
        for finding in sure(&wide.findings) {
            prop_assert!(sure_of_narrow.contains(&finding), "{finding:?} of {:?}: {:#?}", wider.events[place], sure_of_narrow);
        }
        prop_assert!(wide.verdict != Verdict::Violated || narrow.verdict == Verdict::Violated);
    }

    #[test]
    fn coverage_lost_never_proves_and_never_accuses(story in 0..8_usize, from in 0.0..2900.0_f64, length in 0.0..3600.0_f64) {
        let whole = stories()[story].history();
        let mut lossy = whole.clone();
        let (lost_from, lost_until) = (story::at(from), story::at(from + length));
        let mut rest = Vec::new();
        for event in &mut lossy.events {
            let mut second = event.clone();
            if let What::Coverage(coverage) = &mut event.what {
                let until = coverage.until;
                coverage.until = coverage.until.min(lost_from);
                if let What::Coverage(coverage) = &mut second.what {
                    coverage.from = coverage.from.max(lost_until).min(until);
                }
                rest.push(second);
            }
        }
        lossy.events.extend(rest);
        let (full, less) = (judged(&whole), judged(&lossy));
        prop_assert!(less.verdict != Verdict::Proven || full.verdict == Verdict::Proven);
        prop_assert!(less.verdict != Verdict::Violated || full.verdict == Verdict::Violated);
    }
}
