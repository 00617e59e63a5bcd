//! Bad input: never a crash, never a guess that looks like a fact.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

use leaseproof_evidence::clock::{Aligned, Basis, Timeline};
use leaseproof_evidence::evidence::{Evidence, ProblemKind};
use leaseproof_evidence::input::Input;
use leaseproof_evidence::options::{FileRule, GivenOffset, Options};
use leaseproof_evidence::patterns::{OwnerLine, ResourceLine};
use leaseproof_evidence::read;
use leaseproof_evidence::says::{ClockSays, Decision, Definite, OwnerSays, ResourceSays, RuntimeSays, Says, StoreSays};
use leaseproof_model::name::Token;
use leaseproof_model::truth::Truth;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

fn bytes(name: &str, bytes: &[u8]) -> Input {
    Input::Bytes {
        name: Arc::from(name),
        bytes: Arc::from(bytes),
    }
}

fn text(content: &str) -> Evidence {
    read(&[bytes("a.log", content.as_bytes())], &Options::default())
}

fn kinds(evidence: &Evidence) -> Vec<ProblemKind> {
    evidence.problems.iter().map(|problem| problem.kind).collect()
}

#[test]
fn files_bad() {
    assert!(kinds(&text("")).contains(&ProblemKind::Empty));
    assert!(
        kinds(&read(
            &[bytes("core", b"\x7fELF\x02\x01\x01\0\0\0")],
            &Options::default()
        ))
        .contains(&ProblemKind::Binary)
    );
    assert!(
        kinds(&read(
            &[bytes("x.rdb", b"REDIS0010\xfa\x09redis-ver")],
            &Options::default()
        ))
        .contains(&ProblemKind::Binary)
    );
    assert!(kinds(&read(&[bytes("z", &[0; 4096])], &Options::default())).contains(&ProblemKind::Binary));
    assert!(
        kinds(&read(&[Input::Path("/nowhere/at all".into())], &Options::default())).contains(&ProblemKind::Unreadable)
    );
    assert!(kinds(&text("hello\nworld\n")).contains(&ProblemKind::NotRecognised));
    assert_eq!(read(&[], &Options::default()), Evidence::default());
}

const LINES: &str = "2026-11-30T02:56:49.064Z [INFO]  app: acquired lock orders token=7\n2026-11-30T02:56:50.064Z [INFO]  app: renewed lock orders token=7\n";

