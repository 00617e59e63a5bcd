//! What an owner says that it believes, and what that comes to.

use super::divergence::{Judged, is_of};
use super::lease::Lease;
use super::terms::Terms;
use super::worst::Worst;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use std::time::Duration;

/// What an owner claims.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Claim {
    /// It holds the lease.
    Holds,
    /// It does not.
    Free,
    /// It has given it back: the store has answered that.
    Released,
}

/// One report of an owner's belief: it ran, and believed this, within the moment.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// When it said so.
    pub at: Moment,
    /// What it claims.
    pub claim: Claim,
    /// The token that it claims, or of what it gave back, if it says one.
    pub token: Option<Token>,
    /// When it acquired what it holds, where it said that.
    pub since: Option<Moment>,
}

/// The belief of one lease's owner.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Belief {
    /// The name that its grants begin with, where the plan says one.
    pub name: Option<Box<str>>,
    /// The last report.
    pub last: Option<Report>,
    /// Its word that it gave the lease back; none once it holds it again.
    pub released: Option<Report>,
    /// Since when it has claimed to hold without a break: the first such report, or its own word.
    pub holding_since: Option<Moment>,
    /// The first report of the token that it claims now.
    pub named_since: Option<Moment>,
    /// The first reading after that one which shows nobody.
    pub unmet: Option<Moment>,
    /// Why it could not be read the last time, if it couldn't.
    pub failed: Option<Box<str>>,
    /// How often it could not be read.
    pub failures: u32,
    /// What the last report came to.
    pub judged: Judged,
    /// The worst divergence of the last minutes.
    pub worst: Worst,
    /// Divergences that began: each is told once.
    pub divergences: u32,
}

impl Belief {
    /// Takes in a report.
    pub fn reported(&mut self, report: Report) {
        self.failed = None;
        // Two processes of one owner may write their lines in another order than they spoke.
        if self
            .last
            .as_ref()
            .is_some_and(|last| last.at.earliest > report.at.latest)
        {
            return;
        }
        // Another token is another grant.
        let same = self.last.as_ref().is_some_and(|last| last.token == report.token);
        let named = report.claim == Claim::Holds && report.token.is_some();
        self.named_since = named.then(|| self.named_since.filter(|_| same).unwrap_or(report.at));
        self.unmet = self.unmet.filter(|_| named && same);
        self.holding_since = match report.claim {
            Claim::Free | Claim::Released => None,
            Claim::Holds => report.since.or(self.holding_since.filter(|_| same)).or(Some(report.at)),
        };
        match report.claim {
            Claim::Released => self.released = Some(report.clone()),
            Claim::Holds => self.released = None,
            // It waits for another grant.
            Claim::Free => {}
        }
        self.last = Some(report);
    }

    /// A reading shows that nobody holds the lease.
    pub fn nobody_at(&mut self, at: Moment) {
        if self.named_since.is_some_and(|since| since.latest < at.earliest) {
            self.unmet.get_or_insert(at);
        }
    }

    /// It could not be read.
    pub fn failed(&mut self, why: &str) {
        self.failed = Some(why.chars().take(200).collect::<String>().into());
        self.failures = self.failures.saturating_add(1);
    }

    /// Whether it said that it gave the lease back, not that it holds it again, and can be read.
    #[must_use]
    pub fn has_given_up(&self) -> bool {
        self.failed.is_none() && self.released.is_some()
    }

    /// How old the last report is.
    #[must_use]
    pub fn age(&self, now: BootNanos) -> Option<Duration> {
        Some(now.since(self.last.as_ref()?.at.latest))
    }

    /// The last report, if it says something about now: a frozen owner says nothing, and silence is no
    /// belief. Who said that it has no lease may wait for it in silence, as long as no grant can be its own.
    #[must_use]
    pub fn known(&self, now: BootNanos, lease: &Lease, terms: &Terms) -> Option<&Report> {
        let last = self.last.as_ref().filter(|_| self.failed.is_none())?;
        let waits = last.claim != Claim::Holds && !self.may_hold(lease);
        (waits || self.age(now)? <= terms.belief_stale_after()).then_some(last)
    }

    /// Whether the lease's grant, if there is one, may be this owner's.
    fn may_hold(&self, lease: &Lease) -> bool {
        let others = |holder| self.name.as_deref().is_some_and(|name| !is_of(holder, name));
        lease.grant.as_ref().is_some_and(|grant| !others(&grant.holder))
    }

    /// The divergence now: `None` where the belief is not known, or can't be set against a grant.
    #[must_use]
    pub fn divergence(&self, now: BootNanos, lease: &Lease, terms: &Terms) -> Option<Duration> {
        self.known(now, lease, terms)?;
        match self.judged {
            Judged::Agrees => Some(Duration::ZERO),
            Judged::Diverged(by) => Some(by),
            Judged::CannotTell => None,
        }
    }
}
