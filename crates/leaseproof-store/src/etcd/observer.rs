//! Looking at a lease in etcd: holder, token and the remaining TTL together.
//!
//! The server has no one question for all three. The TTL is asked first, of the lease that the key had
//! at the last look, and the key last. A key that still has its `mod_revision` then had the same value
//! and the same lease all the time in between, so that the TTL was this holder's when it was shown. If
//! it has another, all is asked again.

use crate::Observe;
use crate::clock::boot_now;
use crate::error::StoreError;
use crate::etcd::expiry::{Known, Look};
use crate::etcd::gateway::Gateway;
use crate::etcd::message::{KeyValue, LeaseAnswer, Status};
use crate::etcd::place::{holder, token};
use crate::etcd::server::{USUAL_FLOOR, epoch, facts};
use crate::patience::Patience;
use crate::seen::Seen;
use crate::url::EtcdUrl;
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
    gateway: Gateway,
    timeout: Duration,
    facts: StoreFacts,
    seen: Seen<State>,
    /// What is known of the grant that a key had at the last look.
    known: HashMap<String, Watched>,
}

/// The state of a key, free of what differs from reading to reading by itself: holder, token, lease and
/// how often its expiry moved; and the epoch.
type State = (Option<(HolderId, u64, i64, Option<u64>)>, String);

/// A grant that is watched.
#[derive(Clone, PartialEq)]
struct Watched {
    key: KeyValue,
    epoch: String,
    /// `None`: not looked at yet.
    expiry: Option<Known>,
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
        let mut gateway = Gateway::new(url, timeout)?;
        let patience = &mut Patience::new(timeout);
        gateway.connect(patience)?;
        let version = match gateway.read::<Status>("maintenance/status", &json!({}), patience) {
            Ok(status) => status.version,
            // From 3.6 on only an administrator may ask. A key may be read, or not: that is seen then.
            Err(StoreError::Refused { why, .. }) if why.contains("permission denied") => String::new(),
            Err(error) => return Err(error),
        };
        Ok(Self {
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
    fn look(&mut self, key: &str, patience: &mut Patience) -> Result<Found, StoreError> {
        let mut watched = self.known.get(key).cloned();
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
                self.known.remove(key);
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
                key.to_owned(),
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
            "the key {key} or its leader changed in each of {TRIES} looks"
        )))
    }

    fn time_to_live(&mut self, lease: i64, patience: &mut Patience) -> Result<Shown, StoreError> {
        let asked = boot_now();
        let answer: LeaseAnswer =
            self.gateway
                .read("lease/timetolive", &json!({ "ID": lease.to_string() }), patience)?;
        let at = Moment::between(asked, boot_now());
        Ok(match answer.granted {
            0 => Shown::NoLease,
            _ if answer.ttl >= FOR_EVER => Shown::NotYet,
            granted => Shown::At(
                Look {
                    at,
                    left: answer.ttl,
                    granted,
                },
                epoch(&answer.header),
            ),
        })
    }
}

/// What a server says of a lease.
enum Shown {
    At(Look, String),
    /// It knows none.
    NoLease,
    /// Its leader is new, and not ready to say.
    NotYet,
}

impl Observe for Observer {
    fn facts(&self) -> &StoreFacts {
        &self.facts
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        let patience = &mut Patience::new(self.timeout);
        self.gateway.connect(patience)?;
        let Found { at, epoch, held } = self.look(key, patience)?;
        let layout = self.gateway.layout;
        let held = held.map(|(key, expiry)| (holder(layout, &key), key, expiry));
        let state = held.as_ref().map(|(holder, key, expiry)| {
            let moves = expiry.map(|known| known.moves);
            (holder.clone(), key.mod_revision, key.lease, moves)
        });
        let previous = self.seen.note(key, at.earliest, (state, epoch.clone()));
        let reading = Reading {
            previous,
            held: held.map(|(holder, key, expiry)| Held {
                holder,
                token: token(layout, &key),
                expires: expiry.map(|known| known.expiry),
                bound: None,
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
}