#[test]
fn packed_ok() {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(LINES.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    let evidence = read(&[bytes("a.log.gz", &gz)], &Options::default());
    assert_eq!(evidence.records.len(), 2, "{:?}", evidence.problems);
    let zst = ruzstd::encoding::compress_to_vec(LINES.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    let evidence = read(&[bytes("a.log.zst", &zst)], &Options::default());
    assert_eq!(evidence.records.len(), 2, "{:?}", evidence.problems);
}

#[test]
fn a_packed_file_that_is_cut_bad() {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    for at in 0..5000 {
        writeln!(
            gz,
            "2026-11-30T02:56:49.064Z [INFO]  app: acquired lock orders token={at}"
        )
        .unwrap();
    }
    let gz = gz.finish().unwrap();
    let evidence = read(&[bytes("a.log.gz", &gz[..gz.len() / 2])], &Options::default());
    assert!(
        kinds(&evidence).contains(&ProblemKind::Truncated),
        "{:?}",
        evidence.problems
    );
    assert!(evidence.files[0].cut && !evidence.records.is_empty());
}

#[test]
fn a_line_without_end_is_cut_bad() {
    let mut long = vec![b'x'; 5 << 20];
    long.extend_from_slice(b"\n2026-11-30T02:56:49.064Z [INFO]  app: acquired lock orders token=7\n");
    let evidence = read(&[bytes("a", &long)], &Options::default());
    assert!(kinds(&evidence).contains(&ProblemKind::LineTooLong));
    assert_eq!((evidence.files[0].lines, evidence.records.len()), (2, 1));
}

#[test]
fn encodings_bad() {
    let evidence = read(
        &[bytes("a", b"2026-11-30T02:56:49.064Z [INFO]  app: lost lock caf\xe9\n")],
        &Options::default(),
    );
    assert!(kinds(&evidence).contains(&ProblemKind::Encoding));
    assert_eq!(evidence.records.len(), 1);
    let wide: Vec<u8> = "\u{feff}2026-11-30T02:56:49.064Z [INFO]  app: lost lock orders\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(read(&[bytes("a", &wide)], &Options::default()).records.len(), 1);
}

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

#[test]
fn expressions_of_the_plan_ok() {
    let mut options = Options {
        key: Some("orders".to_owned()),
        ..Options::default()
    };
    options
        .patterns
        .owner(
            OwnerLine::Acquired,
            "acquired",
            r"ich habe das Schloss, Marke (?P<token>\d+)",
        )
        .unwrap();
    options
        .patterns
        .resource(ResourceLine::Write, "write", r"Marke=(?P<token>\d+) -> (?P<status>\d+)")
        .unwrap();
    options.patterns.token_path("meta.fence");
    let evidence = read(
        &[bytes(
            "a",
            b"2026-11-30 02:56:54,844 INFO ich habe das Schloss, Marke 7\n2026-11-30 02:56:55,844 INFO Marke=6 -> 409\n{\"time\":\"2026-11-30T02:56:56Z\",\"msg\":\"put\",\"meta\":{\"fence\":7},\"status\":200}\n",
        )],
        &options,
    );
    let said: Vec<&Says> = evidence.records.iter().map(|record| &record.says).collect();
    assert!(
        matches!(
            said[0],
            Says::Owner(OwnerSays::Acquired {
                token: Some(Token(7)),
                ..
            })
        ),
        "{said:?}"
    );
    assert!(
        matches!(
            said[1],
            Says::Resource(ResourceSays::Write {
                token: Some(Token(6)),
                decision: Decision::Rejected,
                ..
            })
        ),
        "{said:?}"
    );
    assert!(
        matches!(
            said[2],
            Says::Resource(ResourceSays::Write {
                token: Some(Token(7)),
                decision: Decision::Accepted,
                ..
            })
        ),
        "{said:?}"
    );
}

/// What a line must be read as, or must not.
#[test]
fn lines_ok_and_bad() {
    let owner = |line: &str| {
        text(line).records.into_iter().find_map(|record| match record.says {
            Says::Owner(said) => Some((said, record.by)),
            _ => None,
        })
    };
    for (line, name, by) in [
        (
            "2026-11-30 02:56:54.844 ERROR [redisson-timer-4-1] org.redisson.renewal - Can't update lock orders expiration",
            "owner renewal failed",
            "redisson",
        ),
        (
            "I1130 02:56:54.123456    1234 leaderelection.go:260] successfully acquired lease kube-system/my-controller",
            "owner acquired",
            "client-go",
        ),
        (
            "E1130 02:56:54.123456    1234 leaderelection.go:308] failed to renew lease kube-system/my-controller: timed out waiting for the condition",
            "owner lost",
            "client-go",
        ),
        (
            "I1130 02:56:54.123456    1234 leaderelection.go:308] \"Failed to renew lease\" lock=\"ns/name\" err=\"context deadline exceeded\"",
            "owner lost",
            "client-go",
        ),
        (
            "2026-11-30 02:56:54,844 [main-EventThread] INFO  ConnectionStateManager - State change: LOST",
            "owner session lost",
            "curator",
        ),
        (
            "2026-11-30 02:56:54,844 WARNING kazoo.client Connection dropped: socket connection broken",
            "owner disconnected",
            "kazoo",
        ),
        (
            "{\"level\":\"warn\",\"ts\":\"2026-11-30T02:56:02.573Z\",\"caller\":\"app/x.go:1\",\"msg\":\"error occurred during lease keep alive loop\"}",
            "owner renewal failed",
            "etcd-client",
        ),
        (
            "2026-11-30 02:56:54,844: DEBUG/Process] beat: Extending lock...",
            "owner renew sent",
            "redbeat",
        ),
        ("2026-11-30T02:56:54Z lost lease orders", "owner lost", "words"),
        (
            "{\"lease\": \"renewed\", \"token\": 1, \"boot_ns\": 1685628692596}",
            "owner renewed",
            "leaseproof",
        ),
        (
            "{\"level\":30,\"time\":1796007276299,\"pid\":12,\"hostname\":\"a\",\"msg\":\"lock acquired\",\"key\":\"orders\",\"token\":9}",
            "owner acquired",
            "words",
        ),
    ] {
        let (said, read_by) = owner(line).unwrap_or_else(|| panic!("{line}: {:?}", text(line)));
        assert_eq!((said.name(), read_by), (name, by), "{line}");
    }
    for line in [
        "2026-11-30T02:56:54Z database lock wait",
        "2026-11-30T02:56:54Z clock is fine, token bucket refilled",
        "2026-11-30 02:56:54.844 UTC [123] LOG:  process 99 still waiting for ExclusiveLock on transaction 5 after 1000.1 ms",
        "2026-11-30T02:56:54Z acquired 12 connections",
        "2026-11-30T02:56:54Z blocked, locksmith called",
        "the lock was lost in 2019",
    ] {
        assert_eq!(owner(line), None, "{line}");
    }
    let refused = text(
        "2026-11-30 03:02:19,301 ERROR app extend failed\nTraceback (most recent call last):\n    raise LockNotOwnedError(\"Cannot extend a lock that's no longer owned\")\nredis.exceptions.LockNotOwnedError: Cannot extend a lock that's no longer owned\n",
    );
    let definite: Vec<_> = refused
        .records
        .iter()
        .filter(|record| {
            matches!(
                &record.says,
                Says::Owner(OwnerSays::RenewalFailed {
                    definite: Definite::Refused,
                    ..
                })
            )
        })
        .collect();
    assert_eq!(definite.len(), 1, "{:?}", refused.records);
    assert!(definite[0].wall.is_some(), "a line below a stamped one has its stamp");
}

#[test]
fn layouts_of_safepoints_ok() {
    for (line, total) in [
        (
            "[1.000s][info][safepoint] Safepoint \"Cleanup\", Time since last: 5 ns, Reaching safepoint: 1 ns, At safepoint: 2 ns, Total: 3 ns",
            3,
        ),
        (
            "[1.000s][info][safepoint] Safepoint \"G1CollectFull\", Time since last: 5 ns, Reaching safepoint: 1 ns, Cleanup: 1 ns, At safepoint: 2 ns, Leaving safepoint: 1 ns, Total: 5 ns",
            5,
        ),
        (
            "[1.000s][info][safepoint] Safepoint \"X\", Time since last: 5 ns, Reaching safepoint: 1 ns, At safepoint: 2 ns, Leaving safepoint: 4 ns, Total: 7 ns, Threads: 0 runnable, 12 total",
            7,
        ),
        (
            "[2026-11-30T08:23:08.727+0530][1796007139281ms][safepoint   ] Total time for which application threads were stopped: 0.0104763 seconds, Stopping threads took: 0.0000101 seconds",
            10_476_300,
        ),
        (
            "2017-03-05T07:46:46.551-0500: 4.097: Total time for which application threads were stopped: 0,0002590 seconds",
            259_000,
        ),
    ] {
        let evidence = text(line);
        let Some(Says::Runtime(RuntimeSays::Stop { took, .. })) = evidence.records.first().map(|record| &record.says)
        else {
            panic!("{line}: {evidence:?}");
        };
        assert_eq!(took.as_nanos(), total, "{line}");
    }
}

/// Both ways of reading a capture say the same, and number the same lines.
#[test]
fn a_capture_searched_or_read_ok() {
    let mut capture = String::from("OK\n");
    for at in 0..20_000 {
        let key = if at % 997 == 0 { "lock:orders" } else { "cache:page" };
        capture.push_str(&format!(
            "17960072{:02}.{:06} [0 127.0.0.1:{}] \"pexpire\" \"{key}\" \"1500\"\n",
            at / 1000,
            at % 1000,
            40_000 + at
        ));
    }
    let options = Options {
        key: Some("lock:orders".to_owned()),
        ..Options::default()
    };
    let searched = read(&[bytes("m", capture.as_bytes())], &options);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(capture.as_bytes()).unwrap();
    // A packed capture is read line by line.
    let line_by_line = read(&[bytes("m", &gz.finish().unwrap())], &options);
    assert_eq!(searched.files[0].lines, 20_001);
    assert_eq!(line_by_line.files[0].lines, 20_001);
    assert_eq!(searched.records.len(), 21);
    assert_eq!(searched.records, line_by_line.records);
    assert!(matches!(
        &searched.records[0].says,
        Says::Store(StoreSays::RenewalApplied { .. })
    ));
}

/// Programs that write fields behind their words.
#[test]
fn words_with_fields_ok() {
    let text = text(
        "2026-11-30 18:20:01,123 INFO [renewer] lease acquired key=lock:orders holder=worker-a token=41 ttl=3000ms heartbeat=1000ms\n\
         2026-11-30 18:20:02,124 INFO [renewer] lease renewed key=lock:orders token=41\n\
         2026-11-30 18:20:05,124 WARNING [renewer] lease renewal refused key=lock:orders token=41: not the holder\n\
         2026-11-30 18:20:05,124 WARNING [renewer] lease renewal failed key=lock:orders token=41: timed out\n\
         2026-11-30 18:20:05,125 ERROR [renewer] lease lost key=lock:orders token=41: expired\n\
         2026-11-30 18:20:06,001 INFO [worker] write done key=lock:orders token=41\n\
         2026-11-30 18:20:06,001 INFO [renewer] lease released key=lock:orders token=41\n\
         2026-11-30T18:20:06.001Z write accepted token=41 owner=worker-a serial=17\n\
         2026-11-30T18:20:06.001Z write rejected token=41 owner=worker-a serial=18\n",
    );
    let said: Vec<&str> = text.records.iter().map(|record| record.says.name()).collect();
    assert_eq!(
        said,
        [
            "setting",
            "owner acquired",
            "owner renewed",
            "owner renewal failed",
            "owner renewal failed",
            "owner lost",
            "owner wrote",
            "owner released",
            "resource write",
            "resource write",
        ]
    );
    let Says::Owner(OwnerSays::Acquired {
        key,
        token,
        ttl,
        holder,
    }) = &text.records[1].says
    else {
        panic!()
    };
    assert_eq!(
        (key.as_deref(), *token, *ttl),
        (Some("lock:orders"), Some(Token(41)), Some(Duration::from_secs(3)))
    );
    assert_eq!(
        (holder.as_deref(), text.records[1].author.thread.as_deref()),
        (Some("worker-a"), Some("renewer"))
    );
    let definite: Vec<Definite> = text
        .records
        .iter()
        .filter_map(|record| match record.says {
            Says::Owner(OwnerSays::RenewalFailed { definite, .. }) => Some(definite),
            _ => None,
        })
        .collect();
    assert_eq!(definite, [Definite::Refused, Definite::Unknown]);
    let Says::Resource(ResourceSays::Write { decision, serial, .. }) = &text.records[9].says else {
        panic!()
    };
    assert_eq!((*decision, *serial), (Decision::Rejected, Some(18)));
}

/// Writes without a token are read where they name the key, and what nobody answered is no refusal.
#[test]
fn writes_without_a_token_ok_and_bad() {
    let options = Options {
        key: Some("locks/orders".to_owned()),
        ..Options::default()
    };
    let said = |text: &str| -> Vec<&'static str> {
        let evidence = read(&[bytes("m", text.as_bytes())], &options);
        evidence.records.iter().map(|record| record.says.name()).collect()
    };
    for (line, wanted) in [
        (
            "2026-11-30T18:20:06.001Z INFO storage: write accepted key=locks/orders client=worker-a\n",
            vec!["resource write"],
        ),
        (
            "2026-11-30T18:20:06.001Z INFO storage: write accepted client=worker-a\n",
            vec![],
        ),
        (
            "10.0.0.7 - worker-a [30/Nov/2026:18:20:06 +0000] \"POST /locks/orders HTTP/1.1\" 200 17 \"-\" \"w/1\"\n",
            vec!["resource write"],
        ),
        (
            "10.0.0.7 - worker-a [30/Nov/2026:18:20:06 +0000] \"POST /carts/7 HTTP/1.1\" 200 17 \"-\" \"w/1\"\n",
            vec![],
        ),
        (
            "{\"time\":\"2026-11-30T18:20:06.001Z\",\"method\":\"POST\",\"path\":\"/locks/orders\",\"status\":200,\"client\":\"worker-a\"}\n",
            vec!["resource write"],
        ),
        (
            "{\"time\":\"2026-11-30T18:20:06.001Z\",\"method\":\"GET\",\"path\":\"/locks/orders\",\"status\":200,\"client\":\"worker-a\"}\n",
            vec![],
        ),
    ] {
        assert_eq!(said(line), wanted, "{line}");
    }
    let failed = read(
        &[bytes(
            "m",
            b"2026-11-30T18:20:05.124Z WARN lease renewal failed key=locks/orders: Connection refused\n",
        )],
        &options,
    );
    assert!(matches!(
        failed.records[0].says,
        Says::Owner(OwnerSays::RenewalFailed {
            definite: Definite::Unknown,
            ..
        })
    ));
}
