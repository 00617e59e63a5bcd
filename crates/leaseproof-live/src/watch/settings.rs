//! What to watch, and where.

use super::belief::Report;
use super::key::Key;
use leaseproof_model::budget::Budget;
use leaseproof_model::event::Said;
use leaseproof_store::StoreUrl;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Reads one line of an owner's log; `None`: it is no event.
pub type LineReader = Arc<dyn Fn(&str) -> Option<Said> + Send + Sync>;

/// What to watch, and where.
#[derive(Clone)]
pub struct Settings {
    /// The store.
    pub store: StoreUrl,
    /// The safety budget.
    pub budget: Budget,
    /// How often each lease is read.
    pub interval: Duration,
    /// How long the store may take for an answer, in running time.
    pub timeout: Duration,
    /// Where metrics are served.
    pub listen: SocketAddr,
    /// How many leases get series of their own.
    pub labels: usize,
    /// How long a worst value is remembered.
    pub window: Duration,
    /// From which share of the TTL on a divergence is an alert.
    pub alert_share: f64,
    /// How often prefixes are listed anew.
    pub rescan: Duration,
    /// The leases by key.
    pub leases: Vec<LeaseSettings>,
    /// The prefixes.
    pub prefixes: Vec<PrefixSettings>,
    /// How the lines of logs are understood.
    pub read_line: LineReader,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("store", &self.store)
            .field("leases", &self.leases.len())
            .field("prefixes", &self.prefixes)
            .finish_non_exhaustive()
    }
}

/// A lease by its key.
#[derive(Clone, Debug)]
pub struct LeaseSettings {
    /// The key, as the store has it.
    pub key: Key,
    /// What its series are labelled with.
    pub label: String,
    /// Where its owner's belief is read.
    pub owner: Option<OwnerSettings>,
}

/// All leases below a prefix.
#[derive(Clone, Debug)]
pub struct PrefixSettings {
    /// The prefix.
    pub prefix: String,
    /// How many at most.
    pub max: usize,
}

/// An owner that says what it believes.
#[derive(Clone, Debug)]
pub struct OwnerSettings {
    /// The name that its grants begin with.
    pub name: Option<String>,
    /// Where it says so.
    pub source: SourceSettings,
}

/// Where an owner says what it believes.
#[derive(Clone, Debug)]
pub enum SourceSettings {
    /// Its log file.
    Log(PathBuf),
    /// An HTTP endpoint.
    Endpoint {
        /// The URL.
        url: String,
        /// How its answer is read.
        reader: Arc<dyn ReadAnswer>,
    },
}

/// Reads an endpoint's answer.
pub trait ReadAnswer: fmt::Debug + Send + Sync {
    /// What the owner claims, and its token.
    ///
    /// # Errors
    /// What is missing in the answer, or wrong with it.
    fn read(&self, body: &str) -> Result<Answer, String>;
}

/// What an endpoint's answer says.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Whether the owner believes to hold the lease.
    pub holds: bool,
    /// Its token.
    pub token: Option<u64>,
    /// When it was so, where the answer tells: milliseconds since 1970, by a clock of the owner's side.
    pub stamp_ms: Option<i64>,
}

/// A report of a lease's owner, or why there is none.
pub type Heard = Result<Report, String>;
