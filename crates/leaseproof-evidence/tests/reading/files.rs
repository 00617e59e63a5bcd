//! Files that are packed, cut, wide, empty or no text.

use super::{bytes, kinds, text};
use leaseproof_evidence::evidence::{Evidence, ProblemKind};
use leaseproof_evidence::input::Input;
use leaseproof_evidence::options::Options;
use leaseproof_evidence::read;
use std::io::Write;

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
