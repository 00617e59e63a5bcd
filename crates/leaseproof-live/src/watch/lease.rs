//! One lease, as the store's readings show it. Compact: there may be a hundred thousand.

use super::grant::Grant;
use super::terms::Terms;
use super::worst::Worst;
use crate::in_force::{self, is_planned, real_budget};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// Samples are of microseconds: less than one would be shown as nothing.
const LEAST_SEEN: Duration = Duration::from_micros(1);

/// A lease under watch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lease {
    /// The last reading's moment.
    pub looked: Option<Moment>,
    /// When the expiry was looked at last, where that was before the last reading.
    pub expiry_looked: Option<Moment>,
    /// The grant in force at the last reading.
    pub grant: Option<Grant>,
    /// The last grant whose end was seen.
    pub ended: Option<Box<Ended>>,
    /// From when on the lease is seen to be free.
    pub free_since: Option<Moment>,
    /// The token counter, where the store has one.
    pub counter: Option<Token>,
    /// The greatest token of a grant that was seen since the token last went back.
    pub highest: Option<Token>,
    /// Grants that began under our eyes.
    pub holder_changes: u32,
    /// Renewals that were seen.
    pub renewals: u32,
    /// Grants whose token was not greater than that of an earlier one.
    pub fence_back: u32,
    /// Grants that ended since nobody renewed them.
    pub lapses: u32,
    /// Grants that ended, and nothing shows whether they were given back or ran out.
    pub ends_untold: u32,
    /// Those of them that may have run out only while no reading was answered: else the store would show it.
    pub ends_unseen: u32,
    /// How often a grant that was still in force had used up the plan's margin without a renewal.
    pub margins_gone: u32,
    /// How often the TTL in force was not the plan's, and the plan's budget does not hold with it.
    pub thin: u32,
    /// The longest that the lease was seen without a renewal.
    pub worst_age: Worst,
    /// Why the key can't be read as a lease, if it can't.
    pub unreadable: Option<Box<str>>,
    /// Whether that is because this user may not read it.
    pub closed: bool,
}

/// A grant whose end was seen.
#[derive(Clone, PartialEq, Debug)]
pub struct Ended {
    /// The holder.
    pub holder: HolderId,
    /// Its token.
    pub token: Option<Token>,
    /// When it ended.
    pub at: Moment,
    /// Whether nothing shows how it ended: neither the store nor its owner's own word.
    pub how: How,
}

/// What shows how a grant ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum How {
    /// The readings do: it ran out, or was given up before it could have.
    Shown,
    /// Nothing does on this store.
    NotByThisStore,
    /// No reading was answered when it may have run out.
    Unseen,
}

/// What a reading changed, where people want to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Another grant began.
    NewHolder {
        /// Who holds it now.
        holder: HolderId,
        /// Its token.
        token: Option<Token>,
    },
    /// The token went back, or did not move on.
    FenceBack {
        /// The token of an earlier grant.
        from: Token,
        /// The token of the new one.
        to: Token,
    },
    /// A grant ended since nobody renewed it.
    Lapsed {
        /// Who had it.
        holder: HolderId,
        /// Whether its expiry was surely over; else it may have been given back in its last moments.
        surely: bool,
    },
    /// A grant ended, and the store does not show whether it was given back, taken away or ran out.
    Gone {
        /// Who had it.
        holder: HolderId,
        /// How long before this reading the one before was, at the most.
        within: Duration,
        /// Whether that is why, since there had been no reading for long.
        unseen: bool,
    },
    /// The TTL in force is not the plan's (LP022), in words.
    TtlDiffers {
        /// Both numbers, and the margin where it is gone with them.
        says: String,
    },
    /// The lease is still held, and was not renewed for longer than the plan's margin bears.
    MarginGone {
        /// Who has it.
        holder: HolderId,
        /// For so long, at least.
        age: Duration,
        /// The margin.
        margin: Duration,
    },
}

