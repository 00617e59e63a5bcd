//! `leaseproof diagnose`.

use clap::Args;
use jiff::tz::{Offset, TimeZone};
use leaseproof_evidence::options::{FileRule, GivenOffset, Options};
use leaseproof_model::duration::parse_duration;
use std::path::PathBuf;

/// The arguments of `diagnose`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct DiagnoseArgs {
    /// Files, folders and tar archives, packed (gz, zst) or not; `-` reads stdin; what `inspect --save`
    /// has left; a kept run of `verify`. Without any: the checklist.
    #[arg(value_name = "FILES")]
    pub files: Vec<PathBuf>,

    /// The lease's key, as the store has it [default: the one that the files speak of most].
    #[arg(long, value_name = "KEY", help_heading = "What is known")]
    pub key: Option<String>,
    /// The owner whose loss is to be explained [default: the first whose loss did harm].
    #[arg(long, value_name = "NAME", help_heading = "What is known")]
    pub owner: Option<String>,
    /// The zone of stamps that have none: Europe/Berlin, +05:30, UTC; FILE=ZONE for one file (can be given again).
    #[arg(long, value_name = "[FILE=]ZONE", help_heading = "What is known")]
    pub tz: Vec<String>,
    /// The year of stamps that have none; FILE=YEAR for one file (can be given again).
    #[arg(long, value_name = "[FILE=]YEAR", help_heading = "What is known")]
    pub year: Vec<String>,
    /// A host's (or file's) clock is ahead of true time by so much: db1=+12ms±3ms (can be given again).
    #[arg(
        long,
        value_name = "HOST=OFFSET",
        allow_hyphen_values = true,
        help_heading = "What is known"
    )]
    pub offset: Vec<String>,
    /// The plan: its numbers (TTL, heartbeat, worst pause), and its expressions for lines ([diagnose.owner]).
    #[arg(long, value_name = "PLAN", help_heading = "What is known")]
    pub plan: Option<PathBuf>,

    /// Walk through the first ten minutes as questions; no files are needed.
    #[arg(long, conflicts_with_all = ["files", "json", "html"], help_heading = "Output")]
    pub ask: bool,
    /// Print one JSON document on stdout.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write the answer as one HTML page with the timeline; the lines' known secrets are cut out.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// No progress, only the answer.
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
}

const AFTER: &str = "Examples:
  leaseproof diagnose worker-a.log worker-b.log gc.log appendonlydir/
  leaseproof diagnose incident/ --key lock:orders --tz Europe/Berlin --plan leaseproof.toml
  leaseproof diagnose incident/ --html incident.html
  leaseproof diagnose owner.log redis.log --offset redis.log=+12ms±3ms --json
  kubectl logs worker-0 --timestamps | leaseproof diagnose - zookeeper.log
  leaseproof diagnose --ask

It reads files only. Exit status: 0 nothing wrong, and owner, store and resource are covered for the window, 1 violated,
2 the call is wrong, 3 cannot tell.";

impl DiagnoseArgs {
    /// What the user knows, for the reader.
    ///
    /// # Errors
    /// One message: which flag, what is wrong, what would be right.
    pub fn options(&self) -> Result<Options, String> {
        let mut options = Options {
            key: self.key.clone(),
            ..Options::default()
        };
        for text in &self.tz {
            let (file, zone) = split(text);
            let zone = zone_of(zone)?;
            match file {
                None => options.zone = Some(zone),
                Some(file) => rule(&mut options, file).zone = Some(zone),
            }
        }
        for text in &self.year {
            let (file, year) = split(text);
            let year: i16 = year
                .parse()
                .ok()
                .filter(|year| (1970..=2261).contains(year))
                .ok_or_else(|| format!("--year: `{year}` is no year: write one such as 2026"))?;
            match file {
                None => options.year = Some(year),
                Some(file) => rule(&mut options, file).year = Some(year),
            }
        }
        for text in &self.offset {
            options.offsets.push(offset_of(text)?);
        }
        Ok(options)
    }
}

