//! The tables of `leaseproof.toml`, as they are written. Nothing is checked here but names and types.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A text that knows its place in the file, so that a complaint about it names line and column.
pub type Text = toml::Spanned<String>;

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// `[budget]`.
    #[serde(default)]
    pub budget: BudgetTable,
    /// `[connection]`.
    #[serde(default)]
    pub connection: ConnectionTable,
    /// `[store]`.
    #[serde(default)]
    pub store: StoreTable,
    /// `[owner]`.
    #[serde(default)]
    pub owner: OwnerTable,
    /// `[verify]`.
    #[serde(default)]
    pub verify: VerifyTable,
    /// `[watch]`.
    #[serde(default)]
    pub watch: WatchTable,
    /// `[diagnose]`.
    #[serde(default)]
    pub diagnose: DiagnoseTable,
}

/// `[budget]`: durations with units.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetTable {
    /// How long a grant lives without a renewal.
    pub ttl: Option<Text>,
    /// How often the owner renews.
    pub heartbeat: Option<Text>,
    /// The longest pause to survive.
    pub worst_pause: Option<Text>,
    /// How far clocks move apart within one TTL.
    pub max_clock_drift: Option<Text>,
    /// How long a renewal may take.
    pub renew_timeout: Option<Text>,
}

/// `[connection]`: what the owner's connection to the store does while nothing is sent. Only `check` reads it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionTable {
    /// After how long without traffic the client sends TCP keepalives.
    pub keepalive: Option<Text>,
    /// How long sent data may stay unacknowledged before the connection is given up (`TCP_USER_TIMEOUT`).
    pub user_timeout: Option<Text>,
    /// After how long without traffic the server, or something on the way to it, drops the connection.
    pub idle_timeout: Option<Text>,
    /// How long a pool keeps a connection that nobody uses.
    pub pool_max_idle: Option<Text>,
}

/// `[store]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreTable {
    /// The store's URL.
    pub url: Option<Text>,
    /// More stores, to run on side by side.
    pub also: Option<Vec<Text>>,
    /// Kinds of store whose server is to be started for the run.
    pub start: Option<Vec<Text>>,
    /// Faults and clean-up stay below it.
    pub prefix: Option<Text>,
    /// The key that runs are named after.
    pub key: Option<Text>,
    /// What the owner makes of the key: `lock:{key}`.
    pub owner_key: Option<Text>,
    /// Other keys of this lease that the lab deletes with it.
    pub also_deletes: Option<Vec<Text>>,
}

/// `[owner]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnerTable {
    /// The program and its arguments.
    pub command: Option<toml::Spanned<Vec<String>>>,
    /// A known lock client.
    pub preset: Option<Text>,
    /// More variables for its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Regular expressions for owners that print no JSON.
    pub lines: Option<LinesTable>,
}

/// `[owner.lines]`: one regular expression an event; groups named `token`, `reason`, `thread`,
/// `grant` are read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinesTable {
    /// A line that says it waits.
    pub waiting: Option<Text>,
    /// A line that says it acquired the lease.
    pub acquired: Option<Text>,
    /// A line that says a renewal succeeded.
    pub renewed: Option<Text>,
    /// A line that says a renewal failed.
    pub renew_failed: Option<Text>,
    /// A line that says the lease was lost.
    pub lost: Option<Text>,
    /// A line that says the lease was released.
    pub released: Option<Text>,
    /// A line that says a protected write was made.
    pub write: Option<Text>,
    /// A line that says a protected write was refused.
    pub write_refused: Option<Text>,
}

impl LinesTable {
    /// The names of its keys.
    pub const EVENTS: [&'static str; 8] = [
        "waiting",
        "acquired",
        "renewed",
        "renew_failed",
        "lost",
        "released",
        "write",
        "write_refused",
    ];

    /// The expressions that are given, by their keys.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &Text)> {
        [
            ("waiting", &self.waiting),
            ("acquired", &self.acquired),
            ("renewed", &self.renewed),
            ("renew_failed", &self.renew_failed),
            ("lost", &self.lost),
            ("released", &self.released),
            ("write", &self.write),
            ("write_refused", &self.write_refused),
        ]
        .into_iter()
        .filter_map(|(name, text)| Some((name, text.as_ref()?)))
    }

    /// The expression for an event, by its key.
    pub fn expression(&mut self, event: &str) -> Option<&mut Option<Text>> {
        Some(match event {
            "waiting" => &mut self.waiting,
            "acquired" => &mut self.acquired,
            "renewed" => &mut self.renewed,
            "renew_failed" => &mut self.renew_failed,
            "lost" => &mut self.lost,
            "released" => &mut self.released,
            "write" => &mut self.write,
            "write_refused" => &mut self.write_refused,
            _ => return None,
        })
    }
}

