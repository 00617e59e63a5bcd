//! What a Consul agent shows beside the lease itself.

use super::allow::ALLOWED;
use super::entry::Entry;
use super::go_duration;
use super::observer::Observer;
use super::tools;
use crate::Observe;
use crate::error::StoreError;
use crate::inspect::{Allowed, Hints, Inspect, LONGEST_HOLDER, shown_key, text_key};
use crate::patience::Patience;
use crate::url::{ConsulUrl, Layout};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::store_view::{Attribute, Form, KeyForm, StoreView};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// A look through one agent.
pub(crate) struct Inspector {
    observer: Observer,
    url: ConsulUrl,
    /// The session that held the key when it was looked at last.
    session: Option<String>,
    /// Whether what may be the lock lies beside the key.
    elsewhere: bool,
}

/// A session, whole.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Session {
    #[serde(rename = "TTL")]
    ttl: Option<String>,
    node: String,
    behavior: String,
    /// In nanoseconds.
    lock_delay: f64,
    node_checks: Option<Vec<String>>,
    service_checks: Option<Vec<serde_json::Value>>,
    /// Before 1.7 the checks of the node stood here.
    checks: Option<Vec<String>>,
}

/// A health check.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Check {
    #[serde(rename = "CheckID")]
    id: String,
    status: String,
}

impl Inspector {
    pub(crate) fn open(url: &ConsulUrl, timeout: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            observer: Observer::open(url, timeout)?,
            url: url.clone(),
            session: None,
            elsewhere: false,
        })
    }

    /// One answer, or why this token gets none.
    fn ask<T: DeserializeOwned>(&mut self, path: &str) -> Result<Shown<T>, StoreError> {
        let patience = &mut Patience::new(self.observer.timeout);
        match self
            .observer
            .api
            .get(path, patience)
            .map_err(|failed| failed.into_error())
        {
            Ok(answer) => Ok(Shown::Is(answer)),
            Err(StoreError::Refused { why, .. }) => Ok(Shown::Withheld(why)),
            Err(error) => Err(error),
        }
    }

    /// What lies beside a key that is absent: in the other layout, or without a slash at its front.
    fn elsewhere(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        let api = &mut self.observer.api;
        let layout = api.url.layout;
        let prefix = api.url.prefix.clone();
        for (place, words) in beside(layout, &prefix, key) {
            let patience = &mut Patience::new(self.observer.timeout);
            if api.is_there(&place, patience).map_err(|failed| failed.into_error())? {
                return Ok(Some(words));
            }
        }
        Ok(None)
    }

    /// The session that holds the key. What a token may not see is left out of an answer, not refused.
    fn session(&mut self) -> Result<Shown<Session>, StoreError> {
        let Some(id) = self.session.clone() else {
            return Ok(Shown::NotByThisStore);
        };
        let shown: Shown<Vec<Session>> = self.ask(&format!("/v1/session/info/{id}?consistent"))?;
        Ok(match shown {
            Shown::Is(mut found) => match found.pop() {
                Some(session) => Shown::Is(session),
                None => Shown::Withheld("it has just ended, or this token lacks session:read for its node".to_owned()),
            },
            Shown::Withheld(why) => Shown::Withheld(why),
            Shown::NotByThisStore => Shown::NotByThisStore,
        })
    }

    fn checks(&mut self, session: &Session) -> Result<Attribute, StoreError> {
        let mut wanted = session
            .node_checks
            .clone()
            .or_else(|| session.checks.clone())
            .unwrap_or_default();
        wanted.sort_unstable();
        let services = session.service_checks.as_ref().map_or(0, Vec::len);
        if wanted.is_empty() && services == 0 {
            return Ok(Attribute::plain("checks", "none: the session ends by its TTL alone"));
        }
        let path = format!("/v1/health/node/{}", tools::in_path(&session.node));
        Ok(match self.ask::<Vec<Check>>(&path)? {
            Shown::Is(all) => check_words(&wanted, services, &all),
            Shown::Withheld(why) => Attribute::withheld("checks", why),
            Shown::NotByThisStore => Attribute::not_shown("checks"),
        })
    }
}

