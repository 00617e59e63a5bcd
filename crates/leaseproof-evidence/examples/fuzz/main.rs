//! Looks for bytes on which a reader breaks: samples of one family after the other, changed by a seeded generator.
//!
//! ```text
//! cargo run -p leaseproof-evidence --example fuzz -- [--minutes N] [--seed N] [--family NAME] [--keep FOLDER]
//! ```
//!
//! The minutes are of this program's own processor time, so that it can run beside other work, and are shared by the
//! families. The build must panic where a sum overflows: the debug build does, and the release build with
//! `CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true`. What is found is kept, with the panic's words;
//! `tests/corpus` is where it belongs once it has a name, and a test reads all of that folder.
#![allow(clippy::print_stdout, clippy::expect_used)]

mod change;
mod judge;
mod seeds;

use change::Random;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

struct Asked {
    time: Duration,
    seed: u64,
    family: Option<String>,
    keep: PathBuf,
}

fn asked() -> Result<Asked, String> {
    let mut asked = Asked {
        time: Duration::from_mins(1),
        seed: 1,
        family: None,
        keep: std::env::temp_dir().join("leaseproof-fuzz"),
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|error| format!("{name} {value}: {error}"));
        match name.as_str() {
            "--minutes" => asked.time = Duration::from_mins(number()?),
            "--seed" => asked.seed = number()?,
            "--family" => asked.family = Some(value),
            "--keep" => asked.keep = value.into(),
            _ => return Err(format!("{name} is not known")),
        }
    }
    Ok(asked)
}

fn main() -> ExitCode {
    let asked = match asked() {
        Ok(asked) => asked,
        Err(error) => {
            println!("{error}");
            return ExitCode::from(2);
        }
    };
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut families = seeds::families(&samples);
    families.retain(|family| asked.family.as_ref().is_none_or(|name| *name == family.name));
    if families.is_empty() {
        println!("no such family");
        return ExitCode::from(2);
    }
    // What a panic says is kept beside its input; the usual report of each would hide the summary.
    std::panic::set_hook(Box::new(|_| {}));
    let each = asked.time / u32::try_from(families.len()).expect("a few");
    let mut findings = 0;
    for (index, family) in families.iter().enumerate() {
        let mut random = Random::new(asked.seed ^ (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let begun = processor_time();
        let (mut runs, mut bytes, mut found) = (0_u64, 0_u64, 0_u64);
        while processor_time().saturating_sub(begun) < each {
            let input = family.input(&mut random);
            runs += 1;
            bytes += input.len() as u64;
            if let Err(what) = judge::sound(&input, &mut random) {
                found += 1;
                keep(&asked.keep, family.name, found, &input, &what);
                if found >= 20 {
                    break;
                }
            }
        }
        println!(
            "{}: {runs} inputs, {} KiB, {found} findings in {:.0?}",
            family.name,
            bytes >> 10,
            processor_time().saturating_sub(begun)
        );
        findings += found;
    }
    if findings > 0 {
        println!("kept in {}", asked.keep.display());
    }
    ExitCode::from(u8::from(findings > 0))
}

/// What this thread has had of a processor. The kernel's word: the standard library has none.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
    let nanos = text.split(' ').next().and_then(|it| it.parse().ok());
    Duration::from_nanos(nanos.expect("nanoseconds come first"))
}

fn keep(folder: &Path, family: &str, number: u64, input: &[u8], what: &str) {
    println!("{family} {number}: {what}");
    let kept =
        std::fs::create_dir_all(folder).and_then(|()| std::fs::write(folder.join(format!("{family}-{number}")), input));
    if let Err(error) = kept {
        println!("it could not be kept: {error}");
    }
}
