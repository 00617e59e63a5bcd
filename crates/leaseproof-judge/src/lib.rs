//! Events → timeline → rules → findings → verdict. Pure: reads no clock, does no I/O.
//!
//! Start at [`judge`]. The folders are the phases, in run order:
//!
//! - `timeline`: events joined to owners, faults and grants; what each act rests on. Here it is
//!   decided when a grant was *due* and which acts straddle it (`timeline/standing.rs`)
//! - `premises`: what must have happened for "proven" to mean anything, one function a premise
//! - `rules`: one rule a file, each over the same timeline
//! - `measures`, `verdict`: numbers and the answer
//!
//! What it takes from a record, beside what the model says of each event:
//!
//! - the name of an owner is a word of the holders that it is granted, or it says `acquired`, or every
//!   other owner surely did nothing while its grant began; else a grant is nobody's
//! - a reading that changed says when the look before it was asked; an unchanged one may be left out
//! - the faults of a cycle carry its number and the owner that they are aimed at
//! - in a clock scenario the wall reads are counted right at the step, and once more at the end of the
//!   cycle, in both arms
//!
//! Nothing in here knows the owner's command line, or the fault that was meant: only events.

mod measures;
mod premises;
mod rules;
mod timeline;
mod verdict;
mod words;

use leaseproof_model::history::History;
use leaseproof_model::verdict::{ScenarioVerdict, Verdict};
use rules::Facts;
use std::collections::BTreeSet;
use timeline::Timeline;

/// Which rules and premises are in force. All are, but for the check on the check, which switches one off.
#[derive(Clone, Default, Debug)]
pub struct Policy {
    /// Codes of rules that are switched off.
    pub rules_off: BTreeSet<String>,
    /// Names of premises that are switched off.
    pub premises_off: BTreeSet<String>,
}

/// Judges one scenario run; `twin` is the unstepped twin of a clock scenario.
#[must_use]
pub fn judge(history: &History, twin: Option<&History>, policy: &Policy) -> ScenarioVerdict {
    let timeline = Timeline::new(history);
    let Some(twin) = twin else {
        return verdict::verdict(&Facts::new(&timeline, None), policy, None);
    };
    let twin_timeline = Timeline::new(twin);
    let twin_facts = Facts::new(&twin_timeline, None);
    let twin_verdict = verdict::verdict(&twin_facts, policy, None);
    verdict::verdict(&Facts::new(&timeline, Some(&twin_facts)), policy, Some(twin_verdict))
}

/// The verdict on a run: the worst of its scenarios. A run without any shows nothing.
#[must_use]
pub fn join<'v>(scenarios: impl IntoIterator<Item = &'v ScenarioVerdict>) -> Verdict {
    scenarios
        .into_iter()
        .map(|it| it.verdict)
        .max()
        .unwrap_or(Verdict::CannotTell)
}
