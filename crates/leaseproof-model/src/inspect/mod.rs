//! One look at a lease in use: the document that `inspect --json` prints.
//!
//! - [`store_view`]: what the store shows of itself, of the key, of its connections
//! - [`lease_view`]: what was inferred from the readings of a span
//! - [`owner_view`]: what the owner's own host shows of its process
//! - [`plan_view`]: the same numbers beside those of a plan

pub mod lease_view;
pub mod owner_view;
pub mod plan_view;
pub mod store_view;

use crate::finding::Finding;
use crate::verdict::Verdict;
use lease_view::LeaseView;
use owner_view::OwnerView;
use plan_view::PlanView;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use store_view::StoreView;

/// The schema of [`Inspection`].
pub const INSPECT_SCHEMA: &str = "leaseproof.inspect/1";

/// One look.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Inspection {
    /// [`INSPECT_SCHEMA`].
    pub schema: String,
    /// The version of leaseproof that looked.
    pub version: String,
    /// When it began, in ms of this host's wall clock since 1970.
    pub began_unix_ms: i64,
    /// How long it took, in ms.
    pub took_ms: u64,
    /// The store's URL, without its password.
    pub url: String,
    /// The key, with every byte that is no visible text written as `\xNN`.
    pub key: String,
    /// Proven: nothing wrong was seen, and what was seen suffices to say so.
    pub verdict: Verdict,
    /// One sentence for the verdict.
    pub says: String,
    /// Which side to look at first.
    pub first: FirstLook,
    /// The rules that have something to say; their evidence is in the saved `events.jsonl`.
    pub findings: Vec<Finding>,
    /// What the store shows; none where it never answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreView>,
    /// What the readings show; none where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseView>,
    /// The numbers beside a plan's, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanView>,
    /// The owner's process, where one was named; of several the one that holds, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerView>,
    /// The other processes that were named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OwnerView>,
    /// The commands of the store's own tools that show the same.
    pub by_hand: Vec<String>,
    /// Where the evidence was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
}

/// Which side to look at first, and why.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FirstLook {
    /// The side.
    pub side: Side,
    /// The reasons, the strongest first.
    pub why: Vec<String>,
    /// What would tell more, and how to get it.
    pub missing: Vec<Missing>,
}

/// A side of a lease.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The process that holds the lease, or should.
    Owner,
    /// The store.
    Store,
    /// What lies between them.
    Network,
    /// Nothing is wrong on any side, as far as was seen.
    Neither,
    /// What was seen does not say.
    CannotTell,
}

/// Something that was not seen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Missing {
    /// What.
    pub what: String,
    /// How to get it.
    pub how: String,
}

/// What a store shows, or why it doesn't.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown<T> {
    /// It shows this.
    Is(T),
    /// No store of this kind shows it.
    NotByThisStore,
    /// It would, and not to us, or not now: why.
    Withheld(String),
}

impl<T> Shown<T> {
    /// What is shown, if it is.
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Is(it) => Some(it),
            _ => None,
        }
    }

    /// The same, with what is shown turned into something else.
    pub fn map<U>(self, turn: impl FnOnce(T) -> U) -> Shown<U> {
        match self {
            Self::Is(it) => Shown::Is(turn(it)),
            Self::NotByThisStore => Shown::NotByThisStore,
            Self::Withheld(why) => Shown::Withheld(why),
        }
    }
}

/// A length of time in ms that is known between two bounds.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Range {
    /// It is no shorter.
    pub at_least_ms: f64,
    /// It is no longer, where that is known.
    pub at_most_ms: Option<f64>,
}

impl Range {
    /// Between these two, in either order.
    #[must_use]
    pub fn between(a: Duration, b: Duration) -> Self {
        Self {
            at_least_ms: ms(a.min(b)),
            at_most_ms: Some(ms(a.max(b))),
        }
    }

    /// At least this long.
    #[must_use]
    pub fn at_least(span: Duration) -> Self {
        Self {
            at_least_ms: ms(span),
            at_most_ms: None,
        }
    }

    /// The middle, or the lower bound where there is no upper one.
    #[must_use]
    pub fn middle_ms(self) -> f64 {
        self.at_most_ms
            .map_or(self.at_least_ms, |most| f64::midpoint(self.at_least_ms, most))
    }

    /// Half of what is not known about it, where it has an upper bound.
    #[must_use]
    pub fn plus_minus_ms(self) -> Option<f64> {
        Some((self.at_most_ms? - self.at_least_ms) / 2.0)
    }
}

/// Milliseconds, to the microsecond: nothing here is known more closely.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "exact for 285 years")]
pub fn ms(span: Duration) -> f64 {
    span.as_micros() as f64 / 1000.0
}
