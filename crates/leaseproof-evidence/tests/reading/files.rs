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

/// An archive of some files, as `tar` makes it.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(1_796_007_414);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

const YEARLESS: &[u8] = b"Nov 30 02:56:54 node-a app[12]: lost lease orders\n";

#[test]
fn an_archive_ok() {
    let plain = archive(&[
        ("pod/app.log", LINES.as_bytes()),
        ("pod/.cache/app.log", LINES.as_bytes()),
        ("pod/messages", YEARLESS),
    ]);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(&plain).unwrap();
    for archive in [plain, gz.finish().unwrap()] {
        let other = bytes(
            "b.log",
            b"2019-11-30T02:57:15.207Z [INFO]  app: acquired lock orders token=7\n",
        );
        let evidence = read(&[bytes("pod.tar", &archive), other], &Options::default());
        let names: Vec<&str> = evidence.files.iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["pod.tar/pod/app.log", "pod.tar/pod/messages", "b.log"]);
        assert_eq!(evidence.records.len(), 4, "{:?}", evidence.problems);
        // Its year is that of the entry itself.
        assert_eq!(evidence.records[2].wall.unwrap().earliest, 1_796_007_414_000_000_000);
    }
}

/// A file of an archive that lacks a year is read again with the year of the others.
#[test]
fn an_archive_is_read_again_ok() {
    let old = archive(&[
        ("app.log", LINES.replace("2026", "2025").as_bytes()),
        ("messages", YEARLESS),
    ]);
    let evidence = read(&[bytes("pod.tar", &old)], &Options::default());
    let (stated, found) = (evidence.records[0].wall.unwrap(), evidence.records[2].wall.unwrap());
    assert!(
        (found.earliest - stated.earliest).abs() < 60_000_000_000,
        "{stated:?} {found:?}"
    );
}

#[test]
fn an_archive_bad() {
    let whole = archive(&[("a.log", LINES.as_bytes()), ("b.log", LINES.repeat(20).as_bytes())]);
    let cut = read(&[bytes("pod.tar", &whole[..2048])], &Options::default());
    assert!(kinds(&cut).contains(&ProblemKind::Truncated), "{:?}", cut.problems);
    assert!(cut.files[1].cut && !cut.files[0].cut, "{:?}", cut.files);
    let header = br#"{"header":{"schema":"leaseproof.events/1","run":"1","seed":0,"version":"0.1.0"}}"#;
    let run = read(
        &[bytes("run.tar", &archive(&[("run/events.jsonl", header)]))],
        &Options::default(),
    );
    assert!(kinds(&run).contains(&ProblemKind::Other), "{:?}", run.problems);
    // An archive in an archive is said to be one.
    let nested = read(&[bytes("n.tar", &archive(&[("a.tar", &whole)]))], &Options::default());
    assert!(kinds(&nested).contains(&ProblemKind::Binary), "{:?}", nested.problems);
    // The magic alone makes no archive.
    let mut broken = whole;
    broken[0] ^= 1;
    assert!(kinds(&read(&[bytes("x", &broken)], &Options::default())).contains(&ProblemKind::Binary));
}

/// A problem names its file by its place, and not in its words again.
#[test]
fn names_come_once_bad() {
    for (name, content) in [
        ("empty.log", &b""[..]),
        ("core", b"\x7fELF\x02\x01"),
        ("odd", b"hello\n"),
    ] {
        let evidence = read(&[bytes(name, content)], &Options::default());
        let problem = &evidence.problems[0];
        assert!(problem.file.is_some() && !problem.says.contains(name), "{problem:?}");
    }
}

/// Each line that nothing was made of counts once, whatever is in it.
#[test]
fn lines_of_documents_are_counted_bad() {
    for (content, lines) in [
        ("[[1,2,3],[4,5,[6,7]]]\n", 1),
        ("[\n  1,\n  2\n]\n", 1),
        ("[\n  1,\n  oops\n]\n", 4),
        ("{\n  \"a\": [1,\n", 2),
    ] {
        assert_eq!(text(content).files[0].not_understood, lines, "{content}");
    }
}
