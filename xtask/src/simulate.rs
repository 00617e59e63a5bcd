//! `cargo xtask simulate`: the library's protocol under seeded schedules, as many as are asked for.

#[path = "../../crates/leaseproof/tests/simulation/mod.rs"]
mod simulation;

use clap::Args;
use simulation::{Mutant, Property, Sometimes, Tally, replay, run};
use std::time::{Duration, Instant};

/// The arguments.
#[derive(Args)]
pub struct SimulateArgs {
    /// The seed of the first schedule; each later one has the next.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many schedules.
    #[arg(long, default_value_t = 1_000_000)]
    schedules: u64,
    /// Breaks something on purpose, and wants to see it found.
    #[arg(long, value_name = "NAME")]
    mutant: Option<String>,
}

/// Runs them; whether all properties held, and all that must happen did.
pub fn run_all(args: &SimulateArgs) -> Result<bool, String> {
    let mutant = match &args.mutant {
        None => Mutant::None,
        Some(name) => Mutant::named(name).ok_or_else(|| {
            let names: Vec<&str> = Mutant::ALL.iter().map(|it| it.as_str()).collect();
            format!("there is no mutant `{name}`; there are {}", names.join(", "))
        })?,
    };
    let began = Instant::now();
    let mut told = began;
    let mut tally = Tally::default();
    for seed in (args.seed..).take(usize::try_from(args.schedules).unwrap_or(usize::MAX)) {
        if let Err(property) = run(seed, mutant, &mut tally) {
            return Ok(failed(seed, mutant, property));
        }
        if told.elapsed() > Duration::from_secs(10) {
            told = Instant::now();
            let rate = rate(tally.schedules, began);
            eprintln!(
                "{} of {} schedules, {rate:.0} a second",
                tally.schedules, args.schedules
            );
        }
    }
    print!("{tally}");
    let (took, rate) = (began.elapsed().as_secs_f64(), rate(tally.schedules, began));
    println!("no property failed; {took:.1} s, {rate:.0} schedules a second");
    if mutant != Mutant::None {
        println!("wrong: {} was not found", mutant.as_str());
        return Ok(false);
    }
    let never: Vec<Sometimes> = tally.never();
    for it in &never {
        println!("wrong: never happened: {}", it.says());
    }
    Ok(never.is_empty())
}

/// Shows a failed schedule; whether that was wanted.
fn failed(seed: u64, mutant: Mutant, property: Property) -> bool {
    println!("{}", replay(seed, mutant, property).trace.join("\n"));
    let with = match mutant {
        Mutant::None => String::new(),
        mutant => format!(" --mutant {}", mutant.as_str()),
    };
    println!("again: cargo xtask simulate --seed {seed} --schedules 1{with}");
    mutant.breaks().contains(&property)
}

#[expect(clippy::cast_precision_loss, reason = "a figure to be read")]
fn rate(schedules: u64, began: Instant) -> f64 {
    schedules as f64 / began.elapsed().as_secs_f64()
}