impl Lease {
    /// Takes in one reading, asked and answered within `at`, whose expiry may have been looked at before.
    pub fn saw(
        &mut self,
        at: Moment,
        expiry: Option<Moment>,
        reading: &Reading,
        era: u32,
        terms: &Terms,
    ) -> Vec<Change> {
        (self.unreadable, self.closed) = (None, false);
        let known = self.known_at();
        self.expiry_looked = expiry.filter(|looked| looked.latest < at.earliest);
        // Nothing new of the expiry: what may have moved it meanwhile is not known.
        let stale = self.expiry_looked.is_some() && self.expiry_looked == known;
        // What happened between two readings happened within this.
        let before = self.looked.map_or(BootNanos(0), |last| last.earliest);
        let since = Moment::between(before, at.latest);
        let first = self.looked.is_none();
        let after_gap = self
            .looked
            .is_some_and(|last| at.earliest.since(last.latest) > terms.gap());
        self.looked = Some(at);
        // A grant came and went in between, unless it is there now.
        let unseen = self.counter.is_some() && reading.counter > self.counter;
        if reading.counter.is_some() {
            self.counter = reading.counter;
        }
        let held = reading.held.as_ref().filter(|held| !held.expired);
        let same = self
            .grant
            .as_ref()
            .zip(held)
            .is_some_and(|(grant, held)| grant.is(held));
        if same {
            let moved_since = Moment::between(
                known.map_or(BootNanos(0), |it| it.earliest),
                self.expiry_looked.unwrap_or(at).latest,
            );
            if let (Some(grant), Some(held)) = (&mut self.grant, held)
                && !stale
            {
                let since = moved_since;
                self.renewals += u32::from(grant.goes_on(held, since, era, terms));
            }
        }
        let mut changes = Vec::new();
        if !same {
            changes.extend(self.end(reading, since, at, known, terms));
        }
        match held {
            None if unseen => self.free_since = Some(since),
            None => {
                self.free_since.get_or_insert(since);
            }
            Some(_) if same => {}
            Some(held) => {
                self.free_since = None;
                self.grant = Some(Grant::new(held, since, era, terms));
                changes.extend(self.began(held, first));
            }
        }
        changes.extend(self.in_force(terms));
        if let Some(age) = self.renewal_age(at)
            && !after_gap
        {
            self.note_gap(age, at, terms);
            changes.extend(self.margin(age, terms));
        }
        changes
    }

    /// "At least nothing" says nothing, whether whole seconds hide it or the bounds of the last renewal do: that is no gap of
    /// nothing.
    fn note_gap(&mut self, age: Duration, at: Moment, terms: &Terms) {
        if age >= LEAST_SEEN {
            self.worst_age.note(age.as_secs_f64(), at.latest, terms.window);
        }
    }

    /// Whether the margin is gone by now, told once for each lack of a renewal.
    fn margin(&mut self, age: Duration, terms: &Terms) -> Option<Change> {
        let grant = self.grant.as_mut()?;
        let gone = terms.margin_used(age) >= 1.0;
        if !gone || std::mem::replace(&mut grant.margin_gone, gone) {
            grant.margin_gone = gone;
            return None;
        }
        self.margins_gone += 1;
        Some(Change::MarginGone {
            holder: grant.holder.clone(),
            age,
            margin: terms.budget.margin(),
        })
    }

    /// Whether the TTL in force is another than the plan's, told once while it is.
    fn in_force(&mut self, terms: &Terms) -> Option<Change> {
        let grant = self.grant.as_mut()?;
        let seen = grant.granted.range()?;
        let differs = is_planned(&terms.budget, seen, false) == Truth::No;
        if !differs || std::mem::replace(&mut grant.ttl_differs, differs) {
            grant.ttl_differs = differs;
            return None;
        }
        let thin = real_budget(&terms.budget, seen).and_then(|real| in_force::thin(&real));
        self.thin += u32::from(thin.is_some());
        let differs = in_force::differs(&terms.budget, seen);
        Some(Change::TtlDiffers {
            says: thin.map_or_else(|| differs.clone(), |thin| format!("{differs}; {thin}")),
        })
    }

    /// The key holds something that is no lease, or is `closed` to this user.
    pub fn unreadable(&mut self, why: &str, closed: bool) {
        self.unreadable = Some(why.chars().take(200).collect::<String>().into());
        self.closed = closed;
    }

