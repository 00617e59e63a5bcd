//! The grant in force, as reading after reading shows it: when it was renewed, and how that can be told.

use super::granted::Granted;
use super::hidden::{Hidden, is_coarse};
use super::terms::Terms;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::Held;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use std::time::Duration;

/// An expiry that moved by less than this did not move: servers round, and round trips differ.
const STILL: Duration = Duration::from_millis(5);

/// An expiry that moved by less may have been moved by a clock that is slewed: of the TTL that shows nothing.
const SURELY: Duration = Duration::from_millis(100);

/// How far a renewal that the TTL places may lie outside the two readings around it.
const NEAR: Duration = Duration::from_millis(50);

/// The grant in force.
#[derive(Clone, PartialEq, Debug)]
pub struct Grant {
    /// The holder.
    pub holder: HolderId,
    /// Its token.
    pub token: Option<Token>,
    /// When it began; from zero on where it was there at the first look.
    pub began: Moment,
    /// When it will expire, where the store shows it.
    pub expires: Option<Moment>,
    /// Whether it ends by itself.
    pub has_ttl: bool,
    /// When it was last granted or renewed, where that is known.
    pub renewed: Option<Moment>,
    /// The TTL that was granted, where it is known.
    pub ttl: Option<Duration>,
    /// What is known of the TTL in force, whatever the plan says.
    pub granted: Granted,
    /// Whether that is not the plan's.
    pub(super) ttl_differs: bool,
    /// Whether it has used up the plan's margin since its last renewal.
    pub(super) margin_gone: bool,
    /// Where whole seconds hide its expiry: what the readings since the last renewal that showed have in common.
    hidden: Option<Hidden>,
    /// The store's era in which it was last read: across a restart or a step of the server's clock no
    /// expiry moves.
    era: u32,
}

impl Grant {
    pub(super) fn new(held: &Held, since: Moment, era: u32, terms: &Terms) -> Self {
        let began = held.granted.map_or(since, Moment::exact);
        let mut grant = Self {
            holder: held.holder.clone(),
            token: held.token,
            began,
            expires: held.expires,
            has_ttl: held.expires.is_some() || held.bound.is_some(),
            renewed: None,
            ttl: held
                .bound
                .filter(|&bound| terms.most_granted.is_none_or(|most| bound < most)),
            granted: Granted::default(),
            ttl_differs: false,
            margin_gone: false,
            hidden: held
                .expires
                .filter(|it| is_coarse(*it))
                .map(|expires| Hidden::begin(expires, since)),
            era,
        };
        // At the first look it may have been renewed at any time before.
        let unseen = since.earliest == BootNanos(0);
        grant.granted = match held.expires {
            None => Granted::default(),
            Some(expires) if unseen => Granted::by_rest(expires, since),
            Some(expires) => Granted::by(expires, since),
        };
        grant.exact(held, terms);
        if terms.shows_renewals && grant.has_ttl {
            // No TTL places that.
            let first = unseen && held.granted.is_none();
            grant.renewed = match first {
                true => Some(since),
                false => grant.placed(held, since, terms).or(Some(since)),
            };
        }
        grant
    }

    /// Whether a reading shows this very grant.
    pub(super) fn is(&self, held: &Held) -> bool {
        self.holder == held.holder && self.token == held.token
    }

