//! Zones, years, hosts and clocks that step.

use super::{bytes, kinds, text};
use leaseproof_evidence::clock::{Aligned, Basis, Timeline};
use leaseproof_evidence::evidence::ProblemKind;
use leaseproof_evidence::options::{FileRule, GivenOffset, Options};
use leaseproof_evidence::read;
use leaseproof_evidence::says::{ClockSays, Says};
use leaseproof_model::truth::Truth;
use std::time::Duration;

#[test]
fn a_clock_that_goes_back_is_said_bad() {
    let evidence = text(
        "2026-11-30T02:57:15.207Z [INFO]  app: lost lock orders\n2026-11-30T02:56:15.207Z [INFO]  app: acquired lock orders\n",
    );
    assert!(kinds(&evidence).contains(&ProblemKind::GoesBack));
}

#[test]
fn stamps_without_zone_or_year_are_marked_bad() {
    let evidence = text("2026-11-30 02:56:54,844 - WARN  [main:C@9] - lost lock orders\n");
    assert_eq!(evidence.files[0].clock.zone, Basis::Assumed);
    assert!(kinds(&evidence).contains(&ProblemKind::NoZone));
    // The year comes from the file beside it, and stays a guess.
    let evidence = read(
        &[
            bytes("a.log", b"Nov 30 02:56:54 node-a app[12]: lost lease orders\n"),
            bytes("b.log", b"2026-11-30T02:57:15.207Z [INFO]  app: acquired lock orders\n"),
        ],
        &Options::default(),
    );
    assert_eq!(evidence.files[0].clock.year, Basis::Assumed);
    let (a, b) = (evidence.records[0].wall.unwrap(), evidence.records[1].wall.unwrap());
    assert_eq!(b.earliest - a.earliest, 21_207_000_000);
}

#[test]
fn a_zone_that_is_given_ok() {
    let mut options = Options::default();
    options.files.push(FileRule {
        name: "a.log".to_owned(),
        zone: Some(jiff::tz::TimeZone::get("Asia/Kolkata").unwrap()),
        ..FileRule::default()
    });
    let evidence = read(
        &[bytes(
            "a.log",
            b"2026-11-30 08:26:54,844 - WARN  [main:C@9] - lost lock orders\n",
        )],
        &options,
    );
    assert_eq!(evidence.files[0].clock.zone, Basis::Given);
    assert_eq!(evidence.records[0].wall.unwrap().earliest, 1_796_007_414_844_000_000);
}

#[test]
fn uptime_alone_is_not_aligned_bad() {
    let evidence = text("[0.142s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 6M->1M(64M) 2.027ms\n");
    assert_eq!(evidence.files[0].clock.aligned, Aligned::Not);
    assert!(evidence.records[0].wall.is_none());
    assert!(kinds(&evidence).contains(&ProblemKind::NotAligned));
}

#[test]
fn hosts_ok_and_bad() {
    let a = bytes(
        "a",
        b"2026-11-30T02:56:54.100000+00:00 node-a app[12]: lost lease orders\n",
    );
    let b = bytes(
        "b",
        b"2026-11-30T02:56:54.200000+00:00 node-b app[12]: acquired lease orders\n",
    );
    let mut options = Options::default();
    let evidence = read(&[a.clone(), b.clone()], &options);
    let [first, second] = &evidence.records[..] else {
        panic!("{:?}", evidence.records)
    };
    // Nothing aligns the two hosts.
    assert_eq!(
        Timeline::of(&evidence, &options).before(&evidence, first, second),
        Truth::CannotTell
    );
    for host in ["node-a", "node-b"] {
        options.offsets.push(GivenOffset {
            host: host.to_owned(),
            ahead: 12_000_000,
            error: Duration::from_millis(3),
        });
    }
    assert_eq!(
        Timeline::of(&evidence, &options).before(&evidence, first, second),
        Truth::Yes
    );
    for given in &mut options.offsets {
        given.error = Duration::from_millis(60);
    }
    assert_eq!(
        Timeline::of(&evidence, &options).before(&evidence, first, second),
        Truth::CannotTell
    );
    // Two lines of one host share what is not known of its clock.
    let same = read(
        &[
            a,
            bytes(
                "c",
                b"2026-11-30T02:56:54.101000+00:00 node-a app[13]: acquired lease orders\n",
            ),
        ],
        &options,
    );
    let timeline = Timeline::of(&same, &options);
    assert_eq!(timeline.before(&same, &same.records[0], &same.records[1]), Truth::Yes);
}

