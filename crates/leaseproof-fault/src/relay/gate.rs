//! Which direction a relay holds back.

use std::collections::BTreeMap;

/// Who holds back what. Faults overlap, so a direction is open when none of them holds it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Gate {
    holds: BTreeMap<u64, Hold>,
}

/// What one fault holds back.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Hold {
    /// Both directions.
    Both,
    /// What the owner sends.
    Requests,
    /// What the store answers.
    Answers,
}

/// A direction of a connection.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    /// From the owner to the store.
    Request,
    /// From the store to the owner.
    Answer,
}

impl Gate {
    pub(super) fn hold(&mut self, fault: u64, hold: Hold) {
        self.holds.insert(fault, hold);
    }

    pub(super) fn release(&mut self, fault: u64) {
        self.holds.remove(&fault);
    }

    pub(super) fn is_held(&self, direction: Direction) -> bool {
        self.holds.values().any(|hold| match hold {
            Hold::Both => true,
            Hold::Requests => direction == Direction::Request,
            Hold::Answers => direction == Direction::Answer,
        })
    }
}
