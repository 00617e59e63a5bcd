//! The part of a plan that `watch` follows: which leases, and where their owners say what they believe.

use super::place::Place;
use crate::owner::LinePatterns;
use leaseproof_check::plan::{PlanError, PlanFile, Text, WatchLeaseTable, WatchOwnerTable, key_from_hex};
use leaseproof_model::budget::Budget;
use leaseproof_store::shown_key;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most leases that are followed.
const MOST: usize = 100_000;

/// The most leases with series of their own: a page of metrics has about twenty lines for each.
const MOST_LABELS: usize = 10_000;

/// The label of all leases that have none of their own.
const OTHER: &str = "other";

/// A plan that can be watched.
#[derive(Clone, Debug)]
pub struct WatchPlan {
    /// The store's URL, with its secrets.
    pub url: String,
    /// The safety budget.
    pub budget: Budget,
    /// How often each lease is read.
    pub interval: Duration,
    /// Address and port of the metrics.
    pub listen: SocketAddr,
    /// How many leases get series of their own.
    pub labels: usize,
    /// How long a worst value is remembered.
    pub worst_window: Duration,
    /// From which share of the TTL on a divergence is an alert.
    pub alert_share: f64,
    /// How often prefixes are listed anew.
    pub rescan: Duration,
    /// The leases by key, in the plan's order.
    pub leases: Vec<WatchLease>,
    /// The prefixes, in the plan's order.
    pub prefixes: Vec<WatchPrefix>,
    /// How the lines of logs are understood.
    pub patterns: LinePatterns,
}

/// A lease by its key.
#[derive(Clone, Debug)]
pub struct WatchLease {
    /// The key, as the store has it: mostly text.
    pub key: Vec<u8>,
    /// What its series are labelled with.
    pub label: String,
    /// Where its owner's belief is read.
    pub owner: Option<WatchOwner>,
}

/// All leases below a prefix.
#[derive(Clone, Debug)]
pub struct WatchPrefix {
    /// The prefix.
    pub prefix: String,
    /// How many at most.
    pub max: usize,
}

/// An owner that says what it believes.
#[derive(Clone, Debug)]
pub struct WatchOwner {
    /// The name that its grants begin with.
    pub name: Option<String>,
    /// Where it says so.
    pub source: BeliefSource,
}

/// Where an owner says what it believes.
#[derive(Clone, Debug)]
pub enum BeliefSource {
    /// Its log.
    Log(PathBuf),
    /// Series of its Prometheus metrics.
    Metrics {
        /// The endpoint.
        url: String,
        /// The series that is not 0 while it believes to hold.
        holds: String,
        /// The series with its token.
        token: Option<String>,
    },
    /// A JSON document.
    Json {
        /// The endpoint.
        url: String,
        /// The JSON pointer to whether it believes to hold.
        holds: String,
        /// The JSON pointer to its token.
        token: Option<String>,
    },
    /// The export of the leaseproof library.
    Export {
        /// The endpoint.
        url: String,
    },
}

/// Fills in defaults and checks everything that needs no store. `check_series` says what is wrong with
/// the text of a series (`name{label="value"}`).
///
/// # Errors
/// The first thing that is wrong, with file, line and remedy where it has them.
pub fn resolve_watch(
    file: &PlanFile,
    path: Option<&Path>,
    text: &str,
    check_series: &dyn Fn(&str) -> Result<(), String>,
) -> Result<WatchPlan, PlanError> {
    let place = Place::new(path, text);
    let table = &file.watch;
    let span = |value: &Option<Text>| value.as_ref().map_or(0..0, toml::Spanned::span);
    let listen = table
        .listen
        .as_ref()
        .map_or("127.0.0.1:9774", |it| it.get_ref().as_str());
    let listen = listen.parse().map_err(|_| {
        let says = format!("watch.listen: `{listen}` is no address and port: write \"127.0.0.1:9774\"");
        place.at(span(&table.listen), &says)
    })?;
    let interval = place.duration("interval", table.interval.as_ref(), Duration::from_secs(1))?;
    if !(Duration::from_millis(20)..=Duration::from_secs(60)).contains(&interval) {
        let says = format!("interval: {interval:?} is not between 20ms and 60s: use \"1s\"");
        return Err(place.at(span(&table.interval), &says));
    }
    let worst_window = place.duration("worst_window", table.worst_window.as_ref(), Duration::from_secs(300))?;
    if worst_window < Duration::from_secs(10) {
        let says = format!("worst_window: {worst_window:?} is shorter than scrapes are apart: use \"5m\"");
        return Err(place.at(span(&table.worst_window), &says));
    }
    let rescan = place.duration("rescan", table.rescan.as_ref(), Duration::from_secs(60))?;
    if rescan < Duration::from_secs(1) {
        let says = format!("rescan: {rescan:?} would list keys all the time: use \"60s\"");
        return Err(place.at(span(&table.rescan), &says));
    }
    let labels = place.within("watch.labels", table.labels.as_ref(), 0..=MOST_LABELS)?;
    let alert_share = place.within("watch.alert_share", table.alert_share.as_ref(), 0.001..=1.0)?;
    let others = [&file.store.also, &file.store.start].into_iter().flatten().flatten();
    if let Some(other) = others.into_iter().next() {
        let says = "watch looks at one store: make a plan for each, and give each its --listen";
        return Err(place.at(other.span(), says));
    }
    let (leases, prefixes) = place.watched(file, check_series)?;
    Ok(WatchPlan {
        url: match &file.store.url {
            Some(url) => url.get_ref().clone(),
            None => "sqlite:.leaseproof/locks.db".to_owned(),
        },
        budget: place.budget(&file.budget)?,
        interval,
        listen,
        labels: labels.unwrap_or(1000),
        worst_window,
        alert_share: alert_share.unwrap_or(0.1),
        rescan,
        leases,
        prefixes,
        patterns: place.patterns(file.owner.lines.as_ref())?,
    })
}

