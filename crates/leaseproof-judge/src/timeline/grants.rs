//! Readings → grants. A grant is a contiguous span of one holder and token.

use super::grant::{By, Change, End, EndKind, Grant, Moved};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use std::collections::HashMap;
use std::time::Duration;

/// A jump of the expiry below this, beyond the interval itself, is jitter and no renewal.
pub(crate) const JITTER: Duration = Duration::from_millis(2);

/// How far the distance of the store's clock and ours may move between two readings before an expiry
/// that moved with it is called a step of the clock, and no renewal.
const STEP: Duration = Duration::from_millis(10);

/// Walks the readings in their own order.
///
/// `late` is how late a lease may be gone after its expiry.
pub(crate) fn grants<'h>(readings: &[(&'h Event, &'h Reading)], late: Duration) -> Vec<Grant<'h>> {
    let mut walk = Walk {
        grants: Vec::new(),
        current: None,
        known: HashMap::new(),
        row: None,
        late,
    };
    let mut before: Option<(&Event, &Reading)> = None;
    for (event, reading) in readings.iter().copied() {
        let earliest = reading
            .previous
            .or(before.map(|(it, _)| it.at.earliest))
            .unwrap_or(BootNanos(0));
        let bracket = Moment {
            earliest: earliest.min(event.at.latest),
            latest: event.at.latest,
        };
        let epoch_changed = before.is_some_and(|(_, it)| it.epoch.is_some() && it.epoch != reading.epoch);
        let stepped = before.is_some_and(|it| clock_stepped(it, (event, reading)));
        walk.step(event, reading, bracket, epoch_changed, stepped);
        before = Some((event, reading));
    }
    walk.grants
}

/// Whether the store's clock moved against ours between two readings, whatever their uncertainty.
pub(crate) fn clock_stepped(before: (&Event, &Reading), after: (&Event, &Reading)) -> bool {
    let offset = |(event, reading): (&Event, &Reading)| -> Option<(i128, i128)> {
        let server = i128::from(reading.server_ns?);
        Some((
            server - i128::from(event.at.latest.0),
            server - i128::from(event.at.earliest.0),
        ))
    };
    let (Some((low, high)), Some((next_low, next_high))) = (offset(before), offset(after)) else {
        return false;
    };
    let step = STEP.as_nanos() as i128;
    next_low > high + step || next_high < low - step
}

/// When the lease ends by the clock of the store that was read with it.
fn server_expiry(event: &Event, reading: &Reading, held: &Held) -> Option<i128> {
    let left = i128::from(held.expires?.earliest.0) - i128::from(event.at.earliest.0);
    Some(i128::from(reading.server_ns?) + left)
}

struct Walk<'h> {
    grants: Vec<Grant<'h>>,
    current: Option<usize>,
    /// The last grant of each holder and token.
    known: HashMap<(&'h HolderId, Option<Token>), usize>,
    /// The grant whose expired row still stands.
    row: Option<usize>,
    late: Duration,
}

impl<'h> Walk<'h> {
    fn step(&mut self, event: &'h Event, reading: &'h Reading, bracket: Moment, epoch_changed: bool, stepped: bool) {
        let Some(held) = &reading.held else {
            if let Some(index) = self.current.take() {
                self.close(index, event, bracket, false, epoch_changed || stepped);
            }
            self.row = None;
            return;
        };
        if let Some(index) = self.current {
            if same(&self.grants[index], held) {
                self.update(index, event, reading, held, bracket, stepped);
                return;
            }
            self.close(index, event, bracket, true, epoch_changed || stepped);
            self.current = None;
        } else if let Some(index) = self.row
            && same(&self.grants[index], held)
        {
            self.after_expiry(index, event, reading, held, bracket);
            return;
        }
        self.row = None;
        self.open(event, reading, held, bracket);
    }

