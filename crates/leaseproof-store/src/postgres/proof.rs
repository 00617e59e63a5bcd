//! The proof that a lease is over: nobody who may have renewed it in time is still in the middle.
//!
//! A SELECT sees committed rows only. A renewal that was decided a moment before the expiry shows when
//! it is committed: a disk's moment later for our own single statement, and any time later for an owner
//! that is frozen between BEGIN and COMMIT. Until then an expired row is not the last word.
//!
//! A lock on the row would be an answer, but it needs the right to write, and makes owners wait for an
//! observer. So the table's locks are listed instead, which every user may: a statement that changes or
//! locks a row locks its table first, then reads the clock, and keeps the table locked until its change
//! can be seen. If the expiry has passed when the list is begun, then whoever isn't on it reads a clock
//! that is past the expiry; and once none of those on it is left, a row that still stands as it did is
//! what they all left behind. Only they count: others may come and go on a busy table.

use crate::postgres::row::Entry;
use std::collections::{BTreeSet, HashMap};

/// A list of the table's writers.
#[derive(Clone, Debug)]
pub(crate) struct Writers {
    /// The server's clock before the list was made, in µs.
    pub(crate) began: i64,
    /// Their virtual transactions.
    pub(crate) open: BTreeSet<String>,
}

/// What is known of the expired row of each key.
#[derive(Debug, Default)]
pub(crate) struct Proofs {
    pending: HashMap<String, Pending>,
}

#[derive(Debug)]
struct Pending {
    entry: Entry,
    /// Those of the first list after the expiry that were on each list since.
    open: BTreeSet<String>,
}

impl Proofs {
    /// Whether `entry` is proven to be over, by what was seen before.
    pub(crate) fn proven(&self, key: &str, entry: &Entry) -> bool {
        self.pending
            .get(key)
            .is_some_and(|pending| pending.entry == *entry && pending.open.is_empty())
    }

    /// Notes a list that was made before `entry` was read, and whether that proves it to be over.
    pub(crate) fn note(&mut self, key: &str, entry: &Entry, writers: &Writers) -> bool {
        let expires = entry.lease.as_ref().and_then(|lease| lease.expires);
        if expires.is_none_or(|expires| writers.began < expires) {
            self.pending.remove(key);
            return false;
        }
        match self.pending.get_mut(key) {
            Some(pending) if pending.entry == *entry => {
                pending.open.retain(|writer| writers.open.contains(writer));
            }
            _ => {
                let pending = Pending {
                    entry: entry.clone(),
                    open: writers.open.clone(),
                };
                self.pending.insert(key.to_owned(), pending);
            }
        }
        self.proven(key, entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::row::{Row, row_for_tests};

    fn writers(began: i64, open: &[&str]) -> Writers {
        Writers {
            began,
            open: open.iter().map(|&writer| writer.to_owned()).collect(),
        }
    }

    fn row(expires: i64) -> Row {
        row_for_tests(0, Some(expires))
    }

    #[test]
    fn without_writers_one_list_after_the_expiry_will_do() {
        let mut proofs = Proofs::default();
        let entry = row(100).entry;
        assert!(!proofs.note("k", &entry, &writers(99, &[])), "too early");
        assert!(proofs.note("k", &entry, &writers(100, &[])));
        assert!(proofs.proven("k", &entry));
        assert!(!proofs.proven("k", &row(101).entry), "another row");
        assert!(!proofs.proven("other", &entry));
    }

    #[test]
    fn only_those_who_were_there_then_are_waited_for() {
        let mut proofs = Proofs::default();
        let entry = row(100).entry;
        assert!(!proofs.note("k", &entry, &writers(100, &["3/1", "4/7"])));
        assert!(!proofs.note("k", &entry, &writers(110, &["3/1", "5/2"])));
        assert!(proofs.note("k", &entry, &writers(120, &["5/2", "4/7"])), "4/7 had gone");
    }

    #[test]
    fn a_row_that_moved_begins_anew() {
        let mut proofs = Proofs::default();
        assert!(!proofs.note("k", &row(100).entry, &writers(100, &["3/1"])));
        assert!(
            !proofs.note("k", &row(200).entry, &writers(120, &[])),
            "renewed in time"
        );
        assert!(proofs.note("k", &row(200).entry, &writers(200, &[])));
    }
}
