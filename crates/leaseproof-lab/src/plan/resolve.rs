//! The plan with all defaults filled in and every check made that needs no store.

use super::duration::parse_duration;
use super::file::{BudgetTable, LinesTable, PlanFile};
use super::preset::{Preset, preset_names};
use crate::owner::LinePatterns;
use leaseproof_model::budget::Budget;
use leaseproof_model::scenario::ScenarioId;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// The URL, with its secrets.
    pub url: String,
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

/// A plan that is wrong: file, line and remedy in one message.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

/// Reads a plan file.
///
/// # Errors
/// When it can't be read or is no plan; the message has file, line and remedy.
pub fn load(path: &Path) -> Result<(PlanFile, String), PlanError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        PlanError(format!(
            "the plan {} can't be read: {error}\n  `leaseproof verify --init` writes a commented plan",
            path.display()
        ))
    })?;
    let file = toml::from_str(&text).map_err(|error| PlanError(format!("the plan {}: {error}", path.display())))?;
    Ok((file, text))
}

/// A value that was given on the command line: it has no place in the file.
#[must_use]
pub fn from_command_line(text: &str) -> toml::Spanned<String> {
    toml::Spanned::new(0..0, text.to_owned())
}

struct Reader<'a> {
    path: Option<&'a Path>,
    text: &'a str,
}

impl Reader<'_> {
    fn at(&self, span: std::ops::Range<usize>, says: &str) -> PlanError {
        match self.path {
            // A value from the command line has no place in the file.
            Some(path) if span.end > span.start && span.end <= self.text.len() => {
                let before = self.text.get(..span.start).unwrap_or_default();
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
                PlanError(format!("{}:{line}:{column}: {says}", path.display()))
            }
            _ => PlanError(says.to_owned()),
        }
    }

    fn duration(
        &self,
        name: &str,
        value: Option<&toml::Spanned<String>>,
        default: Duration,
    ) -> Result<Duration, PlanError> {
        match value {
            None => Ok(default),
            Some(text) => {
                parse_duration(text.get_ref()).map_err(|says| self.at(text.span(), &format!("{name}: {says}")))
            }
        }
    }

    fn budget(&self, table: &BudgetTable) -> Result<Budget, PlanError> {
        let standard = Budget::standard();
        let budget = Budget {
            ttl: self.duration("ttl", table.ttl.as_ref(), standard.ttl)?,
            heartbeat: self.duration("heartbeat", table.heartbeat.as_ref(), standard.heartbeat)?,
            worst_pause: self.duration("worst_pause", table.worst_pause.as_ref(), standard.worst_pause)?,
            max_clock_drift: self.duration(
                "max_clock_drift",
                table.max_clock_drift.as_ref(),
                standard.max_clock_drift,
            )?,
            renew_timeout: self.duration("renew_timeout", table.renew_timeout.as_ref(), standard.renew_timeout)?,
            early_slack: Duration::ZERO,
        };
        let span = |value: &Option<toml::Spanned<String>>| value.as_ref().map_or(0..0, toml::Spanned::span);
        if budget.ttl < Duration::from_millis(100) {
            return Err(self.at(
                span(&table.ttl),
                &format!("ttl: {:?} is too short to be measured: use 100ms or more", budget.ttl),
            ));
        }
        if budget.heartbeat < Duration::from_millis(10) {
            return Err(self.at(
                span(&table.heartbeat),
                &format!("heartbeat: {:?} is too short: use 10ms or more", budget.heartbeat),
            ));
        }
        if budget.heartbeat >= budget.ttl {
            return Err(self.at(
                span(&table.heartbeat),
                &format!(
                    "heartbeat: {:?} is not below the TTL of {:?}, so the lease ends before its first renewal: use a third of the TTL",
                    budget.heartbeat, budget.ttl
                ),
            ));
        }
        Ok(budget)
    }

    fn patterns(&self, table: Option<&LinesTable>) -> Result<LinePatterns, PlanError> {
        let Some(table) = table else {
            return Ok(LinePatterns::default());
        };
        let mut patterns = LinePatterns::default();
        use leaseproof_model::event::OwnerEvent as E;
        for (name, event, value) in [
            ("waiting", E::Waiting, &table.waiting),
            ("acquired", E::Acquired, &table.acquired),
            ("renewed", E::Renewed, &table.renewed),
            ("renew_failed", E::RenewFailed, &table.renew_failed),
            ("lost", E::Lost, &table.lost),
            ("released", E::Released, &table.released),
            ("write", E::Write, &table.write),
            ("write_refused", E::WriteRefused, &table.write_refused),
        ] {
            if let Some(text) = value {
                patterns.add(event, text.get_ref()).map_err(|says| {
                    self.at(
                        text.span(),
                        &format!("owner.lines.{name}: the regular expression is wrong: {says}"),
                    )
                })?;
            }
        }
        Ok(patterns)
    }
}

