//! What an owner is started with: the contract's variables, and what the command line puts over them.

use crate::flaw::Flaw;
use leaseproof_store::{StoreError, StoreUrl};
use std::time::Duration;

/// What the command line gave; the environment fills the rest.
#[derive(Clone, Default, Debug)]
pub struct Given {
    /// The store's URL.
    pub store: Option<String>,
    /// The lease key.
    pub key: Option<String>,
    /// The TTL in milliseconds.
    pub ttl_ms: Option<u64>,
    /// The heartbeat in milliseconds.
    pub heartbeat_ms: Option<u64>,
    /// The resource's base URL.
    pub resource: Option<String>,
    /// The owner's name.
    pub owner: Option<String>,
    /// The flaw's name.
    pub flaw: Option<String>,
    /// Exit when the lease is lost, instead of acquiring anew.
    pub exit_on_loss: bool,
    /// Print a line for each write too.
    pub say_writes: bool,
    /// Fill a cache beside the resource, too.
    pub fill_cache: bool,
}

/// What an owner is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The store.
    pub store: StoreUrl,
    /// The lease key.
    pub key: String,
    /// How long a grant lives without a renewal.
    pub ttl: Duration,
    /// How often it is renewed.
    pub heartbeat: Duration,
    /// How long a request to the store may take, in running time.
    pub renew_timeout: Duration,
    /// What is taken off the TTL, since the store's clock may run faster than ours.
    pub drift: Duration,
    /// How often the worker writes.
    pub write_interval: Duration,
    /// This process's name.
    pub owner: String,
    /// The resource's base URL; without one it only holds.
    pub resource: Option<String>,
    /// How it is broken.
    pub flaw: Option<Flaw>,
    /// Exit when the lease is lost.
    pub exit_on_loss: bool,
    /// Print a line for each write too.
    pub say_writes: bool,
    /// Read the value after each write, and fill the cache with it.
    pub fill_cache: bool,
    /// This is the process that works.
    pub worker: bool,
}

/// What is wrong with the settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Something is missing.
    #[error("no {what}: give {flag} or set {variable}")]
    Missing {
        /// What.
        what: &'static str,
        /// The argument.
        flag: &'static str,
        /// The variable.
        variable: &'static str,
    },
    /// A number is none.
    #[error("{variable} is {text:?}: give a whole number of milliseconds, at least 1")]
    NotMillis {
        /// The variable.
        variable: &'static str,
        /// Its text.
        text: String,
    },
    /// The heartbeat is too long.
    #[error("the heartbeat of {heartbeat:?} is not below the TTL of {ttl:?}: give a smaller --heartbeat-ms")]
    Heartbeat {
        /// The heartbeat.
        heartbeat: Duration,
        /// The TTL.
        ttl: Duration,
    },
    /// The flaw is unknown.
    #[error("no flaw is named {name:?}: one of {known}")]
    Flaw {
        /// The name.
        name: String,
        /// The names that are.
        known: String,
    },
    /// The store's URL is wrong.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Marks the process that works.
pub(crate) const WORKER: &str = "LEASEPROOF_WORKER";
const STORE: &str = "LEASEPROOF_STORE";
const KEY: &str = "LEASEPROOF_KEY";
const TTL: &str = "LEASEPROOF_TTL_MS";
const HEARTBEAT: &str = "LEASEPROOF_HEARTBEAT_MS";
const RENEW_TIMEOUT: &str = "LEASEPROOF_RENEW_TIMEOUT_MS";
const DRIFT: &str = "LEASEPROOF_DRIFT_MS";
const WRITE_INTERVAL: &str = "LEASEPROOF_WRITE_INTERVAL_MS";
const OWNER: &str = "LEASEPROOF_OWNER";
const RESOURCE: &str = "LEASEPROOF_RESOURCE";
const FLAW: &str = "LEASEPROOF_FLAW";
const SAY_WRITES: &str = "LEASEPROOF_SAY_WRITES";
const FILL_CACHE: &str = "LEASEPROOF_FILL_CACHE";

impl Settings {
    /// The settings from this process's environment, and what was given on the command line over it.
    ///
    /// # Errors
    /// When something is missing or wrong.
    pub fn from_env_and(given: Given) -> Result<Self, SettingsError> {
        Self::from(given, |name| std::env::var(name).ok().filter(|text| !text.is_empty()))
    }