    fn open(&mut self, event: &'h Event, reading: &'h Reading, held: &'h Held, bracket: Moment) {
        let key = (&held.holder, held.token);
        let index = self.grants.len();
        let revives = self.known.insert(key, index);
        let begin = match held.granted {
            Some(granted) if revives.is_none_or(|old| self.grants[old].granted != Some(granted)) => {
                Moment::exact(granted)
            }
            // The row of an earlier grant stands again: it can't have begun when that one did.
            Some(_) => held.renewed.map_or(bracket, Moment::exact),
            None => bracket,
        };
        let extension = match (held.granted, held.renewed, held.expires) {
            (Some(granted), Some(renewed), Some(expires)) if renewed > granted && begin.latest < renewed => {
                Some(Change {
                    at: Moment::exact(renewed),
                    since: bracket.earliest,
                    expires,
                    event: event.id,
                })
            }
            _ => None,
        };
        self.grants.push(Grant {
            holder: &held.holder,
            token: held.token,
            said_token: None,
            granted: held.granted,
            renewed: held.renewed,
            begin,
            first: event,
            first_expiry: if extension.is_none() { held.expires } else { None },
            expiry: held.expires,
            server_expiry: server_expiry(event, reading, held),
            bound: held.bound,
            ttl: held.ttl,
            without_ttl: (held.expires.is_none() && held.bound.is_none()).then_some(event.id),
            extensions: extension.into_iter().collect(),
            shrinks: Vec::new(),
            moved: Vec::new(),
            long_over: None,
            end: None,
            by: By::Unknown,
            revives,
            acquired: None,
            may_be_acquired: false,
            owner_speaks: false,
            due: None,
            due_for_writes: None,
            write_lock_after: None,
            epoch: reading.epoch.as_deref(),
        });
        self.current = Some(index);
        if held.expired {
            self.expire(index, event, held, bracket);
        }
    }

    fn update(
        &mut self,
        index: usize,
        event: &'h Event,
        reading: &'h Reading,
        held: &'h Held,
        bracket: Moment,
        stepped: bool,
    ) {
        let grant = &mut self.grants[index];
        // Exact moments decide; without them a jump beyond all doubt does, on a steady clock, in one epoch.
        let renewed = match (held.renewed, grant.renewed) {
            (Some(new), Some(old)) => new != old,
            _ => false,
        };
        if renewed
            && let (Some(at), Some(old)) = (held.renewed, grant.expiry)
            && at >= old.latest
            && bracket.earliest >= old.latest
        {
            // The renewal was decided when the old expiry had passed, and a look after that expiry had
            // shown no other in between: the grant was revived.
            self.end_at_expiry(index, event, bracket);
            self.current = None;
            self.open(event, reading, held, bracket);
            return;
        }
        let one_epoch = grant.epoch == reading.epoch.as_deref();
        let steady = !stepped && one_epoch;
        // Where an expiry still waits for its proof, the clock of the reading shows it all the same.
        let over = held.expired || held.expires.is_some_and(|expires| has_passed(expires, event));
        if over
            && !steady
            && grant
                .expiry
                .is_some_and(|expiry| expiry.earliest > bracket.latest.plus(JITTER))
        {
            // By the clock that stepped the row is over, and by any other it is not: the store ended it then.
            grant.end = Some(End {
                at: bracket,
                seen: bracket,
                kind: EndKind::LostByStore,
                event: event.id,
            });
            self.current = None;
            self.row = Some(index);
            return;
        }
        grant.epoch = reading.epoch.as_deref();
        grant.renewed = held.renewed;
        let Some(expires) = held.expires else {
            if held.bound.is_none() {
                grant.without_ttl.get_or_insert(event.id);
            }
            grant.expiry = None;
            return;
        };
        // A row that says itself that it is over was only looked at late.
        if !held.expired && expires.latest.plus(self.late) < event.at.earliest {
            // It should have been gone long ago, and lives. Where its expiry went back to there, the clock that
            // shows it did, and nothing is known of the expiry; else the store itself did not run.
            if let Some(old) = grant.expiry.filter(|old| expires.latest.plus(JITTER) < old.earliest) {
                let to = Change {
                    at: bracket,
                    since: bracket.earliest,
                    expires,
                    event: event.id,
                };
                grant.long_over.get_or_insert(Moved { from: old, to });
                grant.expiry = None;
            }
            return;
        }
        let server_expiry = server_expiry(event, reading, held);
        let moved = match (server_expiry, grant.server_expiry) {
            (Some(new), Some(old)) => new.abs_diff(old) > JITTER.as_nanos(),
            _ => true,
        };
        grant.server_expiry = server_expiry;
        let at = match held.renewed {
            Some(exact) if renewed => Moment::exact(exact),
            _ => bracket,
        };
        let change = Change {
            at,
            since: bracket.earliest,
            expires,
            event: event.id,
        };
        match grant.expiry {
            None => {
                grant.first_expiry.get_or_insert(expires);
                grant.expiry = Some(expires);
                grant.extensions.push(change);
            }
            Some(old) if renewed || (steady && moved && expires.earliest > old.latest.plus(JITTER)) => {
                grant.expiry = Some(expires);
                grant.extensions.push(change);
            }
            Some(old) if steady && moved && expires.latest.plus(JITTER) < old.earliest => {
                grant.expiry = Some(expires);
                grant.shrinks.push(change);
            }
            Some(old) => {
                if !one_epoch {
                    grant.moved.push(Moved { from: old, to: change });
                }
                // One expiry, or one that moved on by less than the readings show: not before what the
                // earlier reading allows, and as late as this one does.
                let both = Moment {
                    earliest: old.earliest.max(expires.earliest),
                    latest: expires.latest,
                };
                grant.expiry = Some(if both.earliest <= both.latest { both } else { expires });
            }
        }
        if held.expired {
            self.expire(index, event, held, bracket);
        }
    }

