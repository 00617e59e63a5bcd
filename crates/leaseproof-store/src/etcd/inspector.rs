//! What an etcd cluster shows beside the lease itself.

use crate::Observe;
use crate::error::StoreError;
use crate::etcd::allow::ALLOWED;
use crate::etcd::message::{KeyValue, LeaseAnswer, Member, Members, Range, Status};
use crate::etcd::observer::Observer;
use crate::etcd::place::{below, first, in_queue};
use crate::etcd::tools;
use crate::http::TOO_LONG;
use crate::inspect::{Allowed, Hints, Inspect, LONGEST_HOLDER, shown_key};
use crate::patience::Patience;
use crate::url::{EtcdUrl, Layout};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::store_view::{Attribute, Form, KeyForm, StoreView};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

/// So many keys of the lease are named.
const NAMED: usize = 5;

/// So many keys below one that is absent are looked at.
const EYED: u32 = 8;

/// So many places of a queue are looked at.
const QUEUED: u32 = 9;

/// More of its space than this unused by a database is told.
const SPARSE: u64 = 2;

/// A look at a cluster, through one of its members.
pub(crate) struct Inspector {
    observer: Observer,
    url: EtcdUrl,
    /// The lease that the key was attached to when it was looked at last; 0: none.
    lease: i64,
    /// The very key that holds the lease.
    place: Vec<u8>,
}

