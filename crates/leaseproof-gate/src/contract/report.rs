//! What the contract test answers.

use leaseproof_model::rule::{LP002, LP026, Rule};
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::Verdict;
use serde::Serialize;

/// The schema of [`Report`].
pub const SCHEMA: &str = "leaseproof.fence-test/1";

/// A demand on a fence.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Demand {
    /// A first write is accepted; without it nothing can be told.
    FirstAccepted,
    /// The same holder writes again with its token.
    SameAccepted,
    /// A smaller token is refused.
    LowerRefused,
    /// A greater one is accepted, from another holder.
    GreaterAccepted,
    /// 100 is above 99: numbers are compared, not text.
    NumbersNotText,
    /// A token that was accepted once is refused after a greater one.
    OrderNotEquality,
    /// 2^53 + 1 is above 2^53.
    ExactNumbers,
    /// What was refused was not applied.
    RefusedNotApplied,
    /// The mark survives a restart of the resource.
    RestartRemembered,
    /// Of two writers at once the one with the greater token is the last.
    RaceInOrder,
}

impl Demand {
    /// All of them, in the order in which they are looked at.
    pub const ALL: [Self; 10] = [
        Self::FirstAccepted,
        Self::SameAccepted,
        Self::LowerRefused,
        Self::GreaterAccepted,
        Self::NumbersNotText,
        Self::OrderNotEquality,
        Self::ExactNumbers,
        Self::RefusedNotApplied,
        Self::RestartRemembered,
        Self::RaceInOrder,
    ];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FirstAccepted => "first-accepted",
            Self::SameAccepted => "same-accepted",
            Self::LowerRefused => "lower-refused",
            Self::GreaterAccepted => "greater-accepted",
            Self::NumbersNotText => "numbers-not-text",
            Self::OrderNotEquality => "order-not-equality",
            Self::ExactNumbers => "exact-numbers",
            Self::RefusedNotApplied => "refused-not-applied",
            Self::RestartRemembered => "restart-remembered",
            Self::RaceInOrder => "race-in-order",
        }
    }

    /// How it is asked for, where it was not.
    #[must_use]
    pub fn how(self) -> &'static str {
        match self {
            Self::RestartRemembered => "give --restart-command",
            Self::RefusedNotApplied => "give --read; it needs something that is refused",
            Self::ExactNumbers => "use {key}, or --large: it raises the mark above 2^53",
            _ => "it needs a first write that is accepted",
        }
    }
}

/// A fault that was seen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Fault {
    /// `LP002` or `LP026`.
    pub rule: &'static str,
    /// The rule's name.
    pub name: &'static str,
    /// What happened, in numbers.
    pub says: String,
}

impl Fault {
    /// A stale write was accepted.
    #[must_use]
    pub fn stale(says: String) -> Self {
        Self::of(LP002, says)
    }

    /// A write that is not stale was refused.
    #[must_use]
    pub fn refused(says: String) -> Self {
        Self::of(LP026, says)
    }

    fn of(rule: Rule, says: String) -> Self {
        Self {
            rule: rule.code,
            name: rule.name,
            says,
        }
    }
}

/// One demand's answer.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Check {
    /// Which.
    pub demand: Demand,
    /// Whether it holds.
    pub holds: Truth,
    /// What was done and seen.
    pub says: String,
    /// What proves the contrary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// The whole answer.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The verdict, of what was asked.
    pub verdict: Verdict,
    /// The scratch key of this run.
    pub key: String,
    /// The answers.
    pub checks: Vec<Check>,
    /// What was not asked, and how it would be.
    pub not_asked: Vec<NotAsked>,
}

/// A demand that was not looked at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NotAsked {
    /// Which.
    pub demand: Demand,
    /// How it is asked for.
    pub how: &'static str,
}

impl Report {
    /// The answer of these checks.
    #[must_use]
    pub fn new(key: &str, checks: Vec<Check>) -> Self {
        let verdict = checks.iter().map(|check| match check.holds {
            Truth::Yes => Verdict::Proven,
            Truth::No => Verdict::Violated,
            Truth::CannotTell => Verdict::CannotTell,
        });
        let not_asked = Demand::ALL
            .into_iter()
            .filter(|demand| checks.iter().all(|check| check.demand != *demand))
            .map(|demand| NotAsked {
                demand,
                how: demand.how(),
            })
            .collect();
        Self {
            schema: SCHEMA,
            verdict: verdict.max().unwrap_or(Verdict::CannotTell),
            key: key.to_owned(),
            checks,
            not_asked,
        }
    }

    /// The answer for people.
    #[must_use]
    pub fn text(&self) -> String {
        let asked = self.checks.len();
        let held = self.checks.iter().filter(|check| check.holds == Truth::Yes).count();
        let mut text = format!("{}: {held} of {asked} demands on the fence hold\n\n", self.verdict);
        for check in &self.checks {
            let sign = match check.holds {
                Truth::Yes => '✓',
                Truth::No => '✗',
                Truth::CannotTell => '?',
            };
            text.push_str(&format!("{sign} {:<20} {}\n", check.demand.as_str(), check.says));
            if let Some(fault) = &check.fault {
                text.push_str(&format!("    {} {}: {}\n", fault.rule, fault.name, fault.says));
            }
        }
        for it in &self.not_asked {
            text.push_str(&format!("- {:<20} not asked: {}\n", it.demand.as_str(), it.how));
        }
        let mut rules: Vec<&str> = self
            .checks
            .iter()
            .filter_map(|it| Some(it.fault.as_ref()?.rule))
            .collect();
        rules.dedup();
        if let Some(rule) = rules.first() {
            text.push_str(&format!("\nnext    leaseproof explain {rule}\n"));
        }
        text
    }
}