/// Where what was meant may lie, and what to say if it is there.
fn beside(layout: Layout, prefix: &str, key: &str) -> Vec<(String, String)> {
    let plain = |key: &str| format!("{prefix}{key}");
    let recipe = |key: &str| format!("{prefix}{key}/.lock");
    let with_recipe = |place: String| {
        let shown = shown_key(place.as_bytes());
        (
            place,
            format!("the key {shown} is there, as `consul lock` has it: look again with ?recipe=lock"),
        )
    };
    let mut places = vec![match layout {
        Layout::Reference => with_recipe(recipe(key)),
        Layout::LockRecipe => (
            plain(key),
            "the key itself is there, as a plain lease has it: look again without ?recipe=lock".to_owned(),
        ),
    }];
    let bare = key.trim_start_matches('/');
    if bare != key && !bare.is_empty() {
        let own = match layout {
            Layout::Reference => plain(bare),
            Layout::LockRecipe => recipe(bare),
        };
        let words = format!(
            "there is one without the slash at its front, as Consul's keys are: look at {}",
            shown_key(bare.as_bytes())
        );
        places.push((own, words));
        if layout == Layout::Reference {
            let (place, _) = with_recipe(recipe(bare));
            let words = format!(
                "the key {} is there, as `consul lock` has it: look at {} with ?recipe=lock",
                shown_key(place.as_bytes()),
                shown_key(bare.as_bytes())
            );
            places.push((place, words));
        }
    }
    places
}

fn check_words(wanted: &[String], services: usize, all: &[Check]) -> Attribute {
    let mut failing = false;
    let mut parts: Vec<String> = wanted
        .iter()
        .map(|id| {
            let status = all.iter().find(|it| it.id == *id).map(|it| it.status.as_str());
            failing |= status == Some("critical");
            let status = status.unwrap_or("not shown to this token: it lacks node:read, or there is no such check");
            format!("{}: {}", shown_key(id.as_bytes()), shown_key(status.as_bytes()))
        })
        .collect();
    if services > 0 {
        parts.push(format!("{services} of services"));
    }
    let attribute = Attribute::plain("checks", parts.join(", "));
    match failing {
        true => attribute.worrying("a check that fails ends the session at once, whatever its TTL"),
        false => attribute,
    }
}