    /// The grant that was there is there no more; told where it lapsed, or may have.
    fn end(
        &mut self,
        reading: &Reading,
        since: Moment,
        at: Moment,
        known: Option<Moment>,
        terms: &Terms,
    ) -> Option<Change> {
        let grant = self.grant.take()?;
        let mut told = None;
        // An expired row shows when exactly it expired; it was not renewed since.
        let row = reading.held.as_ref().filter(|held| held.expired && grant.is(held));
        let exact = row.and_then(|row| row.expires).filter(|end| end.latest <= at.latest);
        if let (Some(expires), Some(renewed)) = (grant.expires, grant.renewed) {
            // Overdue when it was last seen, and gone after its expiry: nobody had renewed it. One that was
            // not overdue may as well have been released.
            let looked = known.map_or(since.earliest, |it| it.earliest);
            let overdue = looked.since(renewed.latest) > terms.budget.heartbeat + terms.budget.renew_timeout;
            // Where whole seconds are shown, the first look that misses it comes before its expiry is surely over.
            if exact.is_some() || (overdue && expires.earliest <= at.latest) {
                self.lapses += 1;
                told = Some(Change::Lapsed {
                    holder: grant.holder.clone(),
                    surely: exact.is_some() || expires.latest < at.earliest,
                });
                let age = expires.earliest.since(renewed.latest);
                self.note_gap(age, at, terms);
            }
        }
        // Sessions show no expiry, and whole seconds hide when it was renewed: then it may have run out, too.
        let may_be_over = grant.expires.is_none_or(|expires| expires.earliest <= at.latest);
        let mut how = How::Shown;
        if told.is_none() && grant.has_ttl && may_be_over {
            self.ends_untold += 1;
            let unseen = grant.expires.is_some() && !grant.is_coarse();
            self.ends_unseen += u32::from(unseen);
            how = if unseen { How::Unseen } else { How::NotByThisStore };
            told = Some(Change::Gone {
                holder: grant.holder.clone(),
                within: at.latest.since(since.earliest),
                unseen,
            });
        }
        self.ended = Some(Box::new(Ended {
            holder: grant.holder,
            token: grant.token,
            at: exact.unwrap_or(since),
            how,
        }));
        told
    }

    /// Its owner says that it gave the grant back, within `at`: an end that nothing else explains is then a release.
    /// Whether it was one.
    pub fn was_released(&mut self, at: Moment, token: Option<Token>, terms: &Terms) -> bool {
        let Some(ended) = self.ended.as_deref_mut().filter(|it| it.how != How::Shown) else {
            return false;
        };
        // It is told once the store has answered, and an end is seen a reading later.
        let slack = terms.budget.renew_timeout;
        let fits = at.latest.plus(slack) >= ended.at.earliest && at.earliest <= ended.at.latest.plus(slack);
        let another = token.is_some() && ended.token.is_some() && token != ended.token;
        if !fits || another {
            return false;
        }
        self.ends_untold = self.ends_untold.saturating_sub(1);
        self.ends_unseen -= u32::from(ended.how == How::Unseen).min(self.ends_unseen);
        ended.how = How::Shown;
        true
    }

    fn began(&mut self, held: &Held, first: bool) -> Option<Change> {
        let before = self.highest;
        if held.token.is_some() {
            self.highest = held.token;
        }
        if first {
            return None;
        }
        self.holder_changes += 1;
        match (before, held.token) {
            (Some(from), Some(to)) if to <= from => {
                self.fence_back += 1;
                Some(Change::FenceBack { from, to })
            }
            _ => Some(Change::NewHolder {
                holder: held.holder.clone(),
                token: held.token,
            }),
        }
    }

    /// Whether no reading ever showed anybody to hold it.
    #[must_use]
    pub fn was_never_held(&self) -> bool {
        self.grant.is_none() && self.ended.is_none()
    }

    /// When what is known of the expiry was seen.
    fn known_at(&self) -> Option<Moment> {
        self.expiry_looked.or(self.looked)
    }

    /// How long, at least, the lease had not been renewed at the last reading.
    fn renewal_age(&self, at: Moment) -> Option<Duration> {
        let renewed = self.grant.as_ref()?.renewed?;
        let at = self.expiry_looked.unwrap_or(at);
        Some(at.earliest.since(renewed.latest))
    }

    /// How long ago it was renewed, at least, by what is known at `now`: never more than the last
    /// reading shows, since a renewal may have come after it.
    #[must_use]
    pub fn renewed_ago(&self) -> Option<Duration> {
        self.renewal_age(self.looked?)
    }

    /// What is left of the TTL at `now`, if the lease was not renewed since the last reading. Negative
    /// once that is over.
    #[must_use]
    pub fn ttl_left(&self, now: BootNanos) -> Option<f64> {
        let expires = self.grant.as_ref()?.expires?.earliest;
        let (after, before) = (expires.since(now), now.since(expires));
        Some(after.as_secs_f64() - before.as_secs_f64())
    }
}