/// Fills in defaults and checks everything that needs no store.
///
/// # Errors
/// The first thing that is wrong, with file, line and remedy where it has them.
pub fn resolve(file: &PlanFile, path: Option<&Path>, text: &str) -> Result<Plan, PlanError> {
    let reader = Reader { path, text };
    let budget = reader.budget(&file.budget)?;
    let preset = match &file.owner.preset {
        None => None,
        Some(name) => Some(Preset::find(name).ok_or_else(|| {
            PlanError(format!(
                "owner.preset: `{name}` is no preset: there are {}",
                preset_names()
            ))
        })?),
    };
    let prefix = file.store.prefix.clone().unwrap_or_else(|| "canary/".to_owned());
    let key = file.store.key.clone().unwrap_or_else(|| format!("{prefix}demo"));
    if prefix.is_empty() {
        return Err(PlanError(
            "store.prefix: it is empty, so nothing would be outside the canary: use `canary/`".to_owned(),
        ));
    }
    if !key.starts_with(&prefix) || key.len() == prefix.len() {
        return Err(PlanError(format!(
            "store.key: `{key}` is not below the canary prefix `{prefix}`: faults must stay below it, so use `{prefix}NAME`"
        )));
    }
    let owner_key = file
        .store
        .owner_key
        .clone()
        .or_else(|| preset.map(|preset| preset.owner_key.to_owned()))
        .unwrap_or_else(|| "{key}".to_owned());
    if !owner_key.contains("{key}") {
        return Err(PlanError(format!(
            "store.owner_key: `{owner_key}` has no {{key}} in it: write what the client makes of the key, such as `lock:{{key}}`"
        )));
    }
    let also_deletes = file
        .store
        .also_deletes
        .clone()
        .or_else(|| preset.map(|preset| preset.also_deletes.iter().map(|&key| key.to_owned()).collect()))
        .unwrap_or_default();
    if let Some(bad) = also_deletes.iter().find(|key| !key.contains("{key}")) {
        return Err(PlanError(format!(
            "store.also_deletes: `{bad}` has no {{key}} in it: clean-up deletes only what this run made"
        )));
    }
    let command = file
        .owner
        .command
        .clone()
        .unwrap_or_else(|| vec!["leaseproof".to_owned(), "owner".to_owned()]);
    if command.first().is_none_or(String::is_empty) {
        return Err(PlanError(
            "owner.command: it is empty: name the program and its arguments".to_owned(),
        ));
    }
    let freeze = match file.verify.freeze.as_deref() {
        None | Some("auto") => FreezeMethod::Auto,
        Some("sigstop") => FreezeMethod::Sigstop,
        Some("cgroup") => FreezeMethod::Cgroup,
        Some(other) => {
            return Err(PlanError(format!(
                "verify.freeze: `{other}` is none of sigstop, cgroup, auto"
            )));
        }
    };
    let cycles = file.verify.cycles.unwrap_or(3);
    if cycles == 0 || cycles > 10_000 {
        return Err(PlanError(format!("verify.cycles: {cycles} is not between 1 and 10000")));
    }
    Ok(Plan {
        path: path.map(Path::to_owned),
        budget,
        store: StorePlan {
            url: file
                .store
                .url
                .clone()
                .unwrap_or_else(|| "sqlite:.leaseproof/locks.db".to_owned()),
            prefix,
            key,
            owner_key,
            also_deletes,
            allow_remote: file.verify.allow_remote.unwrap_or(false),
            allow_shared: file.verify.allow_shared_store.unwrap_or(false),
        },
        owner: OwnerPlan {
            command,
            env: file.owner.env.clone(),
            patterns: reader.patterns(file.owner.lines.as_ref())?,
        },
        scenarios: scenario_list(file.verify.scenarios.as_deref().unwrap_or(&["all".to_owned()]))?,
        cycles,
        seed: file.verify.seed,
        jobs: file.verify.jobs.filter(|&jobs| jobs > 0),
        freeze,
        require_token: file.verify.require_token.unwrap_or(false),
        require: scenario_list(file.verify.require.as_deref().unwrap_or(&[]))?,
    })
}

fn scenario_list(names: &[String]) -> Result<Vec<ScenarioId>, PlanError> {
    let mut chosen = Vec::new();
    for name in names {
        if name == "all" {
            chosen.extend(ScenarioId::ALL);
            continue;
        }
        chosen.push(ScenarioId::from_name(name).ok_or_else(|| {
            PlanError(format!(
                "`{name}` is no scenario{}: `leaseproof verify --list` shows them",
                nearest(name).map_or(String::new(), |it| format!(" (did you mean `{it}`?)"))
            ))
        })?);
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

/// The scenario whose name shares the longest beginning.
fn nearest(name: &str) -> Option<ScenarioId> {
    let shared = |id: &ScenarioId| {
        id.as_str()
            .bytes()
            .zip(name.bytes())
            .take_while(|(a, b)| a == b)
            .count()
    };
    ScenarioId::ALL
        .iter()
        .copied()
        .max_by_key(shared)
        .filter(|id| shared(id) >= 3)
}
