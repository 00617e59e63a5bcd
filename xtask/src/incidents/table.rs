//! The kinds of incidents and the clients, as `xtask/incidents/kinds.toml` has them.

use serde::{Deserialize, Serialize};

const TABLE: &str = include_str!("../../incidents/kinds.toml");

/// A right answer: a rule's code, and on which side the cause lies.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Answer(pub String, pub String);

/// What is done to it, or to its surroundings.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Nothing: the client is enough.
    None,
    /// SIGSTOP of the owner's tree until another has the lease.
    Stop,
    /// The same, for little longer than its TTL.
    BriefStop,
    /// The same; the next owner takes the lease and frees it meanwhile.
    StopAndGone,
    /// The freezer of control groups.
    Freeze,
    /// A real collection in full.
    Gc,
    /// SIGSTOP while one runs.
    StopInGc,
    /// The quota of control groups.
    Throttle,
    /// SIGKILL of the tree.
    Kill,
    /// The kernel's OOM killer.
    Oom,
    /// Bytes to the store and back vanish.
    Blackhole,
    /// Its connections are forgotten in silence.
    IdleDrop,
    /// SIGSTOP of the store.
    StoreStop,
    /// The store is killed, and starts again with nothing.
    StoreRestartEmpty,
    /// The primary is stopped, Sentinels choose another.
    Failover,
    /// The key is evicted, since memory is short.
    Evict,
    /// The store's wall clock steps forward.
    StoreClock,
    /// Somebody deletes the key.
    Delete,
    /// Somebody overwrites the key.
    Steal,
    /// A write is under way while its owner is stopped.
    HeldWrite,
}

/// What must have happened, else the incident is thrown away.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// Another holder came after the first.
    TakenOver,
    /// The first grant ended before the run did.
    Lost,
    /// The first grant held to the end.
    Kept,
    /// The first owner wrote after its grant had ended.
    LateAct,
}

/// A kind of incident.
#[derive(Clone, Debug, Deserialize)]
pub struct Kind {
    pub name: String,
    pub weight: u32,
    pub fault: Fault,
    pub needs: Needs,
    pub truth: Vec<Answer>,
    pub clients: Vec<String>,
    pub stores: Vec<String>,
    #[serde(default)]
    pub evidence: Vec<String>,
    pub ttl_ms: Option<u64>,
    pub heartbeat_ms: Option<u64>,
    pub fenced: Option<bool>,
    pub false_suspect: Option<String>,
}

/// What runs a client.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Run {
    Lab,
    Python,
    Node,
    Jvm,
    Etcdctl,
}

/// Whose a client is.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The reference owner, or an example of ours.
    Ours,
    /// A public lock client.
    Foreign,
}

/// A client.
#[derive(Clone, Debug, Deserialize)]
pub struct Client {
    pub name: String,
    pub by: By,
    #[serde(default)]
    pub groups: Vec<String>,
    pub run: Run,
    #[serde(default)]
    pub words: Vec<String>,
    pub stores: Vec<String>,
    /// What it makes of the key.
    pub key: Option<String>,
    /// Whether its store needs `?recipe=lock` to be looked at.
    #[serde(default)]
    pub recipe: bool,
    pub tokens: bool,
    #[serde(default)]
    pub truth: Vec<Answer>,
}

/// The table.
#[derive(Debug, Deserialize)]
pub struct Table {
    #[serde(rename = "kind")]
    pub kinds: Vec<Kind>,
    #[serde(rename = "client")]
    pub clients: Vec<Client>,
}

impl Table {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read() -> Result<Self, String> {
        let table: Self = toml::from_str(TABLE).map_err(|error| format!("kinds.toml: {error}"))?;
        for kind in &table.kinds {
            if table.pairs(kind).is_empty() {
                return Err(format!("kinds.toml: {} has no client on any of its stores", kind.name));
            }
        }
        Ok(table)
    }

    /// The clients of a kind, each with a store that both allow.
    pub fn pairs<'a>(&'a self, kind: &'a Kind) -> Vec<(&'a Client, &'a str)> {
        let of = |client: &Client| {
            kind.clients.iter().any(|name| match name.strip_prefix("group:") {
                Some(group) => client.groups.iter().any(|it| it == group),
                None => client.name == *name,
            })
        };
        let clients = self.clients.iter().filter(|client| of(client));
        clients
            .flat_map(|client| {
                let stores = kind.stores.iter().filter(|store| client.stores.contains(store));
                stores.map(move |store| (client, store.as_str()))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_and_names_only_clients_that_are_there() {
        let table = Table::read().expect("the table");
        for kind in &table.kinds {
            for name in &kind.clients {
                let known = match name.strip_prefix("group:") {
                    Some(group) => table.clients.iter().any(|it| it.groups.iter().any(|it| it == group)),
                    None => table.clients.iter().any(|it| it.name == *name),
                };
                assert!(known, "{}: {name}", kind.name);
            }
        }
    }
}