fn session_words(id: &str, session: &Session) -> Attribute {
    let ttl = session.ttl.as_deref().filter(|ttl| !ttl.is_empty());
    let delay = Duration::try_from_secs_f64(session.lock_delay / 1e9).unwrap_or_default();
    let text = format!(
        "{id} on node {}: TTL {}, lock-delay {} ms, behaviour {}",
        shown_key(session.node.as_bytes()),
        ttl.map_or_else(
            || "none".to_owned(),
            // What this agent was told may be written in any unit.
            |ttl| go_duration::parse(ttl)
                .map_or_else(|| shown_key(ttl.as_bytes()), |it| format!("{} ms", it.as_millis())),
        ),
        delay.as_millis(),
        shown_key(session.behavior.as_bytes())
    );
    let attribute = Attribute::plain("session", text);
    let endless = ttl.and_then(go_duration::parse).is_none_or(|ttl| ttl.is_zero());
    if endless {
        return attribute
            .worrying("it has no TTL: it ends with its node's checks, or when somebody ends it, and else never");
    }
    if delay.is_zero() {
        return attribute.worrying("without a lock-delay the next holder may come while the old one still believes");
    }
    attribute
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
        let key = text_key(key)?;
        let patience = &mut Patience::new(self.observer.timeout);
        let entry = self
            .observer
            .api
            .entry(key, patience)
            .map_err(|failed| failed.into_error())?;
        self.session = entry.as_ref().and_then(Entry::session).map(str::to_owned);
        let mut namespace = format!("key {}", shown_key(self.observer.api.place(key).as_bytes()));
        if let Some(entry) = &entry {
            namespace.push_str(&format!(
                ", created at index {} and changed at {}, flags {:#x}",
                entry.create_index(),
                entry.modify_index(),
                entry.flags()
            ));
        }
        let form = match &entry {
            None => Form::Absent,
            Some(entry) if entry.is_semaphore() => {
                Form::Foreign("a semaphore of Consul's own clients, which several may hold".to_owned())
            }
            Some(entry) if entry.size() > LONGEST_HOLDER => Form::Foreign(format!(
                "a value of about {} bytes, too long for a holder's name: its content is left out",
                entry.size()
            )),
            Some(_) => Form::Lease,
        };
        let elsewhere = match form {
            Form::Absent => self.elsewhere(key)?,
            _ => None,
        };
        self.elsewhere = elsewhere.is_some();
        Ok(KeyForm {
            namespace,
            form,
            elsewhere,
        })
    }

    fn read_key(&mut self, key: &[u8]) -> Result<(Moment, Reading), StoreError> {
        self.observer.read(text_key(key)?)
    }

    fn look(&mut self, _key: &[u8], form: &KeyForm, _hints: &Hints) -> Result<StoreView, StoreError> {
        let mut refused = Vec::new();
        let mut attributes = self.observer.server.attributes();
        if self.observer.server.is_hidden() {
            refused.push("GET /v1/agent/self".to_owned());
        }
        attributes.push(match self.ask::<Vec<String>>("/v1/status/peers")? {
            Shown::Is(peers) => {
                let attribute = Attribute::plain("servers", format!("{}: {}", peers.len(), peers.join(", ")));
                match peers.len() {
                    1 => attribute.worrying("one server alone: while it is down no lease is granted, and none ends"),
                    2 => attribute.worrying("of two servers none may be down"),
                    _ => attribute,
                }
            }
            _ => Attribute::withheld("servers", "this token may not ask"),
        });
        match self.session()? {
            Shown::Is(session) => {
                attributes.push(session_words(self.session.as_deref().unwrap_or_default(), &session));
                attributes.push(self.checks(&session)?);
            }
            Shown::Withheld(why) => {
                refused.push("GET /v1/session/info".to_owned());
                attributes.push(Attribute::withheld("session", why));
            }
            Shown::NotByThisStore => attributes.push(Attribute::plain("session", "none holds the key")),
        }
        Ok(StoreView {
            refused,
            ..StoreView::plain(&self.facts().kind, attributes, form)
        })
    }

    fn ttl_words(&self, held: Option<&Held>, _now: BootNanos) -> String {
        match held {
            None if self.elsewhere => "the key itself is not there".to_owned(),
            None => "no session holds the key: it is free, once a lock-delay is over".to_owned(),
            Some(held) => match held.bound {
                Some(bound) => format!(
                    "what is left is not shown by this store: the leader ends the session when nobody renewed it for {} ms, \
                     or up to twice as long",
                    bound.as_millis()
                ),
                None => "its session has no TTL: it stays until its node fails or somebody ends it".to_owned(),
            },
        }
    }

    fn by_hand(&self, key: &[u8]) -> Vec<String> {
        let place = self.observer.api.place(&String::from_utf8_lossy(key));
        tools::commands(&self.url, &place, self.session.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_else_a_key_may_lie() {
        for (layout, prefix, key, places) in [
            (Layout::Reference, "", "job", &["job/.lock"][..]),
            (Layout::LockRecipe, "", "job", &["job"]),
            (
                Layout::Reference,
                "app/",
                "/job",
                &["app//job/.lock", "app/job", "app/job/.lock"],
            ),
            (Layout::LockRecipe, "", "/job", &["/job", "job/.lock"]),
            (Layout::Reference, "", "/", &["//.lock"]),
        ] {
            let found: Vec<String> = beside(layout, prefix, key)
                .into_iter()
                .map(|(place, _)| place)
                .collect();
            assert_eq!(found, places);
        }
    }

    #[test]
    fn a_ttl_is_told_in_milliseconds() {
        for (ttl, words) in [
            ("10000ms", "TTL 10000 ms,"),
            ("1.5s", "TTL 1500 ms,"),
            ("", "TTL none,"),
        ] {
            let session = Session {
                ttl: Some(ttl.to_owned()),
                ..Session::default()
            };
            let told = session_words("7a", &session).value;
            assert!(told.get().is_some_and(|it| it.contains(words)), "{told:?}");
        }
    }

    #[test]
    fn what_endangers_a_lease_is_said() {
        let session = |ttl: &str, delay: f64| Session {
            ttl: Some(ttl.to_owned()),
            lock_delay: delay,
            ..Session::default()
        };
        let check = |status: &str| Check {
            id: "serfHealth".to_owned(),
            status: status.to_owned(),
        };
        let wanted = ["serfHealth".to_owned()];
        for (attribute, part) in [
            (session_words("7a", &session("10s", 15e9)), None),
            (session_words("7a", &session("?", 15e9)), Some("no TTL")),
            (session_words("7a", &session("10s", 0.0)), Some("without a lock-delay")),
            (session_words("7a", &session("", 15e9)), Some("no TTL")),
            (check_words(&wanted, 0, &[check("passing")]), None),
            (check_words(&wanted, 0, &[check("critical")]), Some("ends the session")),
            (check_words(&wanted, 0, &[]), None),
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
}