    /// The same grant at the next reading; whether it was renewed in between.
    pub(super) fn goes_on(&mut self, held: &Held, since: Moment, era: u32, terms: &Terms) -> bool {
        let old = self.expires;
        let same_era = self.era == era;
        self.expires = held.expires;
        self.has_ttl = held.expires.is_some() || held.bound.is_some();
        self.era = era;
        self.exact(held, terms);
        if !terms.shows_renewals {
            return false;
        }
        if let Some(renewed) = held.renewed.map(Moment::exact) {
            let moved = self.renewed.is_some_and(|last| renewed.earliest > last.latest);
            self.ttl = held.expires.map(|expires| expires.earliest.since(renewed.latest));
            self.renewed = Some(renewed);
            return moved;
        }
        let hidden = self.hidden.filter(|_| same_era);
        let jumped = match (old, held.expires) {
            (Some(old), Some(new)) if same_era && new.earliest > old.latest.plus(STILL) => Some(since),
            (_, Some(new)) => hidden.and_then(|hidden| hidden.renewal(new, since)),
            _ => None,
        };
        self.hidden = held.expires.and_then(|new| match hidden {
            Some(hidden) if jumped.is_none() => Some(hidden.and(new, since)),
            _ => is_coarse(new).then(|| Hidden::begin(new, since)),
        });
        self.bounded(old, held, since, jumped.filter(|_| same_era), same_era);
        let Some(since) = jumped else {
            self.may_have_renewed(held, since, terms);
            return false;
        };
        self.renewed = self.placed(held, since, terms).or(Some(since));
        true
    }

    /// The TTL in force, where the store shows it: of its session, in its own words, or by the row's own moments.
    fn exact(&mut self, held: &Held, terms: &Terms) {
        if let Some(bound) = held.bound {
            self.granted = match terms.most_granted {
                Some(most) if bound >= most => Granted::default(),
                _ => Granted::exactly(bound),
            };
        } else if let Some(ttl) = held.ttl {
            // Sharper than what is left when a renewal shows: its transaction may have taken a while.
            self.granted = Granted::exactly(ttl);
        } else if let (Some(expires), Some(renewed)) = (held.expires, held.renewed) {
            self.granted = self.granted.and(Granted::by(expires, Moment::exact(renewed)));
        }
    }

    /// What an expiry that moved from `old` says of the TTL in force; `jumped`: when, where it moved on.
    fn bounded(&mut self, old: Option<Moment>, held: &Held, since: Moment, jumped: Option<Moment>, same_era: bool) {
        let (Some(old), Some(new), None) = (old, held.expires, held.bound.or(held.ttl)) else {
            return;
        };
        match jumped {
            Some(since) if is_coarse(new) || new.earliest > old.latest.plus(SURELY) => {
                self.granted = self.granted.and(Granted::by(new, since));
            }
            None if same_era && new.latest.plus(SURELY) < old.earliest => self.granted = Granted::by(new, since),
            _ => {}
        }
    }

    /// Whether its expiry is known so badly that renewals may hide in it.
    pub(super) fn is_coarse(&self) -> bool {
        self.expires.is_some_and(is_coarse)
    }

    /// Where the store shows the expiry in whole seconds, a renewal may hide in what is not known of it: the
    /// last one is then no older than the latest expiry that there can be, less the TTL.
    fn may_have_renewed(&mut self, held: &Held, since: Moment, terms: &Terms) {
        let ttl = self.ttl.unwrap_or(terms.budget.ttl);
        if let (Some(expires), Some(renewed)) = (held.expires, &mut self.renewed)
            && is_coarse(expires)
        {
            renewed.latest = renewed.latest.max(expires.latest.minus(ttl).min(since.latest));
        }
    }

    /// Where the plan's TTL says that the last renewal was, if that lies where one can have been.
    fn placed(&mut self, held: &Held, since: Moment, terms: &Terms) -> Option<Moment> {
        if let Some(renewed) = held.renewed.or(held.granted) {
            self.ttl = held.expires.map(|expires| expires.earliest.since(renewed));
            return Some(Moment::exact(renewed));
        }
        let expires = held.expires?;
        let ttl = terms.budget.ttl;
        let at = Moment {
            earliest: expires.earliest.minus(ttl),
            latest: expires.latest.minus(ttl),
        };
        let fits = at.latest.plus(NEAR) >= since.earliest && at.earliest <= since.latest.plus(NEAR);
        if !fits {
            return None;
        }
        self.ttl = Some(ttl);
        Some(at)
    }
}
