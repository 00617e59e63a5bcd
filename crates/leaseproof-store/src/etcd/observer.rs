//! Looking at a lease in etcd: holder, token and the remaining TTL together.
//!
//! The server has no one question for all three. The TTL is asked first, of the lease that the key had
//! at the last look, and the key last. A key that still has its `mod_revision` then had the same value
//! and the same lease all the time in between, so that the TTL was this holder's when it was shown. If
//! it has another, all is asked again.

use crate::clock::boot_now;
use crate::error::StoreError;
use crate::etcd::expiry::{Known, Look};
use crate::etcd::gateway::Gateway;
use crate::etcd::listing::leases_below;
use crate::etcd::many::{KEYS, Many};
use crate::etcd::message::{KeyValue, LeaseAnswer, Status};
use crate::etcd::place::{holder, token};
use crate::etcd::server::{USUAL_FLOOR, epoch, facts};
use crate::inspect::{names_a_holder, shown_key};
use crate::patience::Patience;
use crate::seen::Seen;
use crate::url::EtcdUrl;
use crate::{Listing, Observe, OneOfMany, one_by_one};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::HolderId;
use leaseproof_model::store::StoreFacts;
use serde_json::json;
use std::collections::HashMap;
use std::time::Duration;

/// So often a reading is begun anew before it is given up: a key that changes hands between two requests
/// each time is not one that somebody holds.
const TRIES: u8 = 20;

/// So often a key whose lease the leader does not know is asked for again, before it is called a key
/// without a TTL: the leader may just have changed.
const UNKNOWN_LEASES: u8 = 8;

/// Between two of these.
const NAP: Duration = Duration::from_millis(10);

/// Beyond this the shown TTL is that of a leader that has not taken its leases over yet: for ever.
const FOR_EVER: i64 = 9_000_000_000;

/// An observer.
pub(crate) struct Observer {
    pub(super) gateway: Gateway,
    pub(super) timeout: Duration,
    facts: StoreFacts,
    seen: Seen<State>,
    /// What is known of the grant that a key had at the last look.
    known: HashMap<String, Watched>,
    /// The connection of readings of many keys.
    many: Many,
}

/// The state of a key, free of what differs from reading to reading by itself: holder, token, lease and
/// how often its expiry moved; and the epoch.
type State = (Option<(HolderId, u64, i64, Option<u64>)>, String);

/// A grant that is watched.
#[derive(Clone, PartialEq)]
pub(super) struct Watched {
    key: KeyValue,
    epoch: String,
    /// `None`: not looked at yet.
    expiry: Option<Known>,
}

impl Watched {
    /// Its lease, where it is time to ask for its TTL; 0: none.
    fn due_lease(&self, now: BootNanos) -> i64 {
        match self.expiry.is_none_or(|it| it.is_due(now)) {
            true => self.key.lease,
            false => 0,
        }
    }
}

/// What a reading found.
struct Found {
    at: Moment,
    epoch: String,
    /// The key, and what is known of its expiry; `None` inside: it has no TTL.
    held: Option<(KeyValue, Option<Known>)>,
}

impl Observer {
    pub(crate) fn open(url: &EtcdUrl, timeout: Duration) -> Result<Self, StoreError> {
        let mut gateway = Gateway::new(url, timeout)?.only_looks();
        let patience = &mut Patience::new(timeout);
        gateway.connect(patience)?;
        let version = match gateway.read::<Status>("maintenance/status", &json!({}), patience) {
            Ok(status) if status.version.is_empty() => return Err(gateway.strange("an answer without a version")),
            Ok(status) => status.version,
            // From 3.6 on only an administrator may ask. A key may be read, or not: that is seen then.
            Err(StoreError::Refused { why, .. }) if why.contains("permission denied") => String::new(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            many: Many::new(url, gateway.place(), timeout)?,
            gateway,
            timeout,
            facts: facts(&version, USUAL_FLOOR, url.layout),
            seen: Seen::new(),
            known: HashMap::new(),
        })
    }

    /// The same, with the floor that the server was seen to have.
    pub(super) fn facts_with_floor(&self, floor: Duration) -> StoreFacts {
        facts(&self.facts.version, floor, self.gateway.layout)
    }

