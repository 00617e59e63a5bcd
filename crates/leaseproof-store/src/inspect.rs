//! The optional trait of `inspect`: what a store shows beside the lease itself.

#[cfg(feature = "consul")]
use crate::consul;
#[cfg(feature = "etcd")]
use crate::etcd;
#[cfg(feature = "postgres")]
use crate::postgres;
#[cfg(feature = "redis")]
use crate::redis;
#[cfg(feature = "sqlite")]
use crate::sqlite;
use crate::url::StoreUrl;
#[cfg(feature = "zookeeper")]
use crate::zookeeper;
use crate::{Observe, StoreError};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::store_view::{KeyForm, Monitored, StoreView};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::HolderId;
use std::time::Duration;

/// A request that a read-only view may send. What is in no list can't be sent: the adapter's
/// connection refuses it before the first byte.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Allowed {
    /// The request's first words (a command), or the whole of it (a statement).
    pub request: &'static str,
    /// What it is sent for.
    pub why: &'static str,
    /// The flag without which it is never sent.
    pub only_with: Option<&'static str>,
}

impl Allowed {
    /// One that may always be sent.
    pub(crate) const fn always(request: &'static str, why: &'static str) -> Self {
        Self {
            request,
            why,
            only_with: None,
        }
    }
}

/// A value of more bytes is no holder's name: it is not read where that can be avoided, and not shown.
pub(crate) const LONGEST_HOLDER: usize = 4096;

/// A value of so many bytes is a holder's name.
///
/// # Errors
/// Where it is too long: a reading of it is no reading of a lease.
pub(crate) fn names_a_holder(key: &str, length: usize) -> Result<(), StoreError> {
    if length <= LONGEST_HOLDER {
        return Ok(());
    }
    Err(StoreError::NoHolder {
        key: key.to_owned(),
        most: LONGEST_HOLDER,
    })
}

/// What is known about the owner, for finding its connection.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// The holder, by the last reading.
    pub holder: Option<HolderId>,
    /// The near ends of its process's connections, `address:port`.
    pub addresses: Vec<String>,
}

/// The optional trait of `inspect`. Read-only: see [`Self::allowed`].
pub trait Inspect: Observe {
    /// Everything that this adapter may send.
    fn allowed(&self) -> &'static [Allowed];

    /// The key's place, and whether what lies there has the form of a lease. Asked before the first
    /// reading, so that something large or foreign is never read.
    ///
    /// # Errors
    /// As [`Observe::read`].
    fn form(&mut self, key: &[u8]) -> Result<KeyForm, StoreError>;

    /// Like [`Observe::read`], for keys that may be no UTF-8.
    ///
    /// # Errors
    /// As [`Observe::read`], and where this store's keys are text.
    fn read_key(&mut self, key: &[u8]) -> Result<(Moment, Reading), StoreError>;

    /// What the store shows of itself and of its connections. What this user may not see is withheld,
    /// not an error.
    ///
    /// # Errors
    /// When the store does not answer.
    fn look(&mut self, key: &[u8], form: &KeyForm, hints: &Hints) -> Result<StoreView, StoreError>;

    /// What the store shows as the TTL at `now`, and what that means.
    fn ttl_words(&self, held: Option<&Held>, now: BootNanos) -> String {
        ttl_words(held, now)
    }

    /// Watches what passes at the server, for at most `span` and `lines` commands.
    ///
    /// # Errors
    /// When the store does not answer.
    fn monitor(&mut self, _key: &[u8], _span: Duration, _lines: u64) -> Result<Shown<Monitored>, StoreError> {
        Ok(Shown::NotByThisStore)
    }

    /// The commands of the store's own tools that show the same.
    fn by_hand(&self, key: &[u8]) -> Vec<String>;
}

