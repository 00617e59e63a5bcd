//! The properties.

use super::owner::Owner;
use leaseproof::Token;
use std::fmt;

/// What must hold at each instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Property {
    /// No two grants are permitted at the same instant.
    Exclusion,
    /// At the instant of a permit's clock the store has that very grant, and it has not lapsed.
    Backed,
    /// In the order of their instants permits never go back to a smaller token.
    Tokens,
    /// Nothing is permitted once the end was asked for, or the release sent.
    AfterEnd,
    /// The resource accepts no write after one of a later grant.
    Fence,
    /// Nothing is lost where nothing happens that the budget does not bear.
    Availability,
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exclusion => "two grants were permitted at the same instant",
            Self::Backed => "a permit was given for a grant that the store did not have any more",
            Self::Tokens => "tokens went back",
            Self::AfterEnd => "a permit was given after the lease was given up",
            Self::Fence => "a stale write was accepted",
            Self::Availability => "a lease was lost, or not granted, although the budget bears all that happened",
        })
    }
}

/// Looks at what the owners do, and keeps the first property that does not hold.
#[derive(Default)]
pub struct Watch {
    pub failed: Option<Property>,
    /// The greatest token of a permit, and the instant of the first with it.
    highest: Option<(Token, u64)>,
}

impl Watch {
    pub fn fail(&mut self, property: Property) {
        self.failed.get_or_insert(property);
    }

    /// A lease was granted or extended: no other may be permitted at this instant. Permits begin by that alone, so that
    /// no other instant needs a look.
    pub fn extended(&mut self, owners: &[Owner], whose: (usize, usize), instant: u64) {
        let live = owners.iter().enumerate().flat_map(|(at, owner)| {
            let now = owner.clock.read(instant);
            let leases = owner.leases.iter().enumerate();
            leases
                .filter(move |(_, lease)| now < lease.validity.until())
                .map(move |(number, _)| (at, number))
        });
        let (ours, others): (Vec<_>, Vec<_>) = live.partition(|it| *it == whose);
        if !ours.is_empty() && !others.is_empty() {
            self.fail(Property::Exclusion);
        }
    }

    /// A permit was given.
    pub fn permitted(&mut self, token: Token, circumstances: Circumstances) {
        if !circumstances.backed {
            self.fail(Property::Backed);
        }
        if circumstances.ended {
            self.fail(Property::AfterEnd);
        }
        match self.highest {
            Some((highest, first)) if token < highest && circumstances.instant > first => self.fail(Property::Tokens),
            Some((highest, _)) if token <= highest => {}
            _ => self.highest = Some((token, circumstances.instant)),
        }
    }
}

/// What was so at the instant of a permit's clock.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    pub instant: u64,
    /// The store had this very grant.
    pub backed: bool,
    /// The end was asked for, or the release sent, before.
    pub ended: bool,
}
