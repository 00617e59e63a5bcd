//! What must hold of anything that was read.

use crate::change::Random;
use leaseproof_evidence::evidence::Evidence;
use leaseproof_evidence::input::Input;
use leaseproof_evidence::options::{Limits, Options};
use leaseproof_evidence::read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Far more than any of the inputs needs, on a machine that does other work.
const SLOW: Duration = Duration::from_secs(20);

/// Reads it; what is wrong with that, if anything.
pub fn sound(input: &[u8], random: &mut Random) -> Result<(), String> {
    let options = Options {
        key: (random.below(2) == 0).then(|| random.of(&["orders", "lock:orders", "l"]).to_string()),
        year: (random.below(2) == 0).then_some(2026),
        zone: (random.below(4) == 0).then(|| jiff::tz::TimeZone::fixed(jiff::tz::offset(-11))),
        limits: Limits {
            line: if random.below(8) == 0 { 80 } else { 1 << 20 },
            records_a_kind: if random.below(8) == 0 { 2 } else { 20_000 },
            ..Limits::default()
        },
        ..Options::default()
    };
    let given = Input::Bytes {
        name: Arc::from("any"),
        bytes: Arc::from(input),
    };
    let begun = Instant::now();
    let evidence = catch_unwind(AssertUnwindSafe(|| read(&[given], &options))).map_err(|panic| {
        let says = panic.downcast_ref::<String>().map(String::as_str);
        format!(
            "panicked: {}",
            says.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?")
        )
    })?;
    if begun.elapsed() > SLOW {
        return Err(format!("took {:?}", begun.elapsed()));
    }
    holds(&evidence)
}

fn holds(evidence: &Evidence) -> Result<(), String> {
    for file in &evidence.files {
        if file.not_understood > file.lines {
            return Err(format!("{} lines, {} not understood", file.lines, file.not_understood));
        }
    }
    for record in &evidence.records {
        let Some(file) = evidence.file(record.place.file) else {
            return Err("a record of no file".to_owned());
        };
        if record.place.line == 0 || record.place.line > file.lines {
            return Err(format!(
                "line {} of {}: {:?}",
                record.place.line, file.lines, record.says
            ));
        }
        if record.when.is_some_and(|when| when.span.earliest > when.span.latest)
            || record.wall.is_some_and(|wall| wall.earliest > wall.latest)
        {
            return Err(format!("a moment that ends before it begins: {record:?}"));
        }
    }
    Ok(())
}
