//! Which key it is about, and which lines are about another lease.

use crate::asked::Asked;
use leaseproof_evidence::evidence::Evidence;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{OwnerSays, ResourceSays, Says, StoreSays};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The keys of the leases that the files name, and the one that it is about.
#[derive(Debug, Default)]
pub struct Keys {
    /// The one that it is about: what is asked, or the one that the files speak of most.
    pub asked: Option<String>,
    /// Those of other leases.
    others: BTreeSet<Arc<str>>,
    /// Whether owners call it as it is asked for: then another name is another lease, and no other name for this one.
    is_called_so: bool,
    /// The database that its records are of, where the files have the key in several (Redis numbers them).
    database: Option<Database>,
    /// Whether no line names the one that is asked about, though lines name others.
    pub is_nowhere: bool,
}

impl Keys {
    /// By what the store granted and the owners acquired.
    #[must_use]
    pub fn of(evidence: &Evidence, asked: &Asked) -> Self {
        let mut count: BTreeMap<&Arc<str>, u32> = BTreeMap::new();
        for record in &evidence.records {
            let key = match &record.says {
                Says::Store(StoreSays::Granted { key, .. } | StoreSays::Asked { key, .. }) => key,
                Says::Store(
                    StoreSays::Expired { key }
                    | StoreSays::Held {
                        key, holder: Some(_), ..
                    },
                ) => key,
                Says::Owner(OwnerSays::Acquired { key: Some(key), .. }) => key,
                _ => continue,
            };
            *count.entry(key).or_default() += 1;
        }
        let most = || {
            count
                .iter()
                .max_by_key(|(_, count)| **count)
                .map(|(key, _)| key.to_string())
        };
        let wanted = asked.key.clone().or_else(most);
        let Some(wanted) = wanted else { return Self::default() };
        let others: BTreeSet<Arc<str>> = count
            .keys()
            .filter(|key| !is_same(key, &wanted))
            .map(|key| Arc::clone(key))
            .collect();
        let is_called_so = evidence.records.iter().any(|record| match &record.says {
            Says::Owner(said) => said.key().is_some_and(|key| is_same(key, &wanted)),
            _ => false,
        });
        Self {
            database: Database::of(evidence, &wanted),
            is_nowhere: !count.is_empty() && others.len() == count.len() && !is_named(evidence, &wanted),
            is_called_so,
            asked: Some(wanted),
            others,
        }
    }

    /// Whether a key is the one that it is about.
    #[must_use]
    pub fn is_it(&self, key: &str) -> bool {
        self.asked.as_deref().is_none_or(|asked| is_same(key, asked))
    }

    /// Whether a line is about another lease: it names its key.
    #[must_use]
    pub fn is_of_another(&self, record: &Record) -> bool {
        if !self.is_called_so {
            return false;
        }
        match &record.says {
            // What was written may have a name of its own, which is no lease's.
            Says::Owner(OwnerSays::Wrote { key: Some(key), .. } | OwnerSays::WriteRefused { key: Some(key), .. })
            | Says::Resource(ResourceSays::Write { key: Some(key), .. }) => self.others.contains(key),
            Says::Owner(said) => said.key().is_some_and(|key| !self.is_it(key)),
            _ => false,
        }
    }

    /// Whether a record of the store is of the key in a database that it is not about.
    #[must_use]
    pub fn is_of_another_database(&self, record: &Record) -> bool {
        let Some(database) = &self.database else { return false };
        match &record.says {
            Says::Store(said) => {
                said.key().is_some_and(|key| self.is_it(key)) && record.author.database != database.chosen
            }
            _ => false,
        }
    }

    /// What is to be known of its database, if the files have the key in several.
    #[must_use]
    pub fn database_note(&self) -> Option<String> {
        let database = self.database.as_ref()?;
        let number = |it: &Option<u32>| it.unwrap_or(0).to_string();
        let others: Vec<String> = database.others.iter().map(number).collect();
        Some(format!(
            "the key {} is in several databases of the server: {} was taken, {}; what is of {} was left out",
            self.asked.as_deref().unwrap_or_default(),
            number(&database.chosen),
            match database.by_holder {
                true => "whose holder an owner's file names",
                false => "which has most of the records",
            },
            others.join(", "),
        ))
    }

    /// The other leases that are named, a few of them.
    #[must_use]
    pub fn others(&self) -> String {
        let some: Vec<&str> = self.others.iter().take(5).map(|key| &**key).collect();
        let more = self.others.len() - some.len();
        match more {
            0 => some.join(", "),
            _ => format!("{} and {more} more", some.join(", ")),
        }
    }
}

/// Which of several databases it is about.
#[derive(Debug)]
struct Database {
    /// `None`: the first.
    chosen: Option<u32>,
    others: BTreeSet<Option<u32>>,
    by_holder: bool,
}

impl Database {
    fn of(evidence: &Evidence, wanted: &str) -> Option<Self> {
        let owners: BTreeSet<&str> = evidence
            .records
            .iter()
            .filter_map(|record| match &record.says {
                Says::Owner(OwnerSays::Acquired { holder, .. }) => holder.as_deref(),
                _ => None,
            })
            .collect();
        // Of each, whether an owner's name holds it there, and how many records it has.
        let mut found: BTreeMap<Option<u32>, (bool, u32)> = BTreeMap::new();
        for record in &evidence.records {
            let Says::Store(said) = &record.says else { continue };
            if !said.key().is_some_and(|key| is_same(key, wanted)) {
                continue;
            }
            let entry = found.entry(record.author.database).or_default();
            entry.1 += 1;
            if let StoreSays::Granted {
                holder: Some(holder), ..
            }
            | StoreSays::Asked {
                holder: Some(holder), ..
            } = said
            {
                entry.0 |= owners.contains(&**holder);
            }
        }
        if found.len() < 2 {
            return None;
        }
        let (chosen, (by_holder, _)) = found.iter().max_by_key(|(_, rank)| **rank)?;
        Some(Self {
            chosen: *chosen,
            by_holder: *by_holder,
            others: found.keys().filter(|it| *it != chosen).copied().collect(),
        })
    }
}

/// A key that is no lease's by the store or an owner may stand in other lines.
fn is_named(evidence: &Evidence, wanted: &str) -> bool {
    evidence.records.iter().any(|record| match &record.says {
        Says::Owner(said) => said.key().is_some_and(|key| is_same(key, wanted)),
        Says::Store(said) => said.key().is_some_and(|key| is_same(key, wanted)),
        Says::Resource(ResourceSays::Write { key: Some(key), .. }) => is_same(key, wanted),
        _ => false,
    })
}

/// A client may put a prefix before a key, which ends at a boundary.
fn is_same(one: &str, other: &str) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short)
            .is_some_and(|rest| rest.chars().next_back().is_none_or(|last| !last.is_alphanumeric()))
    };
    !one.is_empty() && !other.is_empty() && (ends(one, other) || ends(other, one))
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn keys_ok() {
        assert!(is_same("lock:orders", "lock:orders"));
        assert!(is_same("redlock:lock:orders", "lock:orders"));
        assert!(is_same("lock:orders", "app/lock:orders"));
    }

    #[test]
    fn keys_bad() {
        assert!(!is_same("block:orders", "lock:orders"));
        assert!(!is_same("lock:11", "1"));
        assert!(!is_same("lock:orders", ""));
        assert!(!is_same("lock:orders", "lock:order"));
    }
}