/// Opens a store for a look at it; `timeout` bounds each call, this one too.
///
/// # Errors
/// As [`crate::open_observer`].
pub fn open_inspector(url: &StoreUrl, timeout: Duration) -> Result<Box<dyn Inspect>, StoreError> {
    Ok(match url {
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => redis::inspector(url, timeout)?,
        #[cfg(feature = "sqlite")]
        StoreUrl::Sqlite(file) => Box::new(sqlite::Inspector::open(file, timeout)?),
        #[cfg(feature = "etcd")]
        StoreUrl::Etcd(server) => Box::new(etcd::Inspector::open(server, timeout)?),
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(server) => Box::new(postgres::Inspector::open(server, timeout)?),
        #[cfg(feature = "zookeeper")]
        StoreUrl::ZooKeeper(server) => Box::new(zookeeper::Inspector::open(server, timeout)?),
        #[cfg(feature = "consul")]
        StoreUrl::Consul(server) => Box::new(consul::Inspector::open(server, timeout)?),
    })
}

/// Everything that `inspect` may send, by store.
pub const ALLOWED: &[(&str, &[Allowed])] = &[
    #[cfg(feature = "redis")]
    ("redis", redis::ALLOWED),
    #[cfg(feature = "sqlite")]
    ("sqlite", sqlite::ALLOWED),
    #[cfg(feature = "etcd")]
    ("etcd", etcd::ALLOWED),
    #[cfg(feature = "postgres")]
    ("postgres", postgres::ALLOWED),
    #[cfg(feature = "zookeeper")]
    ("zookeeper", zookeeper::ALLOWED),
    #[cfg(feature = "consul")]
    ("consul", consul::ALLOWED),
];

/// A TTL in words, from what every reading has.
pub(crate) fn ttl_words(held: Option<&Held>, now: BootNanos) -> String {
    match held {
        None => "nobody holds it".to_owned(),
        Some(held) if held.expired => "its TTL has run out by the store's own clock".to_owned(),
        Some(held) => match (held.expires, held.bound) {
            (Some(expires), _) => format!("{} ms are left", expires.latest.since(now).as_millis()),
            (None, Some(bound)) => format!(
                "what is left is not shown by this store; it was granted for {} ms",
                bound.as_millis()
            ),
            (None, None) => "it has no expiry: it stays until somebody deletes it".to_owned(),
        },
    }
}

/// A key as text; an error where this store's keys must be text.
pub(crate) fn text_key(key: &[u8]) -> Result<&str, StoreError> {
    std::str::from_utf8(key).map_err(|_| StoreError::Key {
        key: shown_key(key),
        why: "this store's keys are text, and it is no UTF-8; give the key as the store has it".to_owned(),
    })
}

/// A key as people can read it and tell from any other: what is no visible text is written `\xNN`.
#[must_use]
pub fn shown_key(key: &[u8]) -> String {
    let mut shown = String::with_capacity(key.len());
    for chunk in key.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\\' || c.is_control() {
                let mut bytes = [0; 4];
                shown.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\x{byte:02x}")));
            } else {
                shown.push(c);
            }
        }
        shown.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    shown
}

/// A word for a POSIX shell, or for bash where it holds bytes that no text has.
pub(crate) fn shell_word(word: &[u8]) -> String {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(b);
    if !word.is_empty() && word.iter().all(plain) {
        return String::from_utf8_lossy(word).into_owned();
    }
    match std::str::from_utf8(word) {
        Ok(text) if !text.chars().any(char::is_control) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => {
            let inside: String = word
                .iter()
                .map(|b| match b {
                    b if plain(b) => char::from(*b).to_string(),
                    b => format!("\\x{b:02x}"),
                })
                .collect();
            format!("$'{inside}'")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart() {
        assert_eq!(shown_key(b"canary/d\xc3\xa9mo"), "canary/d\u{e9}mo");
        assert_eq!(shown_key(b"a\xffb\nc"), "a\\xffb\\x0ac");
        assert_eq!(shown_key(b"a\\xff"), "a\\x5cxff");
    }

    #[test]
    fn words_for_a_shell() {
        assert_eq!(shell_word(b"canary/demo"), "canary/demo");
        assert_eq!(shell_word(b""), "''");
        assert_eq!(shell_word(b"it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(shell_word(b"a\xff'"), "$'a\\xff\\x27'");
    }
}
