//! What came out: the document that `--json` prints, `leaseproof.check/1`.

use serde::Serialize;
use std::time::Duration;

/// The number of this form of the document.
pub const SCHEMA: &str = "leaseproof.check/1";

/// Everything that was checked in one call.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The version of leaseproof.
    pub version: &'static str,
    /// The worst of all.
    pub verdict: Answer,
    /// One for each lease in each file.
    pub leases: Vec<Judged>,
    /// Files that could not be read, or are none.
    pub refused: Vec<Refused>,
}

/// A file that could not be judged.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// The file, as it was named.
    pub file: String,
    /// What is wrong, where, and what to do.
    pub says: String,
}

/// What came out for one lease.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// The file, as it was named.
    pub file: String,
    /// `plan`, or the system whose settings they are.
    pub kind: &'static str,
    /// Which of several locks in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The worst of the checks; what is only told counts as nothing.
    pub verdict: Answer,
    /// The TTL and what is taken off it, in this order.
    pub terms: Vec<TermView>,
    /// What is left of the TTL for a pause; below zero where it does not even reach for the rest.
    pub margin_ms: f64,
    /// `ttl - heartbeat`, that people compute first.
    pub plain_margin_ms: f64,
    /// The pause that the margin is held against, where there is one.
    pub worst_pause_ms: Option<f64>,
    /// Where that is from.
    pub worst_pause_from: Option<String>,
    /// How many renewals in a row may fail before the lease is gone; `null` where not even one is in time.
    pub renewals_that_may_fail: Option<u32>,
    /// How long nobody can take the lease over after its holder's last renewal, at worst; `null` where the store
    /// is not known.
    pub takeover_within_ms: Option<f64>,
    /// The store, where it is known.
    pub store: Option<String>,
    /// The smallest change that passes, where one is needed, and then what else would do.
    pub changes: Vec<Change>,
    /// Each check, and what it says.
    pub checks: Vec<Check>,
}

/// A number of the inequality.
#[derive(Clone, Debug, Serialize)]
pub struct TermView {
    /// Its name in a plan.
    pub name: &'static str,
    /// What it is called in this file.
    pub key: String,
    /// How long.
    pub ms: f64,
    /// The line, where it is written.
    pub line: Option<usize>,
    /// `file`, `command line`, or in words whose default it is, or what it follows from.
    pub from: String,
    /// Why it counts.
    pub why: String,
}

/// A change that makes the margin greater than the pause.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// The setting.
    pub key: String,
    /// What to make of it.
    pub to_ms: f64,
    /// The same, as it is written; or in words, where it is no setting.
    pub write: String,
    /// What it costs, where it costs something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
}

/// One check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Check {
    /// Its name.
    pub id: &'static str,
    /// The rule whose page explains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'static str>,
    /// What came out.
    pub answer: Answer,
    /// One sentence.
    pub says: String,
    /// What to do, where something is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The line that it is about.
    pub line: Option<usize>,
}

/// The outcome of a check.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It holds.
    Holds,
    /// It does not.
    DoesNotHold,
    /// What it takes to say is missing.
    CannotTell,
    /// Nothing was asked: this is only told.
    Notice,
}

impl Answer {
    /// 0 holds, 1 does not, 3 cannot tell.
    #[must_use]
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Holds | Self::Notice => 0,
            Self::DoesNotHold => 1,
            Self::CannotTell => 3,
        }
    }

    /// The worst of several.
    #[must_use]
    pub fn worst(answers: impl IntoIterator<Item = Self>) -> Self {
        let rank = |answer: &Self| match answer {
            Self::DoesNotHold => 2,
            Self::CannotTell => 1,
            Self::Holds | Self::Notice => 0,
        };
        match answers.into_iter().max_by_key(rank) {
            None | Some(Self::Notice) => Self::Holds,
            Some(worst) => worst,
        }
    }
}

impl Check {
    /// A check with neither rule nor remedy nor line.
    #[must_use]
    pub fn new(id: &'static str, answer: Answer, says: impl Into<String>) -> Self {
        Self {
            id,
            rule: None,
            answer,
            says: says.into(),
            remedy: None,
            line: None,
        }
    }

    /// The same, at this line.
    #[must_use]
    pub fn at(self, line: Option<usize>) -> Self {
        Self { line, ..self }
    }

    /// The same, of this rule.
    #[must_use]
    pub fn rule(self, rule: &'static str) -> Self {
        Self {
            rule: Some(rule),
            ..self
        }
    }

    /// The same, with what to do.
    #[must_use]
    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..self
        }
    }
}

impl Document {
    /// The document of these.
    #[must_use]
    pub fn of(leases: Vec<Judged>, refused: Vec<Refused>) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            verdict: Answer::worst(leases.iter().map(|lease| lease.verdict)),
            leases,
            refused,
        }
    }

    /// 2 where a file was refused, else by the verdict.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self.refused.is_empty() {
            true => self.verdict.exit_status(),
            false => 2,
        }
    }
}

/// Milliseconds with a fraction.
#[must_use]
pub fn ms(span: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a year of microseconds is exact in 53 bits")]
    let micros = span.as_micros() as f64;
    micros / 1000.0
}