    /// One consistent look.
    fn look(&mut self, key: &[u8], patience: &mut Patience) -> Result<Found, StoreError> {
        let name = shown_key(key);
        let mut watched = self.known.get(&name).cloned();
        let mut unknown_leases = 0;
        for _ in 0..TRIES {
            let asked = boot_now();
            let lease = watched.as_ref().map_or(0, |watched| watched.key.lease);
            let shown = match lease {
                0 => None,
                _ => Some(self.time_to_live(lease, patience)?),
            };
            let asked_key = boot_now();
            let range = self.gateway.range(key, patience)?;
            let answered = boot_now();
            let epoch = epoch(&range.header);
            let Some(found) = range.one() else {
                self.known.remove(&name);
                return Ok(Found {
                    at: Moment::between(asked_key, answered),
                    epoch,
                    held: None,
                });
            };
            let before = watched
                .take()
                .filter(|watched| watched.key == found && watched.epoch == epoch);
            let expiry = match (before, shown) {
                // Another key than the one whose lease was asked for.
                (None, _) => {
                    watched = Some(Watched {
                        key: found,
                        epoch,
                        expiry: None,
                    });
                    continue;
                }
                // It has no lease.
                (Some(_), None) => None,
                (Some(before), Some(shown)) => match shown {
                    Shown::At(look, by) if by == epoch => Some(match before.expiry {
                        Some(known) => known.then(look),
                        None => Known::first(look),
                    }),
                    Shown::NoLease if unknown_leases >= UNKNOWN_LEASES => None,
                    _ => {
                        if matches!(shown, Shown::NoLease) {
                            unknown_leases += 1;
                        }
                        watched = Some(before);
                        patience.nap(NAP);
                        continue;
                    }
                },
            };
            self.known.insert(
                name,
                Watched {
                    key: found.clone(),
                    epoch: epoch.clone(),
                    expiry,
                },
            );
            return Ok(Found {
                at: Moment::between(asked, answered),
                epoch,
                held: Some((found, expiry)),
            });
        }
        Err(StoreError::Unexpected(format!(
            "the key {name} or its leader changed in each of {TRIES} looks"
        )))
    }

    fn time_to_live(&mut self, lease: i64, patience: &mut Patience) -> Result<Shown, StoreError> {
        let asked = boot_now();
        let answer: LeaseAnswer =
            self.gateway
                .read("lease/timetolive", &json!({ "ID": lease.to_string() }), patience)?;
        Ok(Shown::by(&answer, Moment::between(asked, boot_now())))
    }
}

/// What a server says of a lease.
pub(super) enum Shown {
    At(Look, String),
    /// It knows none.
    NoLease,
    /// Its leader is new, and not ready to say.
    NotYet,
}

impl Shown {
    /// By an answer that came within `at`.
    pub(super) fn by(answer: &LeaseAnswer, at: Moment) -> Self {
        match answer.granted {
            0 => Self::NoLease,
            _ if answer.ttl >= FOR_EVER => Self::NotYet,
            granted => Self::At(
                Look {
                    at,
                    left: answer.ttl,
                    granted,
                },
                epoch(&answer.header),
            ),
        }
    }
}

impl Observe for Observer {
    fn facts(&self) -> &StoreFacts {
        &self.facts
    }

    fn prefer(&mut self, member: usize) {
        self.gateway.prefer(member);
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        self.read_key(key.as_bytes())
    }

    fn read_keys(&mut self, keys: &[&[u8]]) -> Result<Vec<OneOfMany>, StoreError> {
        if self.gateway.layout.is_recipe() {
            return one_by_one(keys, |key| self.read_key(key));
        }
        let mut all = Vec::with_capacity(keys.len());
        for keys in keys.chunks(KEYS) {
            all.extend(self.batch(keys)?);
        }
        Ok(all)
    }

    fn expiry_seen(&self, key: &[u8]) -> Option<Moment> {
        Some(self.known.get(&shown_key(key))?.expiry?.looked())
    }

    fn note(&mut self) -> Option<String> {
        self.many.note()
    }

    fn leases_below(&mut self, prefix: &str, most: usize) -> Result<Option<Listing>, StoreError> {
        if self.gateway.layout.is_recipe() {
            return Ok(None);
        }
        leases_below(&mut self.gateway, self.timeout, prefix, most).map(Some)
    }
}

impl Observer {
    /// A reading of a key that may be no UTF-8.
    pub(super) fn read_key(&mut self, key: &[u8]) -> Result<(Moment, Reading), StoreError> {
        let patience = &mut Patience::new(self.timeout);
        self.gateway.connect(patience)?;
        let found = self.look(key, patience)?;
        self.reading(&shown_key(key), found)
    }

    fn reading(&mut self, name: &str, found: Found) -> OneOfMany {
        let Found { at, epoch, held } = found;
        names_a_holder(name, held.as_ref().map_or(0, |(key, _)| key.value.len()))?;
        let layout = self.gateway.layout;
        let held = held.map(|(key, expiry)| (holder(layout, &key), key, expiry));
        let state = held.as_ref().map(|(holder, key, expiry)| {
            let moves = expiry.map(|known| known.moves);
            (holder.clone(), key.mod_revision, key.lease, moves)
        });
        let previous = self.seen.note(name, at.earliest, (state, epoch.clone()));
        let reading = Reading {
            previous,
            held: held.map(|(holder, key, expiry)| Held {
                holder,
                token: token(layout, &key),
                expires: expiry.map(|known| known.expiry),
                bound: None,
                ttl: expiry.and_then(|known| known.granted()),
                // Whatever its TTL says: it is held while the key is there.
                expired: false,
                granted: None,
                renewed: None,
                write_lock: false,
            }),
            counter: None,
            server_ns: None,
            epoch: Some(epoch),
        };
        Ok((at, reading))
    }

