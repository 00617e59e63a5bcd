//! Events → timeline → rules → findings → verdict. Pure: reads no clock, does no I/O.

use leaseproof_model::history::History;
use leaseproof_model::verdict::ScenarioVerdict;
use std::collections::BTreeSet;

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
    let _ = (history, twin, policy);
    unimplemented!("the judge")
}