fn split(text: &str) -> (Option<&str>, &str) {
    match text.rsplit_once('=') {
        Some((file, value)) => (Some(file), value),
        None => (None, text),
    }
}

fn rule<'o>(options: &'o mut Options, file: &str) -> &'o mut FileRule {
    let known = options.files.iter().position(|rule| rule.name == file);
    let index = known.unwrap_or_else(|| {
        options.files.push(FileRule {
            name: file.to_owned(),
            ..FileRule::default()
        });
        options.files.len() - 1
    });
    &mut options.files[index]
}

fn zone_of(text: &str) -> Result<TimeZone, String> {
    if text.eq_ignore_ascii_case("utc") || text == "Z" {
        return Ok(TimeZone::UTC);
    }
    if let Some(seconds) = fixed(text) {
        let offset = Offset::from_seconds(seconds).map_err(|error| format!("--tz: `{text}`: {error}"))?;
        return Ok(TimeZone::fixed(offset));
    }
    TimeZone::get(text)
        .map_err(|_| format!("--tz: `{text}` is no zone that this host knows: write Europe/Berlin, +05:30 or UTC"))
}

/// `+05:30`, `-0800`, `+1` in seconds.
fn fixed(text: &str) -> Option<i32> {
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let digits: String = text.chars().skip(1).filter(|c| *c != ':').collect();
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = match digits.len() {
        1 | 2 => (digits.parse::<i32>().ok()?, 0),
        4 => (digits.get(..2)?.parse().ok()?, digits.get(2..)?.parse().ok()?),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// `db1=+12ms±3ms`, also with `+-` for `±`.
fn offset_of(text: &str) -> Result<GivenOffset, String> {
    let wrong = |says: &str| {
        format!("--offset: `{text}`: {says}: write HOST=+12ms±3ms (its clock is 12 ms ahead, known to 3 ms)")
    };
    let (host, value) = text.rsplit_once('=').ok_or_else(|| wrong("no host is named"))?;
    let (ahead, error) = value
        .split_once('±')
        .or_else(|| value.split_once("+-"))
        .ok_or_else(|| wrong("how well it is known is not said"))?;
    let (sign, size) = match ahead.strip_prefix('-').or_else(|| ahead.strip_prefix('−')) {
        Some(size) => (-1, size),
        None => (1, ahead.strip_prefix('+').unwrap_or(ahead)),
    };
    let size = parse_duration(size).map_err(|says| wrong(&says))?;
    let error = parse_duration(error).map_err(|says| wrong(&says))?;
    let ahead = i64::try_from(size.as_nanos()).map_err(|_| wrong("it is too long"))?;
    if host.is_empty() {
        return Err(wrong("no host is named"));
    }
    Ok(GivenOffset {
        host: host.to_owned(),
        ahead: sign * ahead,
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn offsets_ok() {
        for (text, ahead, error) in [
            ("db1=+12ms±3ms", 12_000_000, 3),
            ("db1=-12ms+-3ms", -12_000_000, 3),
            ("a=b=1s±10ms", 1_000_000_000, 10),
        ] {
            let given = offset_of(text).unwrap();
            assert_eq!(
                (given.ahead, given.error),
                (ahead, Duration::from_millis(error)),
                "{text}"
            );
        }
    }

    #[test]
    fn offsets_bad() {
        for text in ["+12ms±3ms", "db1=12ms", "db1=12±3ms", "=1ms±1ms", "db1=x±1ms"] {
            assert!(
                offset_of(text).is_err_and(|says| says.contains("HOST=+12ms±3ms")),
                "{text}"
            );
        }
    }

    #[test]
    fn zones() {
        for (text, seconds) in [("+05:30", 19_800), ("-0800", -28_800), ("+1", 3600)] {
            assert_eq!(fixed(text), Some(seconds), "{text}");
        }
        for text in ["+25:00", "5", "+1:2:3", "+", "Europe/Berlin"] {
            assert_eq!(fixed(text), None, "{text}");
        }
        assert!(zone_of("Nowhere/Else").is_err());
    }
}