impl Place<'_> {
    fn watched(
        &self,
        file: &PlanFile,
        check_series: &dyn Fn(&str) -> Result<(), String>,
    ) -> Result<(Vec<WatchLease>, Vec<WatchPrefix>), PlanError> {
        let (mut leases, mut prefixes) = (Vec::new(), Vec::new());
        // A key may be there twice, once for each of its owners: the labels tell them apart.
        let mut labels = BTreeSet::new();
        for entry in &file.watch.lease {
            let (table, span) = (entry.get_ref(), entry.span());
            let (of_hex, key) = (table.key.is_none(), table.key.as_ref().or(table.key_hex.as_ref()));
            if let (Some(_), Some(hex)) = (&table.key, &table.key_hex) {
                let says = "watch.lease: it has a key twice, as text and in hex: remove one";
                return Err(self.at(hex.span(), says));
            }
            match (key, &table.prefix) {
                (Some(key), None) => {
                    let lease = self.lease(table, key, of_hex, check_series)?;
                    if !labels.insert(lease.label.clone()) {
                        let says = format!(
                            "watch.lease: `{}` labels two entries: give one a name of its own, name = \"…\"",
                            lease.label
                        );
                        return Err(self.at(table.name.as_ref().unwrap_or(key).span(), &says));
                    }
                    leases.push(lease);
                }
                (None, Some(prefix)) => prefixes.push(self.prefix(table, prefix, span)?),
                (Some(_), Some(prefix)) => {
                    let says = "watch.lease: it has a key and a prefix: make two entries of it";
                    return Err(self.at(prefix.span(), says));
                }
                (None, None) => {
                    let says = "watch.lease: it has neither a key nor a prefix: write key = \"…\"";
                    return Err(self.at(span, says));
                }
            }
        }
        if leases.is_empty() && prefixes.is_empty() {
            let says = "watch.lease: the plan names no lease to watch: add\n  [[watch.lease]]\n  key = \"…\"   # as \
                        the store has it";
            let file = self
                .path
                .map_or_else(String::new, |path| format!("{}: ", path.display()));
            return Err(PlanError(format!("{file}{says}")));
        }
        if leases.len() > MOST {
            let says = format!(
                "watch.lease: {} are more than {MOST}, the most that are followed",
                leases.len()
            );
            return Err(PlanError(says));
        }
        Ok((leases, prefixes))
    }

    fn lease(
        &self,
        table: &WatchLeaseTable,
        key: &Text,
        of_hex: bool,
        check_series: &dyn Fn(&str) -> Result<(), String>,
    ) -> Result<WatchLease, PlanError> {
        if key.get_ref().is_empty() {
            return Err(self.at(
                key.span(),
                "watch.lease.key: it is empty: write the key as the store has it",
            ));
        }
        if let Some(max) = &table.max {
            let says = "watch.lease.max: it belongs to a prefix: remove it, or write prefix instead of key";
            return Err(self.at(max.span(), says));
        }
        let bytes = match of_hex {
            true => key_from_hex(key.get_ref())
                .map_err(|says| self.at(key.span(), &format!("watch.lease.key_hex: {says}")))?,
            false => key.get_ref().clone().into_bytes(),
        };
        let label = match (&table.name, std::str::from_utf8(&bytes)) {
            (Some(name), _) => name.get_ref().clone(),
            (None, Ok(text)) => text.to_owned(),
            (None, Err(_)) => shown_key(&bytes),
        };
        if label == OTHER || label.is_empty() {
            let says = format!(
                "watch.lease.name: `{label}` can't be a label (`{OTHER}` stands for the leases without one): write name = \
                 \"…\""
            );
            return Err(self.at(table.name.as_ref().unwrap_or(key).span(), &says));
        }
        let owner = match &table.owner {
            Some(owner) => Some(self.owner_of(owner.get_ref(), owner.span(), check_series)?),
            None => None,
        };
        Ok(WatchLease {
            key: bytes,
            label,
            owner,
        })
    }

    fn prefix(&self, table: &WatchLeaseTable, prefix: &Text, span: Range<usize>) -> Result<WatchPrefix, PlanError> {
        if prefix.get_ref().is_empty() {
            let says = "watch.lease.prefix: it is empty, which is the whole store: write the leases' own prefix";
            return Err(self.at(prefix.span(), says));
        }
        if table.name.is_some() || table.owner.is_some() {
            let says = "watch.lease: name and owner belong to one lease: give its key instead of a prefix";
            return Err(self.at(span, says));
        }
        Ok(WatchPrefix {
            prefix: prefix.get_ref().clone(),
            max: self
                .within("watch.lease.max", table.max.as_ref(), 1..=MOST)?
                .unwrap_or(1000),
        })
    }

    fn owner_of(
        &self,
        table: &WatchOwnerTable,
        span: Range<usize>,
        check_series: &dyn Fn(&str) -> Result<(), String>,
    ) -> Result<WatchOwner, PlanError> {
        let sources = [&table.log, &table.metrics, &table.json, &table.export];
        let mut given = sources.into_iter().flatten();
        let (Some(only), None) = (given.next(), given.next()) else {
            let says = "watch.lease.owner: name exactly one source: log, metrics, json or export";
            return Err(self.at(span, says));
        };
        if table.log.is_none() {
            self.endpoint(only)?;
        }
        let text = |value: &Option<Text>| value.as_ref().map(|it| it.get_ref().clone());
        if let (Some(extra), true) = (
            table.holds.as_ref().or(table.token.as_ref()),
            table.log.is_some() || table.export.is_some(),
        ) {
            let says = "watch.lease.owner: holds and token are for metrics and json: remove them";
            return Err(self.at(extra.span(), says));
        }
        let holds = || match &table.holds {
            Some(holds) => Ok(holds.get_ref().clone()),
            None => {
                let says = "watch.lease.owner: holds is missing: the series (or JSON pointer) that says whether the \
                            owner believes to hold";
                Err(self.at(span.clone(), says))
            }
        };
        let source = if let Some(log) = &table.log {
            BeliefSource::Log(PathBuf::from(log.get_ref()))
        } else if let Some(url) = text(&table.metrics) {
            for series in [&table.holds, &table.token].into_iter().flatten() {
                check_series(series.get_ref())
                    .map_err(|says| self.at(series.span(), &format!("watch.lease.owner: {says}")))?;
            }
            let (holds, token) = (holds()?, text(&table.token));
            BeliefSource::Metrics { url, holds, token }
        } else if let Some(url) = text(&table.json) {
            for pointer in [&table.holds, &table.token].into_iter().flatten() {
                if !pointer.get_ref().starts_with('/') {
                    let says = format!(
                        "watch.lease.owner: `{}` is no JSON pointer: write \"/lease/held\"",
                        pointer.get_ref()
                    );
                    return Err(self.at(pointer.span(), &says));
                }
            }
            let (holds, token) = (holds()?, text(&table.token));
            BeliefSource::Json { url, holds, token }
        } else {
            let url = only.get_ref().clone();
            BeliefSource::Export { url }
        };
        Ok(WatchOwner {
            name: text(&table.name),
            source,
        })
    }

    fn endpoint(&self, url: &Text) -> Result<(), PlanError> {
        let parsed = url::Url::parse(url.get_ref()).ok();
        let good = parsed.is_some_and(|it| matches!(it.scheme(), "http" | "https") && it.has_host());
        if good {
            return Ok(());
        }
        let says = "watch.lease.owner: it is no URL of an endpoint: write \"http://127.0.0.1:9100/metrics\"";
        Err(self.at(url.span(), says))
    }
}
