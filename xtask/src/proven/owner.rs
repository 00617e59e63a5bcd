//! The owners that are offered, and how each is started.

use super::front::Front;
use clap::ValueEnum;
use leaseproof_model::scenario::ScenarioId;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::Read as _;
use std::path::PathBuf;

/// Whose work is examined.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub enum Owner {
    /// The example that links the library.
    Library,
    /// The same example, its lease one of a fleet's.
    Fleet,
    /// A worker that knows nothing of locks, under `hold`.
    Hold,
    /// The reference owner, which writes through `gate http`.
    Gate,
}

/// The programs that are examined.
pub struct Programs {
    /// The tool.
    pub leaseproof: PathBuf,
    /// The library's example owner.
    pub library: PathBuf,
}

impl Programs {
    /// What tells this build from any other.
    pub fn print(&self) -> Result<String, String> {
        let mut hasher = DefaultHasher::new();
        let mut chunk = vec![0; 1 << 20];
        for path in [&self.leaseproof, &self.library] {
            let failed = |error| format!("{}: {error}", path.display());
            let mut file = File::open(path).map_err(failed)?;
            loop {
                match file.read(&mut chunk).map_err(failed)? {
                    0 => break,
                    length => hasher.write(&chunk[..length]),
                }
            }
        }
        Ok(format!("{:016x}", hasher.finish()))
    }
}

impl Owner {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Library, Self::Fleet, Self::Hold, Self::Gate];

    /// The name that people type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Fleet => "fleet",
            Self::Hold => "hold",
            Self::Gate => "gate",
        }
    }

    /// Whether it is there for this store.
    pub fn is_for(self, store: &str) -> bool {
        self != Self::Fleet || store == "redis"
    }

    /// The scenarios that it goes through; none named means all.
    pub fn scenarios(self) -> Vec<String> {
        match self {
            Self::Library | Self::Fleet | Self::Hold => vec!["all".to_owned()],
            // The gate lets no later write overtake one that is under way, which is what `pause-inside-write` waits for.
            Self::Gate => ScenarioId::ALL
                .iter()
                .filter(|id| !matches!(id, ScenarioId::PauseInsideWrite | ScenarioId::StoreEmptied))
                .map(|id| id.as_str().to_owned())
                .collect(),
        }
    }

    /// Its command.
    pub fn command(self, programs: &Programs, front: &Front) -> Result<Vec<String>, String> {
        let text = |path: &PathBuf| path.display().to_string();
        Ok(match self {
            Self::Library => vec![text(&programs.library)],
            Self::Fleet => vec![text(&programs.library), "--fleet".to_owned()],
            Self::Hold => {
                let worker = PathBuf::from(concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/../examples/owners/hold/worker.py"
                ));
                let python = std::env::var("LEASEPROOF_PYTHON").unwrap_or_else(|_| "python3".to_owned());
                let words = ["leaseproof", "hold", "{store}", "{key}", "--events", "-", "--"];
                let words = words.map(str::to_owned).into_iter();
                words.chain([python, text(&worker)]).collect()
            }
            Self::Gate => {
                let own = std::env::current_exe().map_err(|error| error.to_string())?;
                let words = [text(&own), "behind".to_owned(), front.socket().display().to_string()];
                let owner = ["--".to_owned(), text(&programs.leaseproof), "owner".to_owned()];
                words.into_iter().chain(owner).collect()
            }
        })
    }
}
