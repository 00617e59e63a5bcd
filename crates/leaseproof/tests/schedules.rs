//! The protocol under seeded schedules: its properties hold, what must happen does, and each property fails where
//! something is broken.

mod simulation;

use simulation::{Mutant, Property, Sometimes, Tally, replay, run};

/// The first seed in so many whose schedule fails, and by what.
fn first_failure(mutant: Mutant, schedules: u64, tally: &mut Tally) -> Option<(u64, Property)> {
    (0..schedules).find_map(|seed| run(seed, mutant, tally).err().map(|property| (seed, property)))
}

#[test]
fn no_schedule_breaks_the_protocol() {
    let mut tally = Tally::default();
    if let Some((seed, property)) = first_failure(Mutant::None, 20_000, &mut tally) {
        let failure = replay(seed, Mutant::None, property);
        panic!(
            "{}\nagain: cargo xtask simulate --seed {seed} --schedules 1",
            failure.trace.join("\n")
        );
    }
    println!("{tally}");
    assert_eq!(tally.never(), Vec::<Sometimes>::new());
}

#[test]
fn each_mutant_is_caught_by_what_it_breaks() {
    for &mutant in Mutant::ALL {
        let mut tally = Tally::default();
        let Some((seed, property)) = first_failure(mutant, 20_000, &mut tally) else {
            panic!("{} is not caught", mutant.as_str());
        };
        println!("{}: seed {seed}: {property}", mutant.as_str());
        assert!(mutant.breaks().contains(&property), "{}: {property}", mutant.as_str());
        let failure = replay(seed, mutant, property);
        assert_eq!((failure.seed, failure.property), (seed, property));
        assert!(failure.trace.len() > 4, "{:?}", failure.trace);
    }
}
