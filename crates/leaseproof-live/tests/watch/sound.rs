//! A sound owner never diverges: whatever the monitor happens to see of it, and however late it hears.

use crate::tape::{Tape, at};
use leaseproof_live::watch::belief::{Belief, Claim};
use leaseproof_live::watch::notices::Notice;
use proptest::prelude::*;

/// One grant of the owner: how long the lease was free before, and how long it held.
type Cycle = (u64, u64);

/// How the owner tells of its belief.
#[derive(Copy, Clone, Debug)]
enum Tells {
    Token,
    When,
    Nothing,
}

#[derive(Copy, Clone, Debug)]
enum Step {
    /// A reading at this moment.
    Read(u64),
    /// A report of this moment that was heard so much later, and may have been so much earlier.
    Report(u64, u64, u64),
}

/// The grants as spans, with their tokens.
fn grants(cycles: &[Cycle]) -> Vec<(u64, u64, u64)> {
    let mut now = 10;
    let mut all = Vec::new();
    for (token, (free, held)) in (1..).zip(cycles) {
        let from = now + free;
        now = from + held;
        all.push((from, now, token));
    }
    all
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let read = (0..30_000_u64).prop_map(Step::Read);
    let report = (0..30_000_u64, 0..3000_u64, 0..500_u64).prop_map(|(at, late, early)| Step::Report(at, late, early));
    // Reports are taken in as they happened, one after the other, each when it is heard.
    prop::collection::vec(prop_oneof![read, report], 1..80).prop_map(|mut steps| {
        steps.sort_by_key(|step| match *step {
            Step::Read(at) => at * 2,
            Step::Report(at, late, _) => (at + late) * 2 + 1,
        });
        steps
    })
}

fn diverged(cycles: &[Cycle], steps: &[Step], tells: Tells, named: bool, counted: bool) -> bool {
    let grants = grants(cycles);
    let now = |moment: u64| grants.iter().find(|(from, to, _)| (*from..*to).contains(&moment));
    let name = named.then(|| "me".into());
    let mut tape = Tape::with(Belief {
        name,
        ..Belief::default()
    });
    for step in steps {
        match *step {
            Step::Read(moment) => {
                let counter = grants.iter().filter(|(from, ..)| *from <= moment).count() as u64;
                let held = now(moment).map(|(_, to, token)| (format!("me#{token}"), *token, *to));
                let held = held
                    .as_ref()
                    .map(|(holder, token, to)| (holder.as_str(), Some(*token), Some(*to)));
                // The reading itself happens at its middle.
                tape.read(moment.saturating_sub(1), held, counted.then_some(counter));
            }
            Step::Report(moment, late, early) => {
                let (from, to) = (moment.saturating_sub(early), moment + late);
                match now(moment) {
                    Some((began, _, token)) => {
                        let token = matches!(tells, Tells::Token).then_some(*token);
                        let since = matches!(tells, Tells::When).then(|| at(*began, *began));
                        tape.report_since(from, to, Claim::Holds, token, since);
                    }
                    None => tape.report(from, to, Claim::Free, None),
                }
            }
        }
    }
    tape.notices.iter().any(|it| matches!(it, Notice::Diverged { .. }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn a_sound_owner_never_diverges(
        cycles in prop::collection::vec((0..4000_u64, 1..4000_u64), 1..12),
        steps in steps(),
        tells in prop_oneof![Just(Tells::Token), Just(Tells::When), Just(Tells::Nothing)],
        named: bool,
        counted: bool,
    ) {
        // Who says neither token nor time, on a store that counts no grants: a grant that came and went between
        // two readings can't be told from none (docs/watch.md says so).
        let counted = counted || matches!(tells, Tells::Nothing);
        prop_assert!(!diverged(&cycles, &steps, tells, named, counted));
    }
}
