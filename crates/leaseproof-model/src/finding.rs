//! One rule's answer, with the events that prove it.

use crate::event::EventId;
use crate::rule::{Class, Rule};
use crate::truth::Truth;
use serde::{Deserialize, Serialize};

/// Whose fault a finding is.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The owner, or the lock client inside it.
    Owner,
    /// The protected resource.
    Resource,
    /// The lock store.
    Store,
    /// The numbers.
    Configuration,
    /// The network between them.
    Network,
    /// Our own rig: never the user's fault.
    Rig,
}

/// One rule's answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's code.
    pub rule: String,
    /// The rule's name.
    pub name: String,
    /// What it does to the verdict (a plan can raise a notice to a breach).
    pub class: Class,
    /// Whose fault it is.
    pub subject: Subject,
    /// Yes or cannot tell; a finding is never "no".
    pub certainty: Truth,
    /// The cycle in which it happened; 0 before the first.
    pub cycle: u32,
    /// The owner process that it is about, where it is about one.
    pub owner: Option<String>,
    /// What happened, in one sentence with its numbers.
    pub says: String,
    /// The events that prove it, in order.
    #[serde(with = "crate::evidence::ids")]
    pub evidence: Vec<EventId>,
}

impl Finding {
    /// A finding of `rule` with the rule's own class.
    #[must_use]
    pub fn new(
        rule: &Rule,
        subject: Subject,
        certainty: Truth,
        cycle: u32,
        says: String,
        evidence: Vec<EventId>,
    ) -> Self {
        Self {
            rule: rule.code.to_owned(),
            name: rule.name.to_owned(),
            class: rule.class,
            subject,
            certainty,
            cycle,
            owner: None,
            says,
            evidence,
        }
    }
}
