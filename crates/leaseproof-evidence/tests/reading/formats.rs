//! Formats of stores and runtimes.

use super::{bytes, text};
use leaseproof_evidence::options::Options;
use leaseproof_evidence::read;
use leaseproof_evidence::says::{RuntimeSays, Says, StoreSays};
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