    fn from(given: Given, env: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let missing = |what, flag, variable| SettingsError::Missing { what, flag, variable };
        let millis = |variable: &'static str, given: Option<u64>| -> Result<Option<Duration>, SettingsError> {
            let text = match given {
                Some(number) => Some(number.to_string()),
                None => env(variable),
            };
            let Some(text) = text else { return Ok(None) };
            match text.trim().parse() {
                Ok(number) if number > 0 => Ok(Some(Duration::from_millis(number))),
                _ => Err(SettingsError::NotMillis { variable, text }),
            }
        };
        let store = given
            .store
            .or_else(|| env(STORE))
            .ok_or_else(|| missing("store", "--store URL", STORE))?
            .parse()?;
        let key = given
            .key
            .or_else(|| env(KEY))
            .ok_or_else(|| missing("lease key", "--key KEY", KEY))?;
        let ttl = millis(TTL, given.ttl_ms)?.unwrap_or(Duration::from_secs(3));
        let heartbeat = millis(HEARTBEAT, given.heartbeat_ms)?.unwrap_or(ttl / 3);
        if heartbeat >= ttl {
            return Err(SettingsError::Heartbeat { heartbeat, ttl });
        }
        let flaw = match given.flaw.or_else(|| env(FLAW)) {
            None => None,
            Some(name) => Some(Flaw::from_name(&name).ok_or_else(|| SettingsError::Flaw {
                name,
                known: Flaw::ALL.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", "),
            })?),
        };
        Ok(Self {
            store,
            key,
            ttl,
            heartbeat,
            renew_timeout: millis(RENEW_TIMEOUT, None)?
                .unwrap_or_else(|| (heartbeat / 4).min(Duration::from_millis(200))),
            // As much of the TTL as the default budget allows two clocks to move apart.
            drift: millis(DRIFT, None)?.unwrap_or(ttl / 60),
            write_interval: millis(WRITE_INTERVAL, None)?
                .unwrap_or_else(|| (heartbeat / 5).max(Duration::from_millis(20))),
            owner: given
                .owner
                .or_else(|| env(OWNER))
                .unwrap_or_else(|| format!("owner-{}", std::process::id())),
            resource: given.resource.or_else(|| env(RESOURCE)),
            flaw,
            exit_on_loss: given.exit_on_loss,
            say_writes: given.say_writes || env(SAY_WRITES).is_some(),
            fill_cache: given.fill_cache || env(FILL_CACHE).is_some() || flaw == Some(Flaw::FillUnversioned),
            worker: env(WORKER).is_some(),
        })
    }

    /// Whether it is broken in this way.
    #[must_use]
    pub fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// The environment that gives a worker the same settings. Its command line stays the same for
    /// every flaw.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let millis = |span: Duration| span.as_millis().to_string();
        let mut all = vec![
            (WORKER, "1".to_owned()),
            (STORE, self.store.with_secrets()),
            (KEY, self.key.clone()),
            (TTL, millis(self.ttl)),
            (HEARTBEAT, millis(self.heartbeat)),
            (RENEW_TIMEOUT, millis(self.renew_timeout.max(Duration::from_millis(1)))),
            (WRITE_INTERVAL, millis(self.write_interval)),
            (OWNER, self.owner.clone()),
        ];
        all.extend(self.resource.clone().map(|resource| (RESOURCE, resource)));
        if self.say_writes {
            all.push((SAY_WRITES, "1".to_owned()));
        }
        if self.fill_cache {
            all.push((FILL_CACHE, "1".to_owned()));
        }
        all.push((FLAW, self.flaw.map_or("", Flaw::as_str).to_owned()));
        all
    }
}

#[cfg(test)]
impl Settings {
    /// The default plan's, for tests.
    pub(crate) fn example() -> Self {
        let given = Given {
            store: Some("sqlite:/nowhere/locks.db".to_owned()),
            key: Some("canary/demo".to_owned()),
            ..Given::default()
        };
        Self::from(given, |_| None).expect("they are whole")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn from(given: Given, env: &[(&str, &str)]) -> Result<Settings, String> {
        let env: BTreeMap<_, _> = env.iter().copied().collect();
        Settings::from(given, |name| env.get(name).map(|text| (*text).to_owned())).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_ok() {
        let env = [
            (STORE, "sqlite:/tmp/x.db"),
            (KEY, "k"),
            (TTL, "1000"),
            (HEARTBEAT, "250"),
        ];
        let settings = from(Given::default(), &env).expect("they are whole");
        assert_eq!(settings.renew_timeout, Duration::from_micros(62_500));
        assert_eq!(settings.write_interval, Duration::from_millis(50));
        let given = Given {
            key: Some("other".to_owned()),
            flaw: Some("revive".to_owned()),
            ..Given::default()
        };
        let settings = from(given, &env).expect("they are whole");
        assert_eq!((settings.key.as_str(), settings.flaw), ("other", Some(Flaw::Revive)));
    }

    #[test]
    fn settings_bad() {
        let store = (STORE, "sqlite:/tmp/x.db");
        for (env, part) in [
            (vec![], "LEASEPROOF_STORE"),
            (vec![store], "--key"),
            (vec![store, (KEY, "k"), (TTL, "3s")], "whole number of milliseconds"),
            (vec![store, (KEY, "k"), (TTL, "0")], "at least 1"),
            (
                vec![store, (KEY, "k"), (TTL, "100"), (HEARTBEAT, "100")],
                "not below the TTL",
            ),
            (vec![store, (KEY, "k"), (FLAW, "nope")], "silent-retain"),
            (vec![(STORE, "http://x"), (KEY, "k")], "no store"),
        ] {
            let error = from(Given::default(), &env).expect_err(part);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn every_flaw_has_its_name() {
        for flaw in Flaw::ALL {
            assert_eq!(Flaw::from_name(flaw.as_str()), Some(*flaw));
        }
    }
}
