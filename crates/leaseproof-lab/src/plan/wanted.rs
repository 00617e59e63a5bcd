//! What a run does, with every default filled in.

use crate::owner::LinePatterns;
use leaseproof_model::budget::Budget;
use leaseproof_model::scenario::ScenarioId;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How a tree is paused.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FreezeMethod {
    /// SIGSTOP to every process of the tree, by pidfd.
    Sigstop,
    /// The cgroup v2 freezer.
    Cgroup,
    /// The cgroup freezer and SIGSTOP in turn where both are offered, else SIGSTOP.
    Auto,
}

/// A plan that can be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where it was read from, if from a file.
    pub path: Option<PathBuf>,
    /// The safety budget.
    pub budget: Budget,
    /// Whether somebody named its TTL or its heartbeat: an owner may do just that.
    pub budget_chosen: bool,
    /// The store.
    pub store: StorePlan,
    /// The owner.
    pub owner: OwnerPlan,
    /// The scenarios, in the order of the catalogue.
    pub scenarios: Vec<ScenarioId>,
    /// Cycles of each.
    pub cycles: u32,
    /// The seed, if one was given.
    pub seed: Option<u64>,
    /// How many side by side; `None`: all.
    pub jobs: Option<usize>,
    /// How to pause.
    pub freeze: FreezeMethod,
    /// Writes without a token are a breach.
    pub require_token: bool,
    /// Scenarios that must be offered.
    pub require: Vec<ScenarioId>,
}

/// The store part of a plan.
#[derive(Clone, Debug)]
pub struct StorePlan {
    /// The URLs, with their secrets: the run is on each of them.
    pub urls: Vec<String>,
    /// The kinds of store to start here, and to run on as well.
    pub start: Vec<String>,
    /// The canary prefix.
    pub prefix: String,
    /// The key that runs are named after.
    pub key: String,
    /// What the owner makes of the key, with `{key}`.
    pub owner_key: String,
    /// Other keys of the lease, with `{key}`.
    pub also_deletes: Vec<String>,
    /// Allow a store that is not on loopback.
    pub allow_remote: bool,
    /// Allow a store that holds other keys.
    pub allow_shared: bool,
}

/// The owner part of a plan.
#[derive(Clone, Debug)]
pub struct OwnerPlan {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// More variables.
    pub env: BTreeMap<String, String>,
    /// How its output is understood.
    pub patterns: LinePatterns,
}