/// `[verify]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyTable {
    /// Scenario names, or `all`.
    pub scenarios: Option<Vec<Text>>,
    /// Cycles of each scenario.
    pub cycles: Option<toml::Spanned<u32>>,
    /// The seed of every random choice.
    pub seed: Option<u64>,
    /// How many scenarios side by side.
    pub jobs: Option<toml::Spanned<usize>>,
    /// `sigstop`, `cgroup` or `auto`.
    pub freeze: Option<Text>,
    /// Writes without a token are a breach.
    pub require_token: Option<bool>,
    /// Scenarios that must be offered; they are run, whether chosen or not.
    pub require: Option<Vec<Text>>,
    /// Allow a store that is not on loopback.
    pub allow_remote: Option<bool>,
    /// Allow a store that holds other keys.
    pub allow_shared_store: Option<bool>,
}

/// `[watch]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchTable {
    /// How often each lease is read.
    pub interval: Option<Text>,
    /// Address and port of the metrics.
    pub listen: Option<Text>,
    /// How many leases get series of their own.
    pub labels: Option<toml::Spanned<usize>>,
    /// How long a worst value is remembered.
    pub worst_window: Option<Text>,
    /// From which share of the TTL on a divergence is an alert.
    pub alert_share: Option<toml::Spanned<f64>>,
    /// How often prefixes are listed anew.
    pub rescan: Option<Text>,
    /// `[[watch.lease]]`.
    #[serde(default)]
    pub lease: Vec<toml::Spanned<WatchLeaseTable>>,
}

/// `[[watch.lease]]`: a lease by its key, or all below a prefix.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchLeaseTable {
    /// The key, as the store has it.
    pub key: Option<Text>,
    /// Or the key in hex, where it is no text.
    pub key_hex: Option<Text>,
    /// Or all keys that begin so.
    pub prefix: Option<Text>,
    /// How many of them at most.
    pub max: Option<toml::Spanned<usize>>,
    /// What its series are labelled with, instead of the key.
    pub name: Option<Text>,
    /// Where its owner's belief is read.
    pub owner: Option<toml::Spanned<WatchOwnerTable>>,
}

/// `owner = { … }` of a lease: exactly one source, and how it reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchOwnerTable {
    /// The name that its grants begin with, where it says no token.
    pub name: Option<Text>,
    /// Its log: JSON event lines, or lines that `[owner.lines]` matches.
    pub log: Option<Text>,
    /// Its Prometheus metrics.
    pub metrics: Option<Text>,
    /// An HTTP endpoint that answers JSON.
    pub json: Option<Text>,
    /// The export of the leaseproof library: its series need no naming.
    pub export: Option<Text>,
    /// The series, or the JSON pointer, that says whether it believes to hold.
    pub holds: Option<Text>,
    /// The series, or the JSON pointer, with its token.
    pub token: Option<Text>,
}

/// `[diagnose]`: how the logs of an incident are read, where the reader does not know them by itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiagnoseTable {
    /// `[diagnose.owner]`.
    #[serde(default)]
    pub owner: DiagnoseOwnerTable,
    /// `[diagnose.resource]`.
    #[serde(default)]
    pub resource: DiagnoseResourceTable,
}

/// `[diagnose.owner]`: one regular expression for each thing that an owner's line may say. Where one is left out, that of
/// `[owner.lines]` is taken. Groups named `token`, `key`, `holder`, `reason` and `ttl` are read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiagnoseOwnerTable {
    /// A line that says it waits.
    pub waiting: Option<Text>,
    /// A line that says it acquired the lease.
    pub acquired: Option<Text>,
    /// A line that says a renewal succeeded.
    pub renewed: Option<Text>,
    /// A line that says a renewal failed.
    pub renew_failed: Option<Text>,
    /// A line that says the lease was lost.
    pub lost: Option<Text>,
    /// A line that says the lease was released.
    pub released: Option<Text>,
    /// A line that says it holds the lease: no event, a statement.
    pub held: Option<Text>,
    /// A line that says a protected write was made.
    pub write: Option<Text>,
    /// A line that says a protected write was refused.
    pub write_refused: Option<Text>,
}

impl DiagnoseOwnerTable {
    /// The expressions that are given, by their keys.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &Text)> {
        [
            ("waiting", &self.waiting),
            ("acquired", &self.acquired),
            ("renewed", &self.renewed),
            ("renew_failed", &self.renew_failed),
            ("lost", &self.lost),
            ("released", &self.released),
            ("held", &self.held),
            ("write", &self.write),
            ("write_refused", &self.write_refused),
        ]
        .into_iter()
        .filter_map(|(name, text)| Some((name, text.as_ref()?)))
    }
}

/// `[diagnose.resource]`: how the log of the protected resource tells of writes. Groups named `token`, `key`, `sender`,
/// `status` and `serial` are read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiagnoseResourceTable {
    /// A line of a write; what became of it is the group `status`: an HTTP status, or `accepted` and the like.
    pub write: Option<Text>,
    /// A line of a write that was accepted.
    pub accepted: Option<Text>,
    /// A line of a write that was rejected.
    pub rejected: Option<Text>,
    /// Where the token is in the resource's JSON lines: `$.lease.token`.
    pub token_path: Option<Text>,
}