impl Inspector {
    pub(crate) fn open(url: &EtcdUrl, timeout: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            observer: Observer::open(url, timeout)?,
            url: url.clone(),
            lease: 0,
            place: Vec::new(),
        })
    }

    /// One answer, or why this user gets none.
    fn ask<T: DeserializeOwned>(&mut self, path: &str, body: &Value) -> Result<Shown<T>, StoreError> {
        let patience = &mut Patience::new(self.observer.timeout);
        match self.observer.gateway.read(path, body, patience) {
            Ok(answer) => Ok(Shown::Is(answer)),
            Err(StoreError::Refused { why, .. }) if why.contains("permission denied") => {
                Ok(Shown::Withheld("this user may not ask".to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    fn range(&mut self, body: &Value) -> Result<Range, StoreError> {
        let patience = &mut Patience::new(self.observer.timeout);
        self.observer.gateway.read("kv/range", body, patience)
    }

    /// What lies under a key that is there.
    fn form_of(&mut self, key: &[u8]) -> Result<Form, StoreError> {
        let size = match self.range(&first(self.observer.gateway.layout, key, 1)) {
            Ok(range) => range.one().map(|it| it.value.len()),
            Err(StoreError::Unexpected(why)) if why.contains(TOO_LONG) => {
                return Ok(Form::Foreign("a value of more than 1 MiB: not read".to_owned()));
            }
            Err(error) => return Err(error),
        };
        Ok(match size {
            None => Form::Absent,
            Some(size) if size > LONGEST_HOLDER => Form::Foreign(format!(
                "a value of {size} bytes, too long for a holder's name: its content is left out"
            )),
            Some(_) => Form::Lease,
        })
    }

    /// What lies beside a key that is absent, in the other layout. A user who may not ask is told nothing.
    fn elsewhere(&mut self, key: &[u8]) -> Result<Option<String>, StoreError> {
        let layout = self.observer.gateway.layout;
        let mut question = match layout {
            Layout::Reference => below(key, EYED),
            Layout::LockRecipe => first(Layout::Reference, key, 1),
        };
        question["keys_only"] = json!(true);
        let Shown::Is(range) = self.ask::<Range>("kv/range", &question)? else {
            return Ok(None);
        };
        Ok(match layout {
            Layout::Reference => below_words(key, &range),
            Layout::LockRecipe => range.one().map(|_| {
                "the key itself is there, as a plain lease has it: look again without ?recipe=lock".to_owned()
            }),
        })
    }

    /// Who waits in the queue behind the one that holds.
    fn waiters(&mut self, key: &[u8]) -> Result<Attribute, StoreError> {
        let mut question = below(key, QUEUED);
        question["keys_only"] = json!(true);
        Ok(match self.ask::<Range>("kv/range", &question)? {
            Shown::Is(range) => waiters_words(key, &range),
            Shown::Withheld(why) => Attribute::withheld("waiters", why),
            Shown::NotByThisStore => Attribute::not_shown("waiters"),
        })
    }

    /// The lease, as the server shows it.
    fn lease(&mut self) -> Result<Attribute, StoreError> {
        if self.lease == 0 {
            return Ok(Attribute::plain("lease", "the key is attached to none"));
        }
        let body = json!({ "ID": self.lease.to_string(), "keys": true });
        let (answer, keys_shown) = match self.ask::<LeaseAnswer>("lease/timetolive", &body)? {
            Shown::Is(answer) => (Shown::Is(answer), true),
            // Not every key of it may be this user's to read.
            _ => (
                self.ask::<LeaseAnswer>("lease/timetolive", &json!({ "ID": self.lease.to_string() }))?,
                false,
            ),
        };
        Ok(match answer {
            Shown::Is(answer) => lease_words(self.lease, &answer, keys_shown, &self.place),
            Shown::Withheld(why) => Attribute::withheld("lease", why),
            Shown::NotByThisStore => Attribute::not_shown("lease"),
        })
    }
}

/// What the keys below one that is absent mean, where one of them is a place in a queue.
fn below_words(key: &[u8], range: &Range) -> Option<String> {
    range.kvs.iter().any(|it| in_queue(key, it)).then(|| {
        let lie = match range.count {
            1 => "1 key lies".to_owned(),
            count => format!("{count} keys lie"),
        };
        format!("{lie} below it, as a lock tool's queue has them: look again with ?recipe=lock")
    })
}

/// The eldest key is the holder's; those that came later wait, in this order.
fn waiters_words(key: &[u8], range: &Range) -> Attribute {
    let places: Vec<&KeyValue> = range.kvs.iter().filter(|it| in_queue(key, it)).collect();
    let waiting: Vec<String> = places
        .iter()
        .skip(1)
        .map(|it| {
            let name = it.key.strip_prefix(key).unwrap_or(&it.key);
            format!(
                "{} (lease {:x}, since revision {})",
                shown_key(name),
                it.lease,
                it.create_revision
            )
        })
        .collect();
    let text = match (waiting.is_empty(), range.count > u64::from(QUEUED)) {
        (true, _) => "none".to_owned(),
        (false, false) => format!("{}: {}", waiting.len(), waiting.join(", ")),
        (false, true) => format!("{} and more: {}", waiting.len(), waiting.join(", ")),
    };
    Attribute::plain("waiters", text)
}

fn lease_words(id: i64, answer: &LeaseAnswer, keys_shown: bool, key: &[u8]) -> Attribute {
    if answer.granted == 0 {
        return Attribute::plain("lease", format!("{id:x}: the leader knows none of this number"))
            .worrying("the lease has ended, or the leader is new: the key may go, or stay without an expiry");
    }
    let mut text = format!(
        "{id:x}: granted for {} s, the server shows {} s left (whole seconds, cut)",
        answer.granted, answer.ttl
    );
    if !keys_shown {
        return Attribute::plain("lease", text + "; its keys are not shown to this user");
    }
    let others: Vec<String> = answer
        .keys
        .iter()
        .filter(|it| it.as_slice() != key)
        .take(NAMED)
        .map(|it| shown_key(it))
        .collect();
    text.push_str(&format!("; keys attached to it: {}", answer.keys.len()));
    if others.is_empty() {
        return Attribute::plain("lease", text);
    }
    Attribute::plain("lease", format!("{text}, besides this one {}", others.join(", ")))
        .worrying("one keep-alive extends them all, and one revocation ends them all")
}

/// Role and term of the member that answers.
fn role(status: &Status) -> Attribute {
    let member = status.header.member_id;
    let term = status.header.raft_term;
    let role = if status.is_learner {
        "learner".to_owned()
    } else if status.leader == member {
        "leader".to_owned()
    } else if status.leader == 0 {
        "member without a leader".to_owned()
    } else {
        format!("follower of {:x}", status.leader)
    };
    let attribute = Attribute::plain("role", format!("{role}, member {member:x}, term {term}"));
    match status.leader {
        0 => attribute.worrying("without a leader nothing is granted and nothing ends"),
        _ => attribute,
    }
}

fn log(status: &Status) -> Attribute {
    let behind = status.raft_index.saturating_sub(status.applied_index);
    let text = format!(
        "raft index {}, applied {}; each change is on the disks of a majority before it is answered",
        status.raft_index, status.applied_index
    );
    let attribute = Attribute::plain("persistence", text);
    if behind > 1000 {
        return attribute.worrying(format!(
            "this member has {behind} changes to apply: its answers wait for them"
        ));
    }
    attribute
}

fn alarms(status: &Status) -> Attribute {
    if status.errors.is_empty() {
        return Attribute::plain("alarms", "none");
    }
    let attribute = Attribute::plain("alarms", status.errors.join("; "));
    let has = |name: &str| status.errors.iter().any(|it| it.contains(name));
    if has("NOSPACE") {
        return attribute.worrying("no space: every grant is refused; leases that are there can be kept alive");
    }
    if has("CORRUPT") {
        return attribute.worrying("a member's data differ from the others': its answers are not to be trusted");
    }
    attribute
}

fn database(status: &Status) -> Attribute {
    let text = format!(
        "{} bytes, {} of them in use; its quota is not shown",
        status.db_size, status.db_in_use
    );
    let attribute = Attribute::plain("database", text);
    // Small ones are sparse by nature.
    if status.db_size > 1 << 30 && status.db_in_use * SPARSE < status.db_size {
        return attribute.worrying("much of it is free space that counts against the quota: defragment it");
    }
    attribute
}

fn members(members: &[Member]) -> Attribute {
    let named: Vec<String> = members
        .iter()
        .map(|it| {
            let name = if it.name.is_empty() { "never started" } else { &it.name };
            let learner = if it.is_learner { ", learner" } else { "" };
            format!("{:x} ({name}{learner})", it.id)
        })
        .collect();
    let voters = members.iter().filter(|it| !it.is_learner).count();
    let attribute = Attribute::plain("members", format!("{voters} vote: {}", named.join(", ")));
    match voters {
        1 => attribute.worrying("one member alone: while it is down nothing is granted, and its disk is the only copy"),
        2 => attribute.worrying("of two members none may be down"),
        _ => attribute,
    }
}

impl Observe for Inspector {
    fn facts(&self) -> &StoreFacts {
        self.observer.facts()
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        self.observer.read(key)
    }
}

impl Inspect for Inspector {
    fn allowed(&self) -> &'static [Allowed] {
        ALLOWED
    }

    fn form(&mut self, key: &[u8]) -> Result<KeyForm, StoreError> {
        // Without its value, which may be large.
        let range = {
            let mut question = first(self.observer.gateway.layout, key, 1);
            question["keys_only"] = json!(true);
            self.range(&question)?
        };
        let mut namespace = format!(
            "cluster {:x} at revision {}",
            range.header.cluster_id, range.header.revision
        );
        let found: Option<KeyValue> = range.one();
        self.lease = found.as_ref().map_or(0, |it| it.lease);
        self.place = key.to_vec();
        let mut elsewhere = None;
        let form = match found {
            None => {
                elsewhere = self.elsewhere(key)?;
                Form::Absent
            }
            Some(it) => {
                self.place.clone_from(&it.key);
                namespace.push_str(&format!(
                    "; the key was created at {} and changed at {}",
                    it.create_revision, it.mod_revision
                ));
                self.form_of(key)?
            }
        };
        Ok(KeyForm {
            namespace,
            form,
            elsewhere,
        })
    }

    fn read_key(&mut self, key: &[u8]) -> Result<(Moment, Reading), StoreError> {
        self.observer.read_key(key)
    }

    fn look(&mut self, key: &[u8], form: &KeyForm, _hints: &Hints) -> Result<StoreView, StoreError> {
        let status = self.ask::<Status>("maintenance/status", &json!({}))?;
        let listed = self.ask::<Members>("cluster/member/list", &json!({}))?;
        let mut refused = Vec::new();
        let mut attributes = Vec::new();
        match &status {
            Shown::Is(status) => {
                attributes.push(Attribute::plain("version", status.version.clone()));
                attributes.extend([role(status), log(status), alarms(status), database(status)]);
            }
            _ => {
                refused.push("POST /v3/maintenance/status".to_owned());
                let names = ["version", "role", "persistence", "alarms", "database"];
                let why = "this user may not ask for the status: from etcd 3.6 on only root may";
                attributes.extend(names.map(|name| Attribute::withheld(name, why)));
            }
        }
        match listed {
            Shown::Is(listed) => attributes.push(members(&listed.members)),
            _ => {
                refused.push("POST /v3/cluster/member/list".to_owned());
                attributes.push(Attribute::withheld("members", "this user may not ask"));
            }
        }
        attributes.push(Attribute::plain("eviction", "none"));
        attributes.push(self.lease()?);
        if form.form == Form::Lease && self.observer.gateway.layout.is_recipe() {
            attributes.push(self.waiters(key)?);
        }
        Ok(StoreView {
            refused,
            ..StoreView::plain(&self.facts().kind, attributes, form)
        })
    }

    fn ttl_words(&self, held: Option<&Held>, now: BootNanos) -> String {
        let Some(held) = held else {
            return "the key is not there: its lease has ended, it was removed, or it never was".to_owned();
        };
        match held.expires {
            None => "the key is there and has no lease: it stays until somebody deletes it".to_owned(),
            Some(expires) if expires.latest <= now => {
                "its TTL has run out, and the lease is not yet revoked: it is held while the key is there".to_owned()
            }
            Some(expires) => format!(
                "{} to {} ms are left (the server shows whole seconds)",
                expires.earliest.since(now).as_millis(),
                expires.latest.since(now).as_millis()
            ),
        }
    }

    fn by_hand(&self, key: &[u8]) -> Vec<String> {
        let place = if self.place.is_empty() { key } else { &self.place };
        tools::commands(&self.url, place, self.lease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::message::Header;

    fn status(leader: u64, errors: &[&str]) -> Status {
        Status {
            header: Header {
                member_id: 7,
                raft_term: 3,
                ..Header::default()
            },
            leader,
            errors: errors.iter().map(|&it| it.to_owned()).collect(),
            ..Status::default()
        }
    }

    #[test]
    fn what_endangers_a_lease_is_said() {
        for (attribute, part) in [
            (role(&status(7, &[])), None),
            (role(&status(9, &[])), None),
            (role(&status(0, &[])), Some("nothing ends")),
            (alarms(&status(7, &[])), None),
            (
                alarms(&status(7, &["memberID:7 alarm:NOSPACE "])),
                Some("every grant is refused"),
            ),
            (
                alarms(&status(7, &["memberID:7 alarm:CORRUPT "])),
                Some("not to be trusted"),
            ),
            (members(&[Member::default()]), Some("the only copy")),
            (
                members(&[Member::default(), Member::default(), Member::default()]),
                None,
            ),
        ] {
            match part {
                Some(part) => assert!(
                    attribute.concern.as_ref().is_some_and(|it| it.contains(part)),
                    "{attribute:?}"
                ),
                None => assert_eq!(attribute.concern, None, "{attribute:?}"),
            }
        }
    }

    #[test]
    fn a_queue_below_the_key_is_told() {
        let range = |keys: &[(&str, i64)]| Range {
            count: keys.len() as u64,
            kvs: keys
                .iter()
                .map(|&(key, lease)| KeyValue {
                    key: key.as_bytes().to_vec(),
                    lease,
                    ..KeyValue::default()
                })
                .collect(),
            ..Range::default()
        };
        for (keys, part) in [
            (&[("job/1f", 0x1f)][..], Some("1 key lies below it")),
            (&[("job/1f", 0x1f), ("job/20", 0x20)], Some("2 keys lie below it")),
            (&[("job/config", 0), ("job/20", 0x20)], Some("?recipe=lock")),
            // Other leases, and keys of another's.
            (&[("job/1f", 0x20), ("job/20", 0), ("job/a", 7)], None),
            (&[], None),
        ] {
            let words = below_words(b"job", &range(keys));
            match part {
                Some(part) => assert!(words.as_ref().is_some_and(|it| it.contains(part)), "{words:?}"),
                None => assert_eq!(words, None),
            }
        }
    }

    #[test]
    fn who_waits_is_listed_in_order() {
        let place = |lease: i64| KeyValue {
            key: format!("job/{lease:x}").into_bytes(),
            lease,
            create_revision: lease.unsigned_abs() + 100,
            ..KeyValue::default()
        };
        let words = |leases: &[i64], count| {
            let kvs = leases.iter().map(|&lease| place(lease)).collect();
            let range = Range {
                count,
                kvs,
                ..Range::default()
            };
            waiters_words(b"job", &range).value
        };
        let is = |text: &str| Shown::Is(text.to_owned());
        assert_eq!(words(&[31], 1), is("none"));
        assert_eq!(
            words(&[31, 16, 17], 3),
            is("2: /10 (lease 10, since revision 116), /11 (lease 11, since revision 117)")
        );
        assert_eq!(
            words(&[31, 16], 99),
            is("1 and more: /10 (lease 10, since revision 116)")
        );
    }

    #[test]
    fn keys_that_share_a_lease_are_told() {
        let answer = LeaseAnswer {
            ttl: 9,
            granted: 10,
            keys: vec![b"a".to_vec(), b"b".to_vec()],
            ..LeaseAnswer::default()
        };
        let shared = lease_words(0x1f, &answer, true, b"a");
        assert!(shared.concern.is_some_and(|it| it.contains("ends them all")));
        assert!(lease_words(0x1f, &answer, false, b"a").concern.is_none());
    }
}
