//! The longest pause in a garbage collector's log.
//!
//! Read are the JDK's unified logging (`Pause …  12.3ms`, and the safepoints' `Total: … ns`) and the lines of older
//! ones (`Total time for which application threads were stopped: …`, `[GC pause …, 0.0123 secs]`). Where a log has
//! both, the safepoints are the longer: they count the way into the pause as well.

use std::path::Path;
use std::time::Duration;

/// What a log shows.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct GcPauses {
    /// The longest pause.
    pub longest: Duration,
    /// The line it is on, counted from 1.
    pub line: usize,
    /// How many pauses there are.
    pub count: usize,
}

/// The pauses in the text of a log; `None` where there are none.
#[must_use]
pub fn pauses(text: &str) -> Option<GcPauses> {
    let mut found: Option<GcPauses> = None;
    for (at, line) in text.lines().enumerate() {
        let Some(pause) = pause(line) else { continue };
        let count = found.map_or(0, |seen| seen.count) + 1;
        let longest = found.filter(|seen| seen.longest >= pause).unwrap_or(GcPauses {
            longest: pause,
            line: at + 1,
            count,
        });
        found = Some(GcPauses { count, ..longest });
    }
    found
}

/// The pauses in a log.
///
/// # Errors
/// When it can't be read, or shows none.
pub fn read(path: &Path) -> Result<GcPauses, String> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|error| format!("the GC log {shown} can't be read: {error}"))?;
    pauses(&String::from_utf8_lossy(&bytes)).ok_or_else(|| {
        format!(
            "{shown}: it shows no pause: give a log of the JDK's collector (java -Xlog:gc,safepoint:file={shown}), or the \
             pause itself with --observed"
        )
    })
}

/// The pause that a line tells of.
fn pause(line: &str) -> Option<Duration> {
    // `[1.2s][info][safepoint] Safepoint "G1Collect", Time since last: 1 ns, Reaching safepoint: 2 ns, …, Total: 3 ns`.
    if let Some((_, rest)) = line.split_once("Safepoint \"") {
        return number(rest.split_once(", Total:")?.1, "ns", 1.0);
    }
    if let Some((_, rest)) = line.split_once("application threads were stopped:") {
        return number(rest, "seconds", 1e9);
    }
    // `[0.5s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 23M->4M(256M) 3.456ms`. A begin has no time.
    if let Some((_, rest)) = line.split_once(" Pause ").filter(|(before, _)| before.contains("GC(")) {
        let last = rest.split_whitespace().next_back()?;
        return number(last, "ms", 1e6);
    }
    // `[GC pause (G1 Evacuation Pause) (young), 0.0123 secs]`, `[Full GC (System.gc()) …, 0.0123 secs]`.
    let begins = ["[GC ", "[Full GC"].iter().any(|begin| line.contains(begin));
    let (before, _) = line.split_once(" secs]").filter(|_| begins)?;
    number(before.rsplit(' ').next()?, "", 1e9)
}

/// A number and its unit at the beginning of a text. Some locales write a comma for the point.
fn number(text: &str, unit: &str, ns: f64) -> Option<Duration> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    let value: f64 = digits.trim_end_matches(',').replace(',', ".").parse().ok()?;
    let nanos = value * ns;
    let sound = rest.trim_start().starts_with(unit) && nanos < 1e18;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "digits are not negative, and below 1e18"
    )]
    sound.then(|| Duration::from_nanos(nanos.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_ok() {
        for (line, us) in [
            (
                "[0.5s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 23M->4M(256M) 3.456ms",
                3456,
            ),
            (
                "[2026-11-30T14:00:00.123+0000][info][gc] GC(1) Pause Full (System.gc()) 10M->5M(20M) 1012.345ms",
                1_012_345,
            ),
            ("[1.0s][info][gc] GC(7) Pause Remark 23M->4M(256M) 0.500ms", 500),
            ("[1.0s][info][gc,phases] GC(3) Y: Pause Mark Start (Major) 0.012ms", 12),
            (
                "[3.2s][info][safepoint] Safepoint \"G1CollectFull\", Time since last: 11 ns, Reaching safepoint: 2000 ns, \
                 Cleanup: 0 ns, At safepoint: 2345000 ns, Total: 2347000 ns",
                2347,
            ),
            (
                "[0.9s][info][safepoint] Total time for which application threads were stopped: 0.0021 seconds, Stopping took: 0.0001 seconds",
                2100,
            ),
            (
                "12.3: Total time for which application threads were stopped: 0,5000000 seconds",
                500_000,
            ),
            (
                "2026-11-30T14:00:00: 1.0: [GC pause (G1 Evacuation Pause) (young), 0.0123456 secs]",
                12_346,
            ),
            (
                "1.0: [Full GC (Ergonomics) [PSYoungGen: 1K->0K(2K)] 10K->5K(20K), [Metaspace: 3K->3K(4K)], 2.5000000 secs]",
                2_500_000,
            ),
        ] {
            let seen = pauses(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(seen.longest.as_nanos().div_ceil(1000), us, "{line}");
        }
    }

    #[test]
    fn pauses_bad() {
        for line in [
            "",
            "[0.5s][info][gc] Using G1",
            "[0.5s][info][gc,start] GC(0) Pause Young (Normal) (G1 Evacuation Pause)",
            "[0.5s][info][gc] GC(2) Concurrent Mark Cycle 12.345ms",
            "the Pause was 12.3ms",
            "GC(1) Pause Full 99999999999999999999ms",
            "Total time for which application threads were stopped: seconds",
            "Safepoint \"x\", Total: many ns",
        ] {
            assert_eq!(pauses(line), None, "{line}");
        }
    }

    #[test]
    fn the_longest_counts() {
        let text = "GC(0) Pause Young 1M->1M(2M) 1.0ms\nx\nGC(1) Pause Full 1M->1M(2M) 9.0ms\nGC(2) Pause Young 1M->1M(2M) 2.0ms\n";
        let seen = pauses(text).expect("three pauses");
        assert_eq!((seen.longest, seen.line, seen.count), (Duration::from_millis(9), 3, 3));
    }
}
