//! What a Consul agent shows beside the lease, in words.

use super::go_duration;
use crate::inspect::shown_key;
use crate::url::Layout;
use leaseproof_model::inspect::store_view::Attribute;
use serde::Deserialize;
use std::time::Duration;

/// A session, whole.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Session {
    #[serde(rename = "TTL")]
    pub(super) ttl: Option<String>,
    pub(super) node: String,
    pub(super) behavior: String,
    /// In nanoseconds.
    pub(super) lock_delay: f64,
    pub(super) node_checks: Option<Vec<String>>,
    pub(super) service_checks: Option<Vec<serde_json::Value>>,
    /// Before 1.7 the checks of the node stood here.
    pub(super) checks: Option<Vec<String>>,
}

/// A health check.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Check {
    #[serde(rename = "CheckID")]
    pub(super) id: String,
    pub(super) status: String,
}

/// Where what was meant may lie, and what to say if it is there.
pub(super) fn beside(layout: Layout, prefix: &str, key: &str) -> Vec<(String, String)> {
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

pub(super) fn check_words(wanted: &[String], services: usize, all: &[Check]) -> Attribute {
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

pub(super) fn session_words(id: &str, session: &Session) -> Attribute {
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
