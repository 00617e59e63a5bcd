//! A grant that the store may truly have given, and lost with the state that it went on from.

use crate::timeline::{Act, Owner, Switch, Timeline};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::OwnerEvent;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use std::collections::HashMap;
use std::time::Duration;

/// What an owner's grants that no look shows began with, beside the changes of the store's state.
pub(super) struct Lost<'t> {
    switches: &'t [Switch],
    /// When each token was first seen with this owner.
    tokens: HashMap<Token, Moment>,
    /// Each `acquired` that it said, in order.
    acquired: Vec<Moment>,
    /// A grant that was given so long before the change was over by then.
    ttl: Duration,
    /// An owner that was given one may act so long after the change.
    grace: Duration,
    /// How far looks around an act reach.
    gap: Duration,
}

impl<'t> Lost<'t> {
    pub(super) fn of(timeline: &Timeline<'_>, owner: &Owner<'_>, switches: &'t [Switch]) -> Self {
        let mut tokens: HashMap<Token, Moment> = HashMap::new();
        let acquired = || owner.said.iter().filter(|saying| saying.is(OwnerEvent::Acquired));
        // Without a change nothing is asked.
        if !switches.is_empty() {
            let acts = owner.acts.iter().filter(|act| act.says_from.is_none());
            let acted = acts.filter_map(|act| Some((act.token?, act.at)));
            let said = acquired().filter_map(|saying| Some((saying.said.token?, saying.at)));
            for (token, at) in acted.chain(said) {
                tokens.entry(token).and_modify(|it| *it = at.min(*it)).or_insert(at);
            }
        }
        let budget = &timeline.ask.budget;
        Self {
            switches,
            tokens,
            acquired: acquired().map(|saying| saying.at).collect(),
            ttl: budget.ttl,
            grace: budget.ttl + budget.heartbeat + budget.renew_timeout,
            gap: timeline.store.longest_gap,
        }
    }

    /// When this owner first showed the token.
    pub(super) fn first_shown(&self, token: Token) -> Option<Moment> {
        self.tokens.get(&token).copied()
    }

    /// The change with which the grant of a token may have been lost, before a look that lacks it.
    pub(super) fn token(&self, token: Token, look: Moment) -> Option<&'t Switch> {
        self.since(self.first_shown(token)?, look.latest).find(|it| !it.keeps)
    }

    /// The change with which the grant that an act rests on may have been lost. `run` is the first act in a row
    /// that no grant answers to.
    pub(super) fn act(&self, act: &Act<'_>, run: Moment) -> Option<&'t Switch> {
        let said = self
            .acquired
            .partition_point(|it| it.earliest <= act.at.latest)
            .checked_sub(1);
        let began = match (act.token, said) {
            (Some(token), _) => self.first_shown(token)?,
            (None, Some(said)) => self.acquired[said],
            (None, None) => run,
        };
        let mut near = self.since(began, act.at.latest.plus(self.gap));
        near.find(|it| it.hides(act.at.earliest, self.grace))
    }

    /// The changes since a grant that was first seen with its owner at `began` can have been given.
    fn since(&self, began: Moment, until: BootNanos) -> impl Iterator<Item = &'t Switch> {
        let from = began.earliest.minus(self.ttl);
        self.switches.iter().filter(move |it| it.falls_into(from, until))
    }
}

pub(super) fn says(owner: &Owner<'_>, token: Option<Token>, switch: &Switch) -> String {
    let token = token.map_or_else(String::new, |token| format!(" with token {token}"));
    let why = match switch.keeps {
        false => "what it had granted right before may be lost with that, so that nobody can tell",
        true => "until it was looked at again a grant may have come and gone, so that nobody can tell",
    };
    format!(
        "{} acted{token} on a grant that no look shows, and the store went on from another state just then: {why}",
        owner.name
    )
}
