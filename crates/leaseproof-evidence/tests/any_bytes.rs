//! No reader panics, whatever the bytes: samples with parts exchanged, cut and doubled.
#![allow(clippy::expect_used, clippy::unwrap_used)]

use leaseproof_evidence::input::Input;
use leaseproof_evidence::options::Options;
use leaseproof_evidence::read;
use proptest::prelude::*;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// Lines of all samples: what lines look like.
static LINES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    fn collect(under: &Path, lines: &mut Vec<Vec<u8>>) {
        for entry in std::fs::read_dir(under).expect("the samples") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                collect(&path, lines);
            } else {
                let bytes = std::fs::read(&path).expect("a sample");
                lines.extend(bytes.split(|byte| *byte == b'\n').take(40).map(<[u8]>::to_vec));
            }
        }
    }
    let mut lines = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples"), &mut lines);
    lines
});

fn any_read(bytes: &[u8], key: bool) {
    let options = Options {
        key: key.then(|| "orders".to_owned()),
        ..Options::default()
    };
    let input = Input::Bytes {
        name: Arc::from("any"),
        bytes: Arc::from(bytes),
    };
    let evidence = read(&[input], &options);
    for file in &evidence.files {
        assert!(
            file.not_understood <= file.lines,
            "{} of {}",
            file.not_understood,
            file.lines
        );
    }
    // An archive is the files in it.
    assert!(evidence.files.len() == 1 || bytes.get(257..262) == Some(b"ustar"));
}

/// What broke a reader once does so no more.
#[test]
fn all_of_the_corpus() {
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")).expect("the corpus") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a file of it");
        any_read(&bytes, false);
        any_read(&bytes, true);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_of_any_kind(bytes in prop::collection::vec(any::<u8>(), 0..600), key in any::<bool>()) {
        any_read(&bytes, key);
    }

    #[test]
    fn lines_of_all_kinds(picks in prop::collection::vec((any::<prop::sample::Index>(), any::<u16>(), any::<u8>(), 0..4_u8), 1..12), key in any::<bool>()) {
        let mut bytes = Vec::new();
        for (pick, at, with, how) in picks {
            let mut line = pick.get(&LINES).clone();
            let at = usize::from(at) % (line.len() + 1);
            match how {
                0 => line.truncate(at),
                1 => line.insert(at, with),
                2 if at < line.len() => line[at] = with,
                _ => {}
            }
            bytes.extend_from_slice(&line);
            bytes.push(b'\n');
        }
        any_read(&bytes, key);
    }
}
