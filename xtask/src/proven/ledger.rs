//! What was counted, one line a suite, by the build that it was counted of: sums of two builds are sums of nothing.

use super::owner::Owner;
use super::table::Sums;
use crate::runs::Ran;
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::verdict::Verdict;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// One suite.
#[derive(Clone, Serialize, Deserialize)]
pub struct Entry {
    build: String,
    pub owner: String,
    pub store: String,
    /// Why there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    pub scenarios: Vec<Scenario>,
    /// Where its bundle is, unless all was proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<PathBuf>,
}

/// One scenario of a suite.
#[derive(Clone, Serialize, Deserialize)]
pub struct Scenario {
    pub id: ScenarioId,
    pub verdict: Verdict,
    pub cycles: u32,
}

impl Entry {
    /// What a suite came to. The rig's self-check is no cycle of any owner.
    pub fn of(owner: Owner, store: &str, ran: &Ran) -> Self {
        let scenarios = ran.verdict.iter().flat_map(|verdict| &verdict.scenarios);
        let mut entry = Self {
            build: String::new(),
            owner: owner.as_str().to_owned(),
            store: store.to_owned(),
            broken: ran.verdict.as_ref().err().cloned(),
            scenarios: scenarios
                .filter(|it| it.id != ScenarioId::StaleToken)
                .map(|it| Scenario {
                    id: it.id,
                    verdict: it.verdict,
                    cycles: it.cycles,
                })
                .collect(),
            bundle: None,
        };
        if !entry.is_proven() {
            entry.bundle = Some(ran.folder.clone());
        }
        entry
    }

    /// What was not proven, and where that is to be looked at.
    pub fn sore(&self) -> Option<String> {
        let of = |verdict: Verdict| {
            let all = self.scenarios.iter().filter(|it| it.verdict == verdict);
            let names: Vec<&str> = all.map(|it| it.id.as_str()).collect();
            (!names.is_empty()).then(|| format!("{verdict}: {}", names.join(", ")))
        };
        let broken = self.broken.as_ref().map(|why| format!("no verdict: {why}"));
        let all = [broken, of(Verdict::Violated), of(Verdict::CannotTell)];
        let says: Vec<String> = all.into_iter().flatten().collect();
        let place = self.bundle.as_ref()?.display();
        (!says.is_empty()).then(|| format!("{} on {}: {} ({place})", self.owner, self.store, says.join("; ")))
    }

    /// Whether all of it was proven.
    pub fn is_proven(&self) -> bool {
        self.broken.is_none() && self.scenarios.iter().all(|it| it.verdict == Verdict::Proven)
    }
}

/// See the module.
pub struct Ledger {
    path: PathBuf,
    build: String,
    entries: Vec<Entry>,
    /// Lines of other builds.
    others: usize,
}

impl Ledger {
    /// Opens it below `out`.
    pub fn open(out: &Path, build: String, fresh: bool) -> Result<Self, String> {
        let path = out.join("ledger.jsonl");
        if fresh && path.exists() {
            std::fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let text = if path.exists() {
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?
        } else {
            String::new()
        };
        let mut entries = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let entry: Entry = serde_json::from_str(line)
                .map_err(|error| format!("{}:{}: {error}; --fresh begins anew", path.display(), number + 1))?;
            entries.push(entry);
        }
        let all = entries.len();
        entries.retain(|entry| entry.build == build);
        let others = all - entries.len();
        Ok(Self {
            path,
            build,
            entries,
            others,
        })
    }

    /// How many suites were ever run here: no two have one folder.
    pub fn sittings(&self) -> u32 {
        u32::try_from(self.entries.len() + self.others).unwrap_or(u32::MAX)
    }

    /// Adds a suite, on the disk at once: a sitting may be ended at any time.
    pub fn add(&mut self, mut entry: Entry) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.path.display());
        entry.build.clone_from(&self.build);
        let line = serde_json::to_string(&entry).map_err(|error| error.to_string())?;
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .map_err(failed)?;
        writeln!(file, "{line}").map_err(failed)?;
        self.entries.push(entry);
        Ok(())
    }

    /// The sums of this build.
    pub fn sums(&self) -> Sums {
        Sums::of(&self.entries, self.others)
    }
}
