//! What the store shows.

use super::Shown;
use serde::{Deserialize, Serialize};

/// One look at the store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StoreView {
    /// `redis`, `sqlite` …
    pub kind: String,
    /// Version, role, persistence, eviction …: what there is to say differs from store to store, so
    /// that it is a list.
    pub attributes: Vec<Attribute>,
    /// The key's place and form.
    pub key: KeyForm,
    /// The connections that may be the holder's.
    pub connections: Shown<Connections>,
    /// The slow log.
    pub slow_log: Shown<SlowLog>,
    /// What passed at the server while it was watched, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitored: Option<Shown<Monitored>>,
    /// Whether what this server shows may be behind the truth.
    pub may_be_behind: bool,
    /// The session whose open transaction holds the lease's row, and who it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_held_by: Option<RowHolder>,
    /// What this user was refused.
    pub refused: Vec<String>,
}

impl StoreView {
    /// What a store shows that has neither connections to list nor a log.
    #[must_use]
    pub fn plain(kind: &str, attributes: Vec<Attribute>, key: &KeyForm) -> Self {
        Self {
            kind: kind.to_owned(),
            attributes,
            key: key.clone(),
            connections: Shown::NotByThisStore,
            slow_log: Shown::NotByThisStore,
            monitored: None,
            may_be_behind: false,
            row_held_by: None,
            refused: Vec::new(),
        }
    }
}

/// One thing that a store says about itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Attribute {
    /// `version`, `role`, `persistence`, `eviction` …
    pub name: String,
    /// What it says.
    pub value: Shown<String>,
    /// What that can do to a lease, where it can do something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concern: Option<String>,
}

impl Attribute {
    /// One that worries nobody.
    #[must_use]
    pub fn plain(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            value: Shown::Is(value.into()),
            concern: None,
        }
    }

    /// One that this user may not see.
    #[must_use]
    pub fn withheld(name: &str, why: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            value: Shown::Withheld(why.into()),
            concern: None,
        }
    }

    /// One that no store of this kind shows.
    #[must_use]
    pub fn not_shown(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: Shown::NotByThisStore,
            concern: None,
        }
    }

    /// The same, with what it can do to a lease.
    #[must_use]
    pub fn worrying(mut self, concern: impl Into<String>) -> Self {
        self.concern = Some(concern.into());
        self
    }
}

/// Where a key lies and what is under it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KeyForm {
    /// The database, table or tree that it lies in, in words.
    pub namespace: String,
    /// Whether what lies there has the form of a lease.
    pub form: Form,
    /// Where nothing lies there: what lies beside it, in the layout of a lock tool, and how to look at that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
}

/// What lies under a key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Nothing.
    Absent,
    /// A lease, or a text that may be one.
    Lease,
    /// Something else: shown, not guessed. In words, without its content.
    Foreign(String),
}

/// Connections of a store.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Connections {
    /// How many there are in all.
    pub all: u64,
    /// Those that may be the holder's, the likeliest first, at most a dozen.
    pub candidates: Vec<Connection>,
    /// How far the store ties a connection to a lease, in words.
    pub means: String,
}

/// One connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Connection {
    /// The client's address as the server sees it.
    pub address: String,
    /// The name that the client gave itself, if it did.
    pub name: Option<String>,
    /// How long it has been there, in s.
    pub age_s: u64,
    /// How long since its last command, in s.
    pub idle_s: u64,
    /// Its last command.
    pub last_command: String,
    /// Why it may be the holder's.
    pub why: String,
    /// Whether that is certain.
    pub certain: bool,
    /// Whether the store itself ties it to the lease: whoever has it holds.
    #[serde(default)]
    pub holds: bool,
}

/// A session of a server of tables, whose open transaction holds the lease's row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RowHolder {
    /// The server's process of it.
    pub pid: i64,
    /// The user that it is of.
    pub user: String,
    /// The client's address, or what stands for it where it has none.
    pub address: String,
    /// `active`, `idle in transaction` …; empty where it is hidden.
    pub state: String,
    /// For how long its transaction has been open, in s.
    pub open_s: Option<u64>,
    /// For how long it has been in this state, in s.
    pub idle_s: Option<u64>,
}

impl RowHolder {
    /// Whether nobody waits for a reply of the server: its client stands still, or thinks.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.state.starts_with("idle in transaction")
    }
}

/// The slow log, with what may be concluded from it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SlowLog {
    /// Commands that took at least so long are in it, in µs; 0: all, none: it is off.
    pub threshold_us: Shown<Option<u64>>,
    /// How many entries were looked at.
    pub looked_at: u64,
    /// Those that name the key.
    pub entries: Vec<SlowEntry>,
    /// What follows from it, and what does not.
    pub means: String,
}

/// A slow command on the key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SlowEntry {
    /// When, in s of the server's wall clock.
    pub unix_s: i64,
    /// How long it took the server, in µs.
    pub took_us: u64,
    /// The command, its values left out.
    pub command: String,
    /// The client's address.
    pub address: Option<String>,
}

/// What passed while the server was watched.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Monitored {
    /// How long it was watched, in ms.
    pub watched_ms: u64,
    /// How many commands passed in all.
    pub commands: u64,
    /// Whether it ended early, at the bound of lines.
    pub cut: bool,
    /// How many of them name the key.
    #[serde(default)]
    pub named_key: u64,
    /// The first 1000 of those, values left out.
    pub on_key: Vec<MonitoredCommand>,
}

/// A command that passed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MonitoredCommand {
    /// When, in µs of the server's wall clock since 1970.
    pub unix_us: i64,
    /// Who sent it: an address, or `lua` for a script of another's.
    pub from: String,
    /// The command, its values left out.
    pub command: String,
}
