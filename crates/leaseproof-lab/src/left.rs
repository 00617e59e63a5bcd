//! Keys that killed runs may have left in the store of a server. No journal has a password, so nobody
//! removes them but who gives the store's URL again; and exactly these, never what a search finds.

use crate::prepare::warden_dir;
use leaseproof_fault::journal::{self, LeftInStore, Traces};
use leaseproof_store::StoreUrl;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// How long the store may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// So many keys are named in a sentence.
const NAMED: usize = 3;

/// What killed runs below `out` may have left in servers, once they were healed.
///
/// # Errors
/// When the notes of it can't be read.
pub fn below(out: &Path) -> Result<Vec<LeftInStore>, String> {
    let dir = warden_dir(out);
    journal::left_in_stores(&dir).map_err(|error| format!("the notes in {} can't be read: {error}", dir.display()))
}

/// What may be left, where, and how it is removed; nothing if nothing is.
#[must_use]
pub fn told(left: &[LeftInStore], out: &Path) -> Option<String> {
    let mut by_store: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for traces in left.iter().flat_map(|it| &it.traces) {
        let keys = by_store.entry(&traces.store).or_default();
        keys.extend(traces.keys.iter().map(String::as_str));
    }
    let mut says = String::new();
    for (store, keys) in &by_store {
        let separator = if says.is_empty() { "" } else { "\n" };
        // Writing to a String can't fail.
        let _ = write!(
            says,
            "{separator}these keys, with their counters `…:token`, may be left in {store}: {}{}\n  \
             `leaseproof undo --out {} --store {store}` removes exactly these{}",
            keys.iter().take(NAMED).copied().collect::<Vec<_>>().join(", "),
            match keys.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more of the same run"),
            },
            out.display(),
            if store.contains(":***@") {
                ", with the password in place of ***"
            } else {
                ""
            }
        );
    }
    (!says.is_empty()).then_some(says)
}

/// Removes from the store at `url` exactly the keys that are noted for it; what was done, in words.
///
/// # Errors
/// When the store does not answer, or nothing is noted for it and something is for another.
pub fn remove(out: &Path, url: &str) -> Result<Vec<String>, String> {
    let store: StoreUrl = url
        .parse()
        .map_err(|error: leaseproof_store::StoreError| error.to_string())?;
    let (here, elsewhere): (Vec<_>, Vec<_>) = below(out)?
        .into_iter()
        .partition(|it| it.traces.iter().all(|traces| is_at(traces, &store)));
    if here.is_empty() {
        return match told(&elsewhere, out) {
            Some(says) => Err(format!("no killed run left keys in {store}, but {says}")),
            None => Ok(Vec::new()),
        };
    }
    let mut admin = leaseproof_store::open_administrator(&store, PATIENCE).map_err(|error| error.to_string())?;
    let mut done = Vec::new();
    for it in here {
        let keys: Vec<String> = it.traces.iter().flat_map(|traces| traces.keys.clone()).collect();
        let gone = admin.clean(&keys).map_err(|error| error.to_string())?;
        done.push(format!(
            "{} of a killed run in {store} {} looked for, {gone} leases and counters were there and are removed",
            if keys.len() == 1 {
                "1 key".to_owned()
            } else {
                format!("{} keys", keys.len())
            },
            if keys.len() == 1 { "was" } else { "were" },
        ));
        it.forget().map_err(|error| error.to_string())?;
    }
    Ok(done)
}

/// Whether these were made in this store: the same server and the same database, whoever asks.
fn is_at(traces: &Traces, store: &StoreUrl) -> bool {
    let Ok(theirs) = traces.store.parse::<StoreUrl>() else {
        return false;
    };
    place(&theirs).is_some_and(|it| Some(it) == place(store))
}

/// Hosts and ports, and kind and database.
fn place(store: &StoreUrl) -> Option<(Vec<(String, u16)>, String)> {
    let mut servers: Vec<(String, u16)> = store
        .places()
        .into_iter()
        .map(|(host, port)| match host.eq_ignore_ascii_case("localhost") {
            true => ("127.0.0.1".to_owned(), port),
            false => (host, port),
        })
        .collect();
    servers.sort();
    servers.first()?;
    let text = store.to_string();
    let (_, rest) = text.split_once("://")?;
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
    let database = Some(path).filter(|it| !it.is_empty());
    Some((servers, format!("{} {}", store.kind(), database.unwrap_or("0"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traces(store: &str) -> Traces {
        Traces {
            store: store.to_owned(),
            file: None,
            keys: vec!["canary/demo/7/killed".to_owned()],
        }
    }

    #[test]
    fn one_place_has_many_urls() {
        let asked: StoreUrl = "redis://:geheim@127.0.0.1:6379".parse().expect("a URL");
        for (noted, same) in [
            ("redis://:***@127.0.0.1:6379", true),
            ("redis://localhost", true),
            ("redis://127.0.0.1:6379/0", true),
            ("redis://127.0.0.1:6379/1", false),
            ("redis://127.0.0.1:6380", false),
            ("redis://10.0.0.1:6379", false),
            ("sqlite:locks.db", false),
            #[cfg(feature = "etcd")]
            ("etcd://127.0.0.1:6379,127.0.0.1:6380", false),
        ] {
            assert_eq!(is_at(&traces(noted), &asked), same, "{noted}");
        }
    }
}
