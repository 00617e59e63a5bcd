//! What an etcd cluster shows beside the lease itself.

use crate::Observe;
use crate::error::StoreError;
use crate::etcd::allow::ALLOWED;
use crate::etcd::message::{KeyValue, LeaseAnswer, Members, Range, Status};
use crate::etcd::observer::Observer;
use crate::etcd::place::{below, first};
use crate::etcd::shown::{alarms, below_words, database, lease_words, log, members, role, waiters_words};
use crate::etcd::tools;
use crate::http::{LIMIT, too_long};
use crate::inspect::{Allowed, Hints, Inspect, LONGEST_HOLDER};
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

/// So many keys below one that is absent are looked at.
const EYED: u32 = 8;

/// So many places of a queue are looked at.
pub(super) const QUEUED: u32 = 9;

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
            Err(StoreError::Unexpected(why)) if why.contains(&too_long(LIMIT)) => {
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