    /// At most [`KEYS`] of them. What changed hands since the last batch is asked for again.
    fn batch(&mut self, keys: &[&[u8]]) -> Result<Vec<OneOfMany>, StoreError> {
        let names: Vec<String> = keys.iter().map(|key| shown_key(key)).collect();
        let mut answers: Vec<Option<OneOfMany>> = keys.iter().map(|_| None).collect();
        let mut open: Vec<usize> = (0..keys.len()).collect();
        for _ in 0..AGAIN {
            let asked: Vec<&[u8]> = open.iter().map(|&at| keys[at]).collect();
            let watched: Vec<Option<Watched>> = open.iter().map(|&at| self.known.get(&names[at]).cloned()).collect();
            let now = boot_now();
            let all = self.many.asks_all(now);
            let due = |it: &Option<Watched>| match it {
                None => 0,
                Some(it) if all => it.key.lease,
                Some(it) => it.due_lease(now),
            };
            let leases: Vec<i64> = watched.iter().map(due).collect();
            let batch = match self.many.ask(&asked, &leases) {
                Ok(batch) => batch,
                // One key that is too large, or closed to this user, spoils the whole.
                Err(error) if is_of_one_key(&error) => break,
                // The next member is asked in the next round.
                Err(error @ (StoreError::Unreachable { .. } | StoreError::TimedOut(_))) => {
                    self.gateway.move_on();
                    self.many.go_to(self.gateway.place())?;
                    return Err(error);
                }
                Err(error) => return Err(error),
            };
            let mut next = Vec::new();
            let of_each = open
                .into_iter()
                .zip(watched)
                .zip(batch.shown.into_iter().zip(batch.found));
            for ((at, watched), (shown, found)) in of_each {
                let name = &names[at];
                let held = match found {
                    None => {
                        self.known.remove(name);
                        None
                    }
                    Some(key) => match one_of_batch(watched, shown, &key, &batch.epoch) {
                        Step::Known(expiry) => {
                            self.know(name, &key, &batch.epoch, expiry);
                            Some((key, expiry))
                        }
                        Step::Again => {
                            self.know(name, &key, &batch.epoch, None);
                            next.push(at);
                            continue;
                        }
                        Step::Alone => {
                            next.push(at);
                            continue;
                        }
                    },
                };
                let found = Found {
                    at: batch.during,
                    epoch: batch.epoch.clone(),
                    held,
                };
                answers[at] = Some(self.reading(name, found));
            }
            open = next;
            if open.is_empty() {
                break;
            }
        }
        let mut all = Vec::with_capacity(keys.len());
        for (key, answer) in keys.iter().zip(answers) {
            all.push(match answer {
                Some(answer) => answer,
                None => match self.read_key(key) {
                    Err(error) if !is_of_one_key(&error) => return Err(error),
                    answer => answer,
                },
            });
        }
        Ok(all)
    }

    fn know(&mut self, name: &str, key: &KeyValue, epoch: &str, expiry: Option<Known>) {
        let watched = Watched {
            key: key.clone(),
            epoch: epoch.to_owned(),
            expiry,
        };
        self.known.insert(name.to_owned(), watched);
    }
}

/// So often a batch is asked for what changed hands, before each of these is looked at alone.
const AGAIN: u8 = 3;

/// What comes of a key in a batch.
enum Step {
    /// It is as it was when its lease was asked for.
    Known(Option<Known>),
    /// It is another than the one whose lease was asked for.
    Again,
    /// Its leader is new, or knows no such lease: that takes a closer look.
    Alone,
}

fn one_of_batch(watched: Option<Watched>, shown: Option<Shown>, key: &KeyValue, epoch: &str) -> Step {
    match (watched.filter(|it| it.key == *key && it.epoch == epoch), shown) {
        (None, _) if key.lease == 0 => Step::Known(None),
        (None, _) => Step::Again,
        // It has no lease, or it was not time to ask for its TTL.
        (Some(before), None) => Step::Known(before.expiry),
        (Some(before), Some(Shown::At(look, by))) if by == epoch => Step::Known(Some(match before.expiry {
            Some(known) => known.then(look),
            None => Known::first(look),
        })),
        _ => Step::Alone,
    }
}

/// Whether an error is about one key, and says nothing about the next.
fn is_of_one_key(error: &StoreError) -> bool {
    match error {
        StoreError::Unexpected(_) | StoreError::OtherProtocol(_) | StoreError::NoHolder { .. } => true,
        StoreError::Refused { why, .. } => why.contains("permission denied"),
        _ => false,
    }
}