    /// A row that is past its expiry stays until the next grant.
    fn expire(&mut self, index: usize, event: &'h Event, held: &Held, bracket: Moment) {
        self.end_at_expiry(index, event, bracket);
        if held.write_lock {
            self.grants[index].write_lock_after.get_or_insert(event.id);
        }
        self.current = None;
        self.row = Some(index);
    }

    fn end_at_expiry(&mut self, index: usize, event: &Event, bracket: Moment) {
        let grant = &mut self.grants[index];
        let at = grant.expiry.unwrap_or(bracket);
        // The row itself says that nothing but its expiry ended it.
        let seen = Moment {
            earliest: at.earliest.min(bracket.latest),
            latest: bracket.latest,
        };
        grant.end = Some(End {
            at,
            seen,
            kind: EndKind::Expired,
            event: event.id,
        });
    }

    /// The row of an expired grant is seen again.
    fn after_expiry(&mut self, index: usize, event: &'h Event, reading: &'h Reading, held: &'h Held, bracket: Moment) {
        let grant = &self.grants[index];
        let moved = held.renewed != grant.renewed
            || matches!((held.expires, grant.expiry), (Some(new), Some(old)) if new.earliest > old.latest.plus(JITTER));
        if !moved {
            if held.write_lock {
                self.grants[index].write_lock_after.get_or_insert(event.id);
            }
            let end = self.grants[index].end;
            let waits = end.is_some_and(|end| end.kind == EndKind::LostByStore)
                && held.expires.is_some_and(|expires| has_passed(expires, event));
            if !held.expired && !waits {
                self.current = Some(index);
                self.grants[index].end = None;
            }
            return;
        }
        let in_time = matches!((held.renewed, grant.expiry), (Some(at), Some(old)) if at < old.earliest);
        if in_time {
            // A renewal decided in time and committed late, by a writer frozen inside its transaction.
            self.grants[index].end = None;
            self.current = Some(index);
            self.update(index, event, reading, held, bracket, false);
        } else {
            self.open(event, reading, held, bracket);
        }
    }

    /// It is gone, or another's; who did it is found out when all grants are known.
    fn close(&mut self, index: usize, event: &Event, bracket: Moment, replaced: bool, store_moved: bool) {
        let grant = &mut self.grants[index];
        // Where the expiry isn't shown, it can't have come before a TTL after the begin.
        let passed = match (grant.expiry, grant.bound) {
            (Some(expiry), _) => expiry.earliest <= bracket.latest.plus(JITTER),
            (None, Some(ttl)) => !store_moved && grant.begin.earliest.plus(ttl) <= bracket.latest.plus(JITTER),
            (None, None) => false,
        };
        let kind = match (passed, store_moved, replaced) {
            (true, ..) => EndKind::Expired,
            (_, true, _) => EndKind::LostByStore,
            (.., true) => EndKind::Overwritten,
            _ => EndKind::Vanished,
        };
        let at = match (kind, grant.expiry) {
            (EndKind::Expired, Some(expiry)) => expiry,
            _ => bracket,
        };
        grant.end = Some(End {
            at,
            seen: bracket,
            kind,
            event: event.id,
        });
    }
}

/// Whether an expiry had surely come when a reading was taken.
fn has_passed(expires: Moment, event: &Event) -> bool {
    expires.latest.plus(JITTER) < event.at.earliest
}

fn same(grant: &Grant<'_>, held: &Held) -> bool {
    let granted = match (grant.granted, held.granted) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    };
    grant.holder == &held.holder && grant.token == held.token && granted
}
