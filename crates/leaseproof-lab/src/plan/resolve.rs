//! The plan with all defaults filled in and every check made that needs no store.

use super::margin::margin_refusal;
use super::place::Place;
use super::preset::{Preset, preset_names};
use super::wanted::{FreezeMethod, OwnerPlan, Plan, StorePlan};
use crate::owner::LinePatterns;
use crate::scenarios::catalogue;
use leaseproof_check::plan::{self, BudgetTable, LinesTable, PlanError, PlanFile, Text, nearest};
use leaseproof_model::budget::Budget;
use leaseproof_model::scenario::ScenarioId;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads a plan file.
///
/// # Errors
/// When it can't be read or is no plan; the message has file, line and remedy.
pub fn load(path: &Path) -> Result<(PlanFile, String), PlanError> {
    plan::load(path, leaseproof_store::url::redact)
}

/// A value that was given on the command line: it has no place in the file.
#[must_use]
pub fn from_command_line<T>(value: T) -> toml::Spanned<T> {
    toml::Spanned::new(0..0, value)
}

impl Place<'_> {
    pub(super) fn budget(&self, table: &BudgetTable) -> Result<Budget, PlanError> {
        let budget = self.numbers(table)?;
        // The store may cut off some more; without that it must hold already.
        if let Some(says) = margin_refusal(&budget) {
            return Err(self.at(self.of_budget(table), &says));
        }
        Ok(budget)
    }

    pub(super) fn patterns(&self, table: Option<&LinesTable>) -> Result<LinePatterns, PlanError> {
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
                        &format!(
                            "owner.lines.{name}: the regular expression `{}` is wrong: {says}",
                            text.get_ref()
                        ),
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
    let place = Place::new(path, text);
    let require = place.scenarios(file.verify.require.as_deref().unwrap_or_default())?;
    let mut scenarios = match &file.verify.scenarios {
        Some(names) if names.is_empty() => {
            return Err(PlanError(
                "verify.scenarios: it is empty, so nothing would be shown: write [\"all\"]".to_owned(),
            ));
        }
        Some(names) => place.scenarios(names)?,
        None => catalogue::standard().collect(),
    };
    // What must be offered must be tried, or "required" would be true of what nobody looked at.
    scenarios.extend(&require);
    scenarios.sort_unstable();
    scenarios.dedup();
    Ok(Plan {
        path: path.map(Path::to_owned),
        budget: place.budget(&file.budget)?,
        budget_chosen: file.budget.ttl.is_some() || file.budget.heartbeat.is_some(),
        store: place.store(file)?,
        owner: OwnerPlan {
            command: place.command(file)?,
            env: place.environment(file)?,
            patterns: place.patterns(file.owner.lines.as_ref())?,
        },
        scenarios,
        cycles: place
            .within("verify.cycles", file.verify.cycles.as_ref(), 1..=10_000)?
            .unwrap_or(3),
        seed: file.verify.seed,
        jobs: place.within("verify.jobs", file.verify.jobs.as_ref(), 1..=1000)?,
        freeze: place.freeze(file.verify.freeze.as_ref())?,
        require_token: file.verify.require_token.unwrap_or(false),
        require,
    })
}

