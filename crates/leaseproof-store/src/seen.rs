//! When a key's state was seen last, so that a change has a bracket.

use leaseproof_model::clock::BootNanos;
use std::collections::HashMap;

/// The last state of each key that an observer looked at. `S` is the state as the store has it, free
/// of what differs from one reading to the next by itself (round trips, server time).
#[derive(Debug)]
pub(crate) struct Seen<S> {
    last: HashMap<String, (BootNanos, S)>,
}

impl<S: PartialEq> Seen<S> {
    pub(crate) fn new() -> Self {
        Self { last: HashMap::new() }
    }

    /// The state that was noted last.
    pub(crate) fn state(&self, key: &str) -> Option<&S> {
        self.last.get(key).map(|(_, state)| state)
    }

    /// Notes a reading asked at `asked`; if the one before showed another state, when that was asked.
    pub(crate) fn note(&mut self, key: &str, asked: BootNanos, state: S) -> Option<BootNanos> {
        match self.last.get_mut(key) {
            Some(last) => {
                let previous = (last.1 != state).then_some(last.0);
                *last = (asked, state);
                previous
            }
            None => {
                self.last.insert(key.to_owned(), (asked, state));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_bracketed_by_the_last_look_at_that_key() {
        let mut seen = Seen::new();
        assert_eq!(seen.note("k", BootNanos(1), "a"), None);
        assert_eq!(seen.note("other", BootNanos(2), "b"), None);
        assert_eq!(seen.note("k", BootNanos(3), "a"), None);
        assert_eq!(seen.note("k", BootNanos(4), "b"), Some(BootNanos(3)));
        assert_eq!(seen.note("k", BootNanos(5), "b"), None);
    }
}