#[test]
fn a_step_is_found_between_two_clocks() {
    let entry = |wall: i64, mono: i64, message: &str| {
        format!(
            r#"{{"__REALTIME_TIMESTAMP":"{wall}","__MONOTONIC_TIMESTAMP":"{mono}","_HOSTNAME":"a","MESSAGE":"{message}"}}"#
        )
    };
    let stepped = [
        entry(1_796_000_000_000_000, 100_000_000, "one"),
        entry(1_796_000_001_000_000, 101_000_000, "two"),
        entry(1_796_000_014_000_000, 102_000_000, "three"),
    ]
    .join("\n");
    let by = text(&stepped).records.iter().find_map(|record| match record.says {
        Says::Clock(ClockSays::ClocksParted { by, .. }) => Some(by),
        _ => None,
    });
    assert_eq!(by, Some(12_000_000_000));
    let sound = [
        entry(1_796_000_000_000_000, 100_000_000, "one"),
        entry(1_796_000_001_000_300, 101_000_000, "two"),
    ]
    .join("\n");
    assert_eq!(text(&sound).records, Vec::new());
}

/// Two files that name no host, and what the user says of the clock of `named`.
fn with_offset(named: &str) -> (leaseproof_evidence::evidence::Evidence, Timeline) {
    let mut options = Options::default();
    options.offsets.push(GivenOffset {
        host: named.to_owned(),
        ahead: -4_000_000_000,
        error: Duration::from_millis(10),
    });
    let evidence = read(
        &[
            bytes(
                "logs/a.log",
                b"2026-11-30T02:57:15.207Z [INFO]  app: acquired lock orders\n",
            ),
            bytes(
                "logs/b.log",
                b"2026-11-30T02:57:12.207Z [INFO]  app: lost lock orders\n",
            ),
        ],
        &options,
    );
    let timeline = Timeline::of(&evidence, &options);
    (evidence, timeline)
}

#[test]
fn an_offset_may_name_a_file_ok() {
    let (evidence, timeline) = with_offset("b.log");
    let [a, b] = &evidence.records[..] else {
        panic!("two lines: {evidence:?}")
    };
    assert_eq!(timeline.before(&evidence, a, b), Truth::Yes, "b's clock is 4 s behind");
    assert_eq!(
        timeline.place(&evidence, b).unwrap().middle() - b.wall.unwrap().middle(),
        4_000_000_000
    );
}

#[test]
fn an_offset_that_names_nothing_is_said_bad() {
    let (evidence, timeline) = with_offset("other.log");
    let [a, b] = &evidence.records[..] else {
        panic!("two lines: {evidence:?}")
    };
    assert_eq!(timeline.before(&evidence, a, b), Truth::No);
    let said = evidence
        .problems
        .iter()
        .any(|it| it.says.contains("--offset other.log: no file is called so"));
    assert!(said, "{:?}", evidence.problems);
}

#[test]
fn a_zone_for_no_file_is_said_bad() {
    let mut options = Options::default();
    options.files.push(FileRule {
        name: "b.log".to_owned(),
        zone: Some(jiff::tz::TimeZone::UTC),
        ..FileRule::default()
    });
    let evidence = read(
        &[bytes(
            "a.log",
            b"2026-11-30 08:26:54,844 - WARN  [main:C@9] - lost lock orders\n",
        )],
        &options,
    );
    assert!(
        evidence
            .problems
            .iter()
            .any(|it| it.says.starts_with("no file is called b.log")),
        "{:?}",
        evidence.problems
    );
}
