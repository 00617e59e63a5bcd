//! What is known so far in a running scenario: enough to decide when a fault may end. The judge
//! decides everything else, later, from the same events.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Deed, Event, FaultKind, FaultPhase, Held, Outcome, OwnerEvent, What, WireSeen};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, OwnerName, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A grant as it is seen live.
#[derive(Clone, PartialEq, Debug)]
pub struct Seen {
    /// The holder, as stored.
    pub holder: HolderId,
    /// Its token, where the store shows one.
    pub token: Option<Token>,
    /// Whose it is, as far as it is known.
    pub owner: Option<OwnerName>,
    /// When it was first seen.
    pub first: Moment,
    /// Its latest expiry.
    pub expires: Option<Moment>,
    /// The TTL granted, where the store doesn't show when it will be over, nor its renewals.
    pub bound: Option<Duration>,
    /// How often the expiry moved forward; where the store doesn't show it, how often its owner says so.
    pub renewals: u32,
}

/// What is known of one owner process.
#[derive(Clone, Default, Debug)]
pub struct Known {
    /// The last accepted write, and how many there were.
    pub last_write: Option<Moment>,
    /// How many writes arrived.
    pub writes: u64,
    /// Whether the last one carried a token.
    pub wrote_token: bool,
    /// The last thing it said.
    pub last_said: Option<OwnerEvent>,
    /// When it last said that it acquired the lease.
    pub acquired: Option<Moment>,
    /// Anything said or written so far.
    pub observable: bool,
    /// How many event lines it printed.
    pub said: u64,
    /// Whether it ended.
    pub ended: bool,
    /// Stopped or dead by a fault of ours, from its confirmation to its undoing.
    pub stopped: bool,
    /// A write of it is held in flight.
    pub write_held: bool,
    /// The answer to a read of it is held back.
    pub read_held: bool,
    /// How often it filled the cache.
    pub fills: u64,
    /// Requests that the relay swallowed.
    pub swallowed: u64,
    /// Answers that the relay holds, or held, back.
    pub unread: u64,
    /// Connections that the relay saw opened.
    pub connections: u64,
}

/// The scene.
#[derive(Default, Debug)]
pub struct Scene {
    place: usize,
    /// The grant that the store shows now (an expired row of SQLite is none).
    pub grant: Option<Seen>,
    /// The latest reading's holder, expired or not.
    pub held: Option<Held>,
    /// The moment of the latest change of the holder.
    pub changed: Option<Moment>,
    /// Expiry was proven for the grant in `held`, or the key was seen without it.
    pub expiry_proven: bool,
    /// The moment of the event that was taken in last.
    pub now: Option<Moment>,
    /// Every grant seen, in order.
    pub grants: Vec<Seen>,
    /// The owner processes.
    pub owners: BTreeMap<OwnerName, Known>,
    /// The runner was late in this cycle.
    pub rig_late: bool,
    /// A writer was frozen inside its transaction in this cycle.
    pub writer_frozen: bool,
    lab_holders: BTreeSet<HolderId>,
}

impl Scene {
    /// Where to go on scanning.
    #[must_use]
    pub fn place(&self) -> usize {
        self.place
    }

    /// Notes how far the record was taken in.
    pub fn set_place(&mut self, place: usize) {
        self.place = place;
    }

    /// Who holds the lease now, where that is known.
    #[must_use]
    pub fn holder(&self) -> Option<&OwnerName> {
        self.grant.as_ref().and_then(|grant| grant.owner.as_ref())
    }

    /// What is known of an owner.
    #[must_use]
    pub fn known(&self, owner: &OwnerName) -> Known {
        self.owners.get(owner).cloned().unwrap_or_default()
    }

