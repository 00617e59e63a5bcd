//! What a restart finds after each way to end.

use super::*;
use std::os::unix::fs::FileExt as _;

fn key(name: &str) -> Vec<u8> {
    name.as_bytes().to_vec()
}

fn opened(path: &Path) -> (Journal, Found) {
    Journal::open(path, true).expect("opens")
}

fn raised(path: &Path, marks: &[(&str, u64)]) {
    let (mut journal, _) = opened(path);
    for (name, token) in marks {
        journal.raise(&[(key(name), Token(*token))]).expect("writes");
    }
}

fn marks(path: &Path) -> Vec<(String, u64)> {
    let (_, found) = opened(path);
    let text = |key: Vec<u8>| String::from_utf8(key).expect("text");
    found
        .marks
        .into_iter()
        .map(|(key, token)| (text(key), token.0))
        .collect()
}

#[test]
fn the_greatest_of_each_key_is_kept() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("marks");
    raised(&path, &[("/a", 5), ("/b c%\n", 1), ("/a", 9), ("/a", 7)]);
    assert_eq!(marks(&path), [("/a".to_owned(), 9), ("/b c%\n".to_owned(), 1)]);
}

/// The file is cut at each of its bytes: the marks of the whole lines are there, and nothing else.
#[test]
fn a_torn_tail_is_no_mark() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("marks");
    raised(&path, &[("/a", 41), ("/a", 417)]);
    let whole = std::fs::read(&path).expect("reads");
    let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    for cut in 0..=whole.len() {
        std::fs::write(&path, &whole[..cut]).expect("writes");
        let expected = match cut {
            _ if cut > ends[2] => Some(417),
            _ if cut > ends[1] => Some(41),
            _ => None,
        };
        let found: Vec<u64> = marks(&path).into_iter().map(|(_, token)| token).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "cut at {cut}");
        raised(&path, &[("/a", 500)]);
        assert_eq!(marks(&path), [("/a".to_owned(), 500)], "added after a cut at {cut}");
    }
}

/// Each byte of a line that has a whole one after it is turned over: never is it taken for a torn tail.
#[test]
fn damage_in_the_middle_is_said() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("marks");
    raised(&path, &[("/a", 5), ("/b", 6)]);
    let whole = std::fs::read(&path).expect("reads");
    let end = whole.iter().rposition(|byte| *byte == b':').expect("a mark");
    let line = whole[..end].iter().rposition(|byte| *byte == b'\n').expect("a line");
    for at in HEADER.len()..line {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).expect("writes");
        let refused = Journal::open(&path, true).expect_err("damaged");
        assert!(matches!(refused, MarksError::Damaged { .. }), "byte {at}: {refused}");
    }
}

#[test]
fn an_end_in_order_is_told_from_another() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("marks");
    let (mut journal, found) = opened(&path);
    assert!(found.clean, "a new file has nothing under way");
    journal.raise(&[(key("/a"), Token(1))]).expect("writes");
    drop(journal);
    let (mut journal, found) = opened(&path);
    assert!(!found.clean);
    journal.end().expect("writes");
    drop(journal);
    assert!(opened(&path).1.clean);
    raised(&path, &[("/a", 2)]);
    assert!(!opened(&path).1.clean, "raised again after it");
}

#[test]
fn one_gate_a_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("marks");
    let (_journal, _) = opened(&path);
    assert!(matches!(Journal::open(&path, true), Err(MarksError::InUse(_))));
}

#[test]
fn a_foreign_file_is_left_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("marks");
    std::fs::write(&path, "my diary\n").expect("writes");
    assert!(matches!(Journal::open(&path, true), Err(MarksError::Foreign(_))));
    assert_eq!(std::fs::read_to_string(&path).expect("reads"), "my diary\n");
}

#[test]
fn it_is_rewritten_when_it_has_grown() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("marks");
    let (mut journal, _) = Journal::open(&path, false).expect("opens");
    let long = "x".repeat(900);
    for token in 1..4000 {
        journal.raise(&[(key(&long), Token(token))]).expect("writes");
    }
    drop(journal);
    let length = std::fs::metadata(&path).expect("it is there").len();
    assert!(length < REWRITE_FROM + 2000, "{length} bytes");
    assert_eq!(marks(&path), [(long, 3999)]);
}

/// A file whose disk is full: refused, nothing forgotten, and good again once there is room.
#[test]
fn a_failed_append_counts_for_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("marks");
    raised(&path, &[("/a", 5)]);
    let (mut journal, _) = opened(&path);
    // Every write to it fails: the device without room.
    let own = std::mem::replace(
        &mut journal.file,
        options().write(true).open("/dev/full").expect("a device"),
    );
    let error = journal.raise(&[(key("/a"), Token(6))]).expect_err("no room");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(journal.broken);
    // As if half of a line had come to be.
    own.write_at(b"00000000 6:", own.metadata().expect("it is there").len())
        .expect("writes");
    journal.raise(&[(key("/a"), Token(7))]).expect("a new file has room");
    assert!(!journal.broken);
    drop(journal);
    assert_eq!(marks(&path), [("/a".to_owned(), 7)]);
}
