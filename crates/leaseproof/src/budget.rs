//! The safety budget: loaded from the plan that `leaseproof check` and `leaseproof verify` read too, and asserted.

use crate::error::BudgetError;
use leaseproof_model::budget::Budget as Numbers;
use leaseproof_model::duration::parse_duration;
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;

/// TTL, heartbeat, worst pause, clock drift and renewal time-out, not yet asserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget(Numbers);

/// A budget that holds: only such a one acquires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sound(Numbers);

/// What is read of the plan; its other tables are other readers' business.
#[derive(Deserialize)]
struct File {
    budget: Option<Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    ttl: Option<toml::Spanned<String>>,
    heartbeat: Option<toml::Spanned<String>>,
    worst_pause: Option<toml::Spanned<String>>,
    max_clock_drift: Option<toml::Spanned<String>>,
    renew_timeout: Option<toml::Spanned<String>>,
}

impl Budget {
    /// These numbers, with 50 ms of clock drift and a renewal time-out of a fifth of the heartbeat.
    #[must_use]
    pub fn new(ttl: Duration, heartbeat: Duration, worst_pause: Duration) -> Self {
        Self(Numbers {
            ttl,
            heartbeat,
            worst_pause,
            max_clock_drift: Duration::from_millis(50),
            renew_timeout: heartbeat / 5,
            early_slack: Duration::ZERO,
        })
    }

    /// How far owner's and store's clocks may move apart within one TTL.
    #[must_use]
    pub fn with_max_clock_drift(mut self, drift: Duration) -> Self {
        self.0.max_clock_drift = drift;
        self
    }

    /// How long a renewal may take, in running time.
    #[must_use]
    pub fn with_renew_timeout(mut self, timeout: Duration) -> Self {
        self.0.renew_timeout = timeout;
        self
    }

    /// The `[budget]` of a plan file.
    ///
    /// # Errors
    /// When the file can't be read, or a duration is missing or wrong; with file and line.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, BudgetError> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|why| BudgetError::File {
            path: shown.clone(),
            why,
        })?;
        Self::read(&shown, &text)
    }

    fn read(path: &str, text: &str) -> Result<Self, BudgetError> {
        let wrong = |offset: usize, says: String| BudgetError::Text {
            path: path.to_owned(),
            line: text.get(..offset).map_or(1, |before| before.matches('\n').count() + 1),
            says,
        };
        let file: File = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            wrong(offset, error.message().to_owned())
        })?;
        let Some(table) = file.budget else {
            let says = "no [budget]: write ttl, heartbeat and worst_pause, such as ttl = \"3s\"";
            return Err(wrong(0, says.to_owned()));
        };
        let standard = Numbers::standard();
        let spans = [
            (table.ttl, standard.ttl),
            (table.heartbeat, standard.heartbeat),
            (table.worst_pause, standard.worst_pause),
            (table.max_clock_drift, standard.max_clock_drift),
            (table.renew_timeout, standard.renew_timeout),
        ];
        let mut read = [Duration::ZERO; 5];
        for (place, (given, usual)) in read.iter_mut().zip(spans) {
            *place = match given {
                None => usual,
                Some(given) => parse_duration(given.get_ref()).map_err(|says| wrong(given.span().start, says))?,
            };
        }
        let [ttl, heartbeat, worst_pause, max_clock_drift, renew_timeout] = read;
        Ok(Self(Numbers {
            ttl,
            heartbeat,
            worst_pause,
            max_clock_drift,
            renew_timeout,
            early_slack: Duration::ZERO,
        }))
    }

    /// Asserts that the margin is greater than the worst pause.
    ///
    /// # Errors
    /// When it is not, with the inequality and the smallest change that would pass (LP019).
    pub fn assert(self) -> Result<Sound, BudgetError> {
        assert(self.0).map(Sound)
    }
}

impl Sound {
    /// The numbers.
    #[must_use]
    pub fn numbers(&self) -> &Numbers {
        &self.0
    }

    /// The same once a store cuts `early_slack` off the TTL.
    pub(crate) fn less(self, early_slack: Duration) -> Result<Numbers, BudgetError> {
        let early_slack = early_slack.max(self.0.early_slack);
        assert(Numbers { early_slack, ..self.0 })
    }
}

fn assert(numbers: Numbers) -> Result<Numbers, BudgetError> {
    let Numbers {
        renew_timeout,
        heartbeat,
        ..
    } = numbers;
    if renew_timeout >= heartbeat {
        return Err(BudgetError::Overlap {
            renew_timeout,
            heartbeat,
        });
    }
    numbers.assert()?;
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn read(text: &str) -> Result<Budget, String> {
        Budget::read("leaseproof.toml", text).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_written_is_usual() {
        let budget = read("[budget]\nttl = \"4s\"\n\n[store]\nurl = \"sqlite:x\"\n").expect("it reads");
        assert_eq!(
            budget.0,
            Numbers {
                ttl: 4000 * MS,
                ..Numbers::standard()
            }
        );
    }

    #[test]
    fn bad_files_name_line_and_remedy() {
        for (text, says) in [
            ("[store]\n", "leaseproof.toml:1: no [budget]"),
            (
                "[budget]\nttl = \"3\"\n",
                "leaseproof.toml:2: `3` has no unit: write `3ms` or `3s`",
            ),
            ("[budget]\nttl = 3\n", "leaseproof.toml:2: invalid type: integer"),
            ("[budget]\n\nttll = \"3s\"\n", "leaseproof.toml:3: unknown field `ttll`"),
        ] {
            let said = read(text).expect_err(text);
            assert!(said.starts_with(says), "{said}");
        }
        let said = Budget::load("/nowhere/leaseproof.toml")
            .expect_err("no file")
            .to_string();
        assert!(said.starts_with("/nowhere/leaseproof.toml: No such file"), "{said}");
    }

    #[test]
    fn only_a_budget_that_holds_is_sound() {
        let good = Budget::new(3000 * MS, 1000 * MS, 1500 * MS);
        assert!(good.assert().is_ok());
        let bad = Budget::new(3000 * MS, 1000 * MS, 1750 * MS)
            .assert()
            .expect_err("the margin is 1750 ms");
        let said = bad.to_string();
        assert!(said.contains("the margin is 1.75s"), "{said}");
        assert!(said.ends_with("heartbeat = \"999ms\""), "{said}");
        assert_eq!(
            format!(
                "{:?}",
                Budget::new(3000 * MS, 1000 * MS, 1750 * MS).assert().expect_err("no")
            ),
            said
        );
        let hopeless = Budget::new(3000 * MS, 1000 * MS, 2900 * MS).assert().expect_err("no");
        assert!(
            hopeless.to_string().contains("no heartbeat would be short enough"),
            "{hopeless}"
        );
        let slow = Budget::new(9000 * MS, 1000 * MS, MS)
            .with_renew_timeout(1000 * MS)
            .assert();
        assert!(matches!(slow, Err(BudgetError::Overlap { .. })));
        let sound = Budget::new(3000 * MS, 1000 * MS, 1749 * MS).assert().expect("just so");
        assert!(sound.less(MS).is_err(), "the store's slack uses up what was left");
    }
}
