//! What the files of an incident come to: was there a breach, why was the lease lost, what is missing.

use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The schema of [`Diagnosis`].
pub const DIAGNOSIS_SCHEMA: &str = "leaseproof.diagnosis/1";

/// How sure a cause is. Ordered from sure to not.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// The lines leave no other explanation.
    Certain,
    /// The lines fit, and something that would exclude the others is missing.
    Likely,
    /// Nothing speaks against it, and little for it.
    Possible,
}

/// Where the fault lies: where to change something.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Boundary {
    /// The lock client, or the program around it.
    LockClient,
    /// What the program runs on: its runtime, the process, the machine.
    Runtime,
    /// The lock store.
    Store,
    /// The network between owner and store.
    Network,
    /// The protected resource.
    Resource,
    /// The numbers.
    Configuration,
}

/// Whether there was a breach.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// The lines prove it.
    Certainly,
    /// The lines allow it, and don't prove it.
    Possibly,
    /// Owner, store and resource are covered, and there was none.
    NoneSeen,
    /// Too much is missing to say.
    CannotTell,
}

/// A line of a file that says something.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cited {
    /// The file, as it was given.
    pub file: String,
    /// The line, from 1; of a bundle's events: the event's number.
    pub line: u64,
    /// What it says, cut, secrets redacted.
    pub text: String,
    /// Why it is cited, where the text alone does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// One broken promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BreachSeen {
    /// The rule's code.
    pub rule: String,
    /// The rule's name.
    pub name: String,
    /// Certainly or possibly.
    pub seen: Seen,
    /// What happened, in one sentence with its numbers.
    pub says: String,
    /// When: nanoseconds since 1970, not before and not after. `None`: no clock tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Span>,
    /// The tokens that it is about.
    pub tokens: Vec<u64>,
    /// The owners that it is about.
    pub owners: Vec<String>,
    /// The lines that say so.
    pub evidence: Vec<Cited>,
}

/// From, to: nanoseconds since 1970, both ends included.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Span {
    /// Not before this.
    pub earliest: i64,
    /// Not after this.
    pub latest: i64,
}

/// Whether there was a breach, and what it rests on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Breach {
    /// The answer.
    pub seen: Seen,
    /// The answer in one sentence.
    pub says: String,
    /// Each broken promise.
    pub broken: Vec<BreachSeen>,
    /// Which of the three parties the files cover for the window, and why not.
    pub covered: Covered,
}

/// Which of the three parties the files cover.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Covered {
    /// Files that say what the owners believed.
    pub owner: Vec<String>,
    /// Files that say whom the store granted the lease.
    pub store: Vec<String>,
    /// Files that say which writes the resource took.
    pub resource: Vec<String>,
}

/// One cause that fits.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Cause {
    /// Its name, which never changes: `stopped-from-outside`.
    pub id: String,
    /// The rule's code.
    pub rule: String,
    /// Its place in the order, from 1.
    pub rank: u32,
    /// How sure it is.
    pub confidence: Confidence,
    /// Where the fault lies.
    pub boundary: Boundary,
    /// What happened, in one sentence with its numbers.
    pub says: String,
    /// The lines that say so.
    pub evidence: Vec<Cited>,
    /// The lines that speak against it, or that mislead and why.
    pub against: Vec<Cited>,
    /// The safe fix.
    pub next: String,
    /// The tempting mistake.
    pub not: String,
}

/// What is missing, and how to get it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Missing {
    /// What, and what it would decide.
    pub what: String,
    /// The exact read-only command.
    pub how: String,
}

/// A file in which something was not understood.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NotUnderstood {
    /// The file.
    pub file: String,
    /// How many lines of it.
    pub lines: u64,
    /// The first of them.
    pub examples: Vec<Cited>,
}

/// One thing on a lane.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Mark {
    /// The line.
    pub line: u64,
    /// From when to when it may have begun, or happened.
    pub when: Span,
    /// From when to when it may have ended, where it lasted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Span>,
    /// What kind of thing: `owner acquired`, `runtime stop`.
    pub kind: String,
    /// In words.
    pub says: String,
}

/// What one file says, along the time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Lane {
    /// The file.
    pub file: String,
    /// What it was recognised as.
    pub formats: Vec<String>,
    /// Which owner it is about, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its clock, in words: `wall`, `anchored ±2ms`, `not aligned`.
    pub clock: String,
    /// What it says, in its own order; only what matters here.
    pub marks: Vec<Mark>,
}

/// Of whom a lane of the picture tells.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Party {
    /// The lock store.
    Store,
    /// An owner.
    Owner,
    /// The protected resource.
    Resource,
    /// A machine, or something of which nothing tells whose it is.
    Other,
}

/// What a part of the picture shows.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// The store grants the lease.
    Grant,
    /// An owner says that it holds the lease; no longer than to its last word.
    Belief,
    /// It did not run, by somebody's word.
    Stop,
    /// It wrote nothing for longer than it usually does.
    Silence,
    /// It waits for the lease.
    Waiting,
    /// It acquired the lease.
    Acquired,
    /// A renewal: applied, on the store's lane; by its own word, on an owner's.
    Renewed,
    /// A renewal failed.
    Failed,
    /// It lost the lease.
    Lost,
    /// It released the lease.
    Released,
    /// A write that was accepted; on an owner's lane: that it says it made.
    Write,
    /// A write that was refused.
    Refused,
}

/// One part of the picture.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Whose, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// From when to when it may have begun, or happened.
    pub when: Span,
    /// From when to when it may have ended. `None`: it did not last, or (a grant) nothing shows its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Span>,
    /// In words.
    pub says: String,
    /// The lines that it rests on.
    pub lines: Vec<Cited>,
}

/// What the story tells of one party, along the time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoryLane {
    /// Of whom.
    pub party: Party,
    /// Its name.
    pub name: String,
    /// The parts, in the order of time.
    pub parts: Vec<Part>,
    /// How many parts were left out, since there are too many.
    pub left_out: u64,
}

/// The incident on one time axis.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Picture {
    /// From the last renewal to the loss and what was broken by it; `None`: no line dates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Span>,
    /// The store, each owner, the resource, and what else stood still.
    pub lanes: Vec<StoryLane>,
}

/// The document that `diagnose --json` prints.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Diagnosis {
    /// `leaseproof.diagnosis/1`.
    pub schema: String,
    /// The key that it is about, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Proven (nothing wrong, with the evidence to say so), violated, cannot tell.
    pub verdict: Verdict,
    /// Where the fault of the first cause lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Boundary>,
    /// Whether there was a breach.
    pub breach: Breach,
    /// The loss that is explained, in one sentence; `None`: none was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<String>,
    /// The causes, the best first.
    pub causes: Vec<Cause>,
    /// What is missing, what would decide most first.
    pub missing: Vec<Missing>,
    /// What a reader must know of the files: clocks that were assumed, files that were cut.
    pub notes: Vec<String>,
    /// The evidence, file by file.
    pub lanes: Vec<Lane>,
    /// The same as one story: who held, who stood still, what was written.
    #[serde(default)]
    pub picture: Picture,
    /// What was not understood.
    pub not_understood: Vec<NotUnderstood>,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Possible => "possible",
        })
    }
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::LockClient => "lock client",
            Self::Runtime => "runtime",
            Self::Store => "store",
            Self::Network => "network",
            Self::Resource => "resource",
            Self::Configuration => "configuration",
        })
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Certainly => "certainly",
            Self::Possibly => "possibly",
            Self::NoneSeen => "none seen",
            Self::CannotTell => "cannot tell",
        })
    }
}