impl Place<'_> {
    fn store(&self, file: &PlanFile) -> Result<StorePlan, PlanError> {
        let table = &file.store;
        let preset = self.preset(file.owner.preset.as_ref())?;
        let given = |value: &Option<Text>| value.as_ref().map(|text| text.get_ref().clone());
        let span = |value: &Option<Text>| value.as_ref().map_or(0..0, toml::Spanned::span);
        let prefix = given(&table.prefix).unwrap_or_else(|| "canary/".to_owned());
        if prefix.is_empty() {
            let says = "store.prefix: it is empty, so nothing would be outside the canary: use `canary/`";
            return Err(self.at(span(&table.prefix), says));
        }
        let key = given(&table.key).unwrap_or_else(|| format!("{prefix}demo"));
        if !key.starts_with(&prefix) || key.len() == prefix.len() {
            let says = format!(
                "store.key: `{}` is not below the canary prefix `{prefix}`: faults must stay below it, so use `{prefix}NAME`",
                key.escape_debug()
            );
            return Err(self.at(span(&table.key), &says));
        }
        let owner_key = given(&table.owner_key)
            .or_else(|| preset.map(|preset| preset.owner_key.to_owned()))
            .unwrap_or_else(|| "{key}".to_owned());
        if !owner_key.contains("{key}") {
            let says = format!(
                "store.owner_key: `{owner_key}` has no {{key}} in it: write what the client makes of the key, such as `lock:{{key}}`"
            );
            return Err(self.at(span(&table.owner_key), &says));
        }
        let also_deletes = match &table.also_deletes {
            Some(keys) => self.also_deletes(keys)?,
            None => preset.map_or_else(Vec::new, |preset| {
                preset.also_deletes.iter().map(|&key| key.to_owned()).collect()
            }),
        };
        let start: Vec<String> = table
            .start
            .iter()
            .flatten()
            .map(|kind| kind.get_ref().clone())
            .collect();
        let standard = || start.is_empty().then(|| "sqlite:.leaseproof/locks.db".to_owned());
        let also = table.also.iter().flatten().map(|url| url.get_ref().clone());
        Ok(StorePlan {
            urls: given(&table.url).or_else(standard).into_iter().chain(also).collect(),
            start,
            prefix,
            key,
            owner_key,
            also_deletes,
            allow_remote: file.verify.allow_remote.unwrap_or(false),
            allow_shared: file.verify.allow_shared_store.unwrap_or(false),
        })
    }

    fn also_deletes(&self, keys: &[Text]) -> Result<Vec<String>, PlanError> {
        if let Some(bad) = keys.iter().find(|key| !key.get_ref().contains("{key}")) {
            let says = format!(
                "store.also_deletes: `{}` has no {{key}} in it: clean-up deletes only what this run made",
                bad.get_ref()
            );
            return Err(self.at(bad.span(), &says));
        }
        Ok(keys.iter().map(|key| key.get_ref().clone()).collect())
    }

    fn environment(&self, file: &PlanFile) -> Result<BTreeMap<String, String>, PlanError> {
        for (name, value) in &file.owner.env {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                let says = format!("owner.env: {name:?} can't be set: a name has no `=`, and neither side a NUL byte");
                return Err(PlanError(says));
            }
        }
        Ok(file.owner.env.clone())
    }

    fn preset(&self, name: Option<&Text>) -> Result<Option<&'static Preset>, PlanError> {
        let Some(name) = name else { return Ok(None) };
        match Preset::find(name.get_ref()) {
            Some(preset) => Ok(Some(preset)),
            None => {
                let known = preset_names();
                let meant = nearest(name.get_ref(), known.split(", "));
                let meant = meant.map_or_else(String::new, |it| format!(" (did you mean `{it}`?)"));
                let says = format!(
                    "owner.preset: `{}` is no preset{meant}: there are {known}",
                    name.get_ref()
                );
                Err(self.at(name.span(), &says))
            }
        }
    }

    fn command(&self, file: &PlanFile) -> Result<Vec<String>, PlanError> {
        let Some(command) = &file.owner.command else {
            return Ok(vec!["leaseproof".to_owned(), "owner".to_owned()]);
        };
        if command.get_ref().first().is_none_or(String::is_empty) {
            let says = "owner.command: it is empty: name the program and its arguments";
            return Err(self.at(command.span(), says));
        }
        if let Some(word) = command.get_ref().iter().find(|word| word.contains('\0')) {
            let says = format!("owner.command: {word:?} holds a NUL byte, which no program can be given: leave it out");
            return Err(self.at(command.span(), &says));
        }
        Ok(command.get_ref().clone())
    }

    fn freeze(&self, method: Option<&Text>) -> Result<FreezeMethod, PlanError> {
        let Some(method) = method else {
            return Ok(FreezeMethod::Auto);
        };
        match method.get_ref().as_str() {
            "auto" => Ok(FreezeMethod::Auto),
            "sigstop" => Ok(FreezeMethod::Sigstop),
            "cgroup" => Ok(FreezeMethod::Cgroup),
            other => {
                let says = format!("verify.freeze: `{other}` is none of sigstop, cgroup, auto");
                Err(self.at(method.span(), &says))
            }
        }
    }

    pub(super) fn within<T: Copy + PartialOrd + std::fmt::Display>(
        &self,
        name: &str,
        value: Option<&toml::Spanned<T>>,
        range: std::ops::RangeInclusive<T>,
    ) -> Result<Option<T>, PlanError> {
        match value {
            Some(number) if !range.contains(number.get_ref()) => {
                let says = format!(
                    "{name}: {} is not between {} and {}",
                    number.get_ref(),
                    range.start(),
                    range.end()
                );
                Err(self.at(number.span(), &says))
            }
            other => Ok(other.map(|number| *number.get_ref())),
        }
    }

    fn scenarios(&self, names: &[Text]) -> Result<Vec<ScenarioId>, PlanError> {
        let mut chosen = Vec::new();
        for name in names {
            if name.get_ref() == "all" {
                chosen.extend(catalogue::standard());
                continue;
            }
            let Some(id) = ScenarioId::from_name(name.get_ref()) else {
                let known = ScenarioId::ALL.iter().map(|id| id.as_str());
                let meant =
                    nearest(name.get_ref(), known).map_or_else(String::new, |it| format!(" (did you mean `{it}`?)"));
                let says = format!(
                    "`{}` is no scenario{meant}: `leaseproof verify --list` shows them",
                    name.get_ref()
                );
                return Err(self.at(name.span(), &says));
            };
            chosen.push(id);
        }
        chosen.sort_unstable();
        chosen.dedup();
        Ok(chosen)
    }
}
