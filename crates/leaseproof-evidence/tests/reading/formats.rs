//! Formats of stores and runtimes.

use super::{bytes, text};
use leaseproof_evidence::options::Options;
use leaseproof_evidence::read;
use leaseproof_evidence::says::{RuntimeSays, Says, StopKind, StoreSays};
use std::io::Write;

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

/// .NET's events tell of a stop by its begin and its end; what stands alone is none.
#[test]
fn suspensions_of_dotnet_ok_and_bad() {
    let stops = |content: &str| -> Vec<(u128, String, StopKind)> {
        text(content)
            .records
            .iter()
            .filter_map(|record| match &record.says {
                Says::Runtime(RuntimeSays::Stop {
                    took, operation, kind, ..
                }) => Some((took.as_millis(), operation.to_string(), *kind)),
                _ => None,
            })
            .collect()
    };
    let traced = "513052  GCSuspendEEBegin_V1\n513078  GCSuspendEEEnd_V1\n513090  GCStart_V2\n597000  GCEnd_V1\n597040  GCRestartEEBegin_V1\n597052  GCRestartEEEnd_V1\n";
    assert_eq!(stops(traced), [(84, "suspend: collection".to_owned(), StopKind::Gc)]);
    let debugged = "2026-11-30T02:56:49.064Z Microsoft-Windows-DotNETRuntime/GC/SuspendEEStart Reason=\"5\"\n2026-11-30T02:56:52.064Z Microsoft-Windows-DotNETRuntime/GC/RestartEEStop\n";
    assert_eq!(
        stops(debugged),
        [(3000, "suspend: debugger".to_owned(), StopKind::Safepoint)]
    );
    for bad in [
        "597052  GCRestartEEEnd_V1\n",
        "513052  GCSuspendEEBegin_V1\n",
        "597052  GCRestartEEEnd_V1\n513052  GCSuspendEEBegin_V1\n",
        "GCSuspendEEBegin_V1\nGCRestartEEEnd_V1\n",
        "9  GCSuspendEEBegin_V1\n3  GCRestartEEEnd_V1\n",
    ] {
        assert_eq!(stops(bad), [], "{bad}");
    }
}

/// What Redis keeps beside its append-only files is known, and a file that only resembles it is not.
#[test]
fn a_manifest_ok_and_bad() {
    let known = |content: &str| !text(content).files[0].formats.is_empty();
    assert!(known(
        "file appendonly.aof.2.base.rdb seq 2 type b\nfile appendonly.aof.2.incr.aof seq 2 type i\n"
    ));
    for bad in ["file a seq x type b\n", "file a seq 2 type z\n", "file a\n"] {
        assert!(!known(bad), "{bad}");
    }
}

/// Collections that are left out since there are too many leave their processor time out, too.
#[test]
fn collections_that_are_left_out_ok() {
    let mut log = String::new();
    for at in 0..50 {
        log.push_str(&format!(
            "[{at}.100s][info][gc] GC({at}) Pause Young (Normal) (G1 Evacuation Pause) 6M->1M(64M) 2.027ms\n[{at}.100s][info][gc,cpu] GC({at}) User=0.01s Sys=0.00s Real=0.00s\n"
        ));
    }
    let mut options = Options::default();
    options.limits.records_a_kind = 5;
    let evidence = read(&[bytes("gc", log.as_bytes())], &options);
    assert_eq!(evidence.records.len(), 5, "{:?}", evidence.files[0].thinned);
    assert!(
        evidence
            .records
            .iter()
            .all(|record| matches!(record.says, Says::Runtime(RuntimeSays::Stop { cpu: Some(_), .. })))
    );
    assert_eq!(evidence.files[0].thinned.values().sum::<u64>(), 45);
}
