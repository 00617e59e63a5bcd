//! Files whose stamps have no zone, where UTC lays them hours beside all other files: the zone that fits.
//!
//! Zones are whole quarters of an hour, and an incident is shorter: then at most one of them lays a file on the others. It
//! is still a guess, shown as one, and nothing is called certain by it.

use leaseproof_evidence::clock::Basis;
use leaseproof_evidence::evidence::{Evidence, FileRead};
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::when::{Domain, Interval, When};
use std::collections::BTreeMap;

/// Zones differ by whole quarters of an hour.
const QUARTER: i64 = 15 * 60 * 1_000_000_000;

/// No zone is further away from UTC.
const FURTHEST: i64 = 14 * 4 * QUARTER;

/// The evidence with the zones that fit, and by how much each file was moved; `None`: none needs it, or none fits.
pub fn fitted(evidence: &Evidence) -> Option<(Evidence, BTreeMap<FileId, i64>)> {
    let is_assumed = |file: &FileRead| file.clock.zone == Basis::Assumed;
    let known = evidence
        .files
        .iter()
        .filter(|file| !is_assumed(file))
        .filter_map(|file| file.covers)
        .reduce(Interval::hull)?;
    if known.latest.saturating_sub(known.earliest) >= QUARTER {
        return None;
    }
    let moved: BTreeMap<FileId, i64> = evidence
        .files
        .iter()
        .zip(0_u32..)
        .filter(|(file, _)| is_assumed(file))
        .filter_map(|(file, number)| Some((FileId(number), by(file.covers?, known)?)))
        .collect();
    if moved.is_empty() {
        return None;
    }
    let mut evidence = evidence.clone();
    for record in &mut evidence.records {
        if let Some(by) = moved.get(&record.place.file) {
            record.wall = record.wall.map(|wall| wall.shifted(*by));
            record.when = record.when.map(|when| shifted(when, *by));
        }
    }
    for (number, file) in (0_u32..).zip(&mut evidence.files) {
        let Some(by) = moved.get(&FileId(number)) else { continue };
        file.covers = file.covers.map(|covers| covers.shifted(*by));
        file.stamps = file
            .stamps
            .map(|(first, last)| (shifted(first, *by), shifted(last, *by)));
        for gap in &mut file.gaps.widest {
            gap.began = shifted(gap.began, *by);
            gap.ended = shifted(gap.ended, *by);
            gap.wall = gap.wall.map(|(from, to)| (from.shifted(*by), to.shifted(*by)));
        }
    }
    Some((evidence, moved))
}

/// What the reader must know of it.
pub fn note(evidence: &Evidence, moved: &BTreeMap<FileId, i64>) -> String {
    let files: Vec<String> = moved
        .iter()
        .map(|(id, by)| {
            let name = evidence
                .file(*id)
                .map_or_else(|| "?".to_owned(), |file| file.name.to_string());
            format!("{name} {}", zone(*by))
        })
        .collect();
    format!(
        "these stamps have no zone, and lie hours beside all other files in UTC; the only zone that lays them on the others was taken: {}. It is a guess, and nothing is certain by it: give --tz",
        files.join(", ")
    )
}

/// `-08:00`: the zone of stamps that were moved by so much.
fn zone(by: i64) -> String {
    let minutes = by.unsigned_abs() / 60_000_000_000;
    let sign = if by > 0 { '-' } else { '+' };
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// The one move by quarters of an hour that lays a file on the others.
fn by(file: Interval, known: Interval) -> Option<i64> {
    let meets = |by: i64| {
        let at = file.shifted(by);
        at.earliest <= known.latest && at.latest >= known.earliest
    };
    let apart = known.middle().saturating_sub(file.middle());
    let quarters = apart.checked_add(apart.signum() * QUARTER / 2)? / QUARTER;
    let by = quarters.checked_mul(QUARTER)?;
    let only = meets(by) && !meets(by - QUARTER) && !meets(by + QUARTER);
    (!meets(0) && only && by.abs() <= FURTHEST).then_some(by)
}

fn shifted(when: When, by: i64) -> When {
    When {
        span: if when.domain == Domain::Wall {
            when.span.shifted(by)
        } else {
            when.span
        },
        ..when
    }
}

#[cfg(test)]
mod tests {
    use super::{by, zone};
    use leaseproof_evidence::when::Interval;

    const SECOND: i64 = 1_000_000_000;

    fn span(from: i64, to: i64) -> Interval {
        Interval {
            earliest: from * SECOND,
            latest: to * SECOND,
        }
    }

    #[test]
    fn the_one_zone_that_fits() {
        let known = span(100_000, 100_020);
        let hours = 3600;
        for (name, file, wanted) in [
            (
                "eight-hours-behind-ok",
                span(100_002 - 8 * hours, 100_015 - 8 * hours),
                Some(8 * hours),
            ),
            (
                "half-past-five-ahead-ok",
                span(100_002 + 19_800, 100_015 + 19_800),
                Some(-19_800),
            ),
            ("there-already-bad", span(100_002, 100_015), None),
            ("seven-minutes-beside-bad", span(100_420, 100_440), None),
            (
                "too-long-to-tell-bad",
                span(100_000 - 9 * hours, 100_000 - 8 * hours),
                None,
            ),
            (
                "another-day-bad",
                span(100_002 - 30 * hours, 100_015 - 30 * hours),
                None,
            ),
        ] {
            assert_eq!(by(file, known), wanted.map(|it| it * SECOND), "{name}");
        }
        assert_eq!([zone(8 * hours * SECOND), zone(-19_800 * SECOND)], ["-08:00", "+05:30"]);
    }
}