    /// Takes in one event.
    pub fn take(&mut self, event: &Event) {
        self.now = Some(event.at);
        match &event.what {
            What::Reading(reading) => self.reading(event.at, reading.held.as_ref()),
            What::LabDid(deed) if deed.outcome == Outcome::Applied => {
                if let Some(holder) = &deed.holder
                    && matches!(deed.deed, Deed::Acquired | Deed::Stole)
                {
                    self.lab_holders.insert(holder.clone());
                    if let Some(grant) = self.grant.as_mut().filter(|grant| &grant.holder == holder) {
                        grant.owner = Some(OwnerName::lab());
                    }
                }
            }
            What::RigLate { .. } => self.rig_late = true,
            What::WriterFrozen => self.writer_frozen = true,
            What::Write(write) if !write.replay => {
                if let Some(owner) = &event.owner {
                    let known = self.owners.entry(owner.clone()).or_default();
                    known.observable = true;
                    known.writes += 1;
                    known.write_held = false;
                    known.wrote_token = write.token.is_some();
                    if write.accepted {
                        known.last_write = Some(event.at);
                    }
                }
            }
            What::WriteHeld { token, .. } => {
                if let Some(owner) = &event.owner {
                    let known = self.owners.entry(owner.clone()).or_default();
                    known.write_held = true;
                    known.wrote_token = token.is_some();
                }
            }
            What::ReadHeld { .. } => {
                if let Some(owner) = &event.owner {
                    self.owners.entry(owner.clone()).or_default().read_held = true;
                }
            }
            What::Fill(_) => {
                if let Some(owner) = &event.owner {
                    self.owners.entry(owner.clone()).or_default().fills += 1;
                }
            }
            What::Said(said) => {
                if let Some(owner) = &event.owner {
                    let known = self.owners.entry(owner.clone()).or_default();
                    known.said += 1;
                    known.observable |= said.event != OwnerEvent::Waiting;
                    known.last_said = Some(said.event);
                    if said.event == OwnerEvent::Renewed
                        && let Some(grant) = self.grant.as_mut()
                        && grant.bound.is_some()
                        && grant.owner.as_ref() == Some(owner)
                    {
                        grant.renewals += 1;
                    }
                    if said.event == OwnerEvent::Acquired {
                        known.acquired = Some(event.at);
                        self.attribute(owner, event.at, said.token);
                    }
                }
            }
            What::Started { .. } => {
                if let Some(owner) = &event.owner {
                    self.owners.entry(owner.clone()).or_default();
                }
            }
            What::Ended { .. } => {
                if let Some(owner) = &event.owner {
                    self.owners.entry(owner.clone()).or_default().ended = true;
                }
            }
            What::Fault(fault) => {
                if let Some(owner) = &event.owner
                    && matches!(
                        fault.kind,
                        FaultKind::PauseTree | FaultKind::PauseParent | FaultKind::KillTree
                    )
                {
                    let known = self.owners.entry(owner.clone()).or_default();
                    match fault.phase {
                        FaultPhase::Confirmed => known.stopped = true,
                        FaultPhase::Undone | FaultPhase::Failed => known.stopped = false,
                        FaultPhase::Asked | FaultPhase::Due => {}
                    }
                }
            }
            What::Wire(wire) => {
                if let Some(owner) = &event.owner {
                    let known = self.owners.entry(owner.clone()).or_default();
                    match wire.seen {
                        WireSeen::RequestSwallowed => known.swallowed += 1,
                        WireSeen::AnswerSwallowed => known.unread += 1,
                        WireSeen::Opened => known.connections += 1,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn reading(&mut self, at: Moment, held: Option<&Held>) {
        let live = held.filter(|held| !held.expired);
        let same = match (&self.grant, live) {
            (Some(grant), Some(held)) => grant.holder == held.holder && grant.token == held.token,
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.changed = Some(at);
        }
        match (live, same) {
            (Some(held), true) => {
                if let (Some(grant), Some(expires)) = (self.grant.as_mut(), held.expires) {
                    // Two readings of one expiry differ by their round trips; a renewal moves it by more.
                    let moved = grant
                        .expires
                        .is_none_or(|old| expires.earliest > old.latest.plus(Duration::from_millis(5)));
                    grant.renewals += u32::from(moved && grant.expires.is_some());
                    if moved {
                        grant.expires = Some(expires);
                    }
                }
            }
            (Some(held), false) => {
                let grant = Seen {
                    holder: held.holder.clone(),
                    token: held.token,
                    owner: self.owner_of(held),
                    first: at,
                    expires: held.expires,
                    bound: held.bound,
                    renewals: 0,
                };
                self.expiry_proven = false;
                self.grants.push(grant.clone());
                self.grant = Some(grant);
            }
            (None, _) => self.grant = None,
        }
        self.expiry_proven |= live.is_none() && held.is_none_or(|held| held.write_lock);
        self.held = held.cloned();
    }

    fn owner_of(&self, held: &Held) -> Option<OwnerName> {
        if self.lab_holders.contains(&held.holder) {
            return Some(OwnerName::lab());
        }
        let text = held.holder.as_str();
        let named = |name: &OwnerName| {
            text.strip_prefix(name.as_str())
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
        };
        // Its holders read `lab#…`; a stranger's may begin with the name of a host, such as `lab-pc-3`.
        if text.starts_with("lab#") {
            return Some(OwnerName::lab());
        }
        if let Some(owner) = self.owners.keys().find(|name| named(name)) {
            return Some(owner.clone());
        }
        // A stranger's value: only one owner runs, so it is that one's.
        let mut running = self.owners.iter().filter(|(_, known)| !known.ended && !known.stopped);
        match (running.next(), running.next()) {
            (Some((only, _)), None) => Some(only.clone()),
            _ => None,
        }
    }

    /// A store that shows no owner's name: the owner's own word names the grant, where it is nobody's yet.
    fn attribute(&mut self, owner: &OwnerName, at: Moment, token: Option<Token>) {
        let near = |grant: &Seen| {
            token.is_some() && token == grant.token
                || grant.first.latest.plus(std::time::Duration::from_millis(500)) >= at.earliest
        };
        if let Some(grant) = self.grant.as_mut().filter(|grant| grant.owner.is_none() && near(grant)) {
            grant.owner = Some(owner.clone());
        }
    }

    /// Whether this owner's write was accepted at or after `from`.
    #[must_use]
    pub fn wrote_since(&self, owner: &OwnerName, from: BootNanos) -> bool {
        self.owners
            .get(owner)
            .and_then(|known| known.last_write)
            .is_some_and(|at| at.earliest >= from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_name_their_owners() {
        let mut scene = Scene::default();
        scene.owners.insert(OwnerName::from("a1"), Known::default());
        scene.owners.insert(OwnerName::from("b1"), Known::default());
        for (holder, owner) in [
            ("a1#5f", Some("a1")),
            ("b1:7", Some("b1")),
            ("lab#5f", Some("lab")),
            // Hosts are called so, and theirs are owners like any other.
            ("lab-pc-3:5f", None),
            ("lab", None),
            ("a12#5f", None),
            ("5f3c", None),
        ] {
            let held = Held {
                holder: HolderId::from(holder),
                token: None,
                expires: None,
                bound: None,
                ttl: None,
                expired: false,
                granted: None,
                renewed: None,
                write_lock: false,
            };
            let is = scene.owner_of(&held);
            assert_eq!(is.as_ref().map(OwnerName::as_str), owner, "{holder}");
        }
    }
}
