//! The documents that `--json` prints; the bundle keeps a run's as `verdict.json`.

use leaseproof_model::diagnosis::Diagnosis;
use leaseproof_model::inspect::Inspection;
use leaseproof_model::verdict::{RunVerdict, ScenarioVerdict};

/// One JSON document, `leaseproof.verdict/1`, with a line feed at its end.
///
/// # Panics
/// Never: the verdict has no map with keys that aren't text.
#[must_use]
pub fn render(run: &RunVerdict) -> String {
    let mut run = run.clone();
    run.scenarios.iter_mut().for_each(keep_finite);
    let mut text = serde_json::to_string_pretty(&run).expect("a verdict is always JSON");
    text.push('\n');
    text
}

/// JSON has no NaN: it would be written as null, and the document could not be read again.
fn keep_finite(scenario: &mut ScenarioVerdict) {
    scenario.measures.retain(|_, value| value.is_finite());
    if let Some(twin) = &mut scenario.twin {
        keep_finite(twin);
    }
}

/// One JSON document, `leaseproof.inspect/1`, with a line feed at its end.
///
/// # Panics
/// Never: an inspection has no map with keys that aren't text.
#[must_use]
pub fn render_inspection(inspection: &Inspection) -> String {
    let mut text = serde_json::to_string_pretty(inspection).expect("an inspection is always JSON");
    text.push('\n');
    text
}

/// One JSON document, `leaseproof.diagnosis/1`, with a line feed at its end.
///
/// # Panics
/// Never: a diagnosis has no map with keys that aren't text.
#[must_use]
pub fn render_diagnosis(diagnosis: &Diagnosis) -> String {
    let mut text = serde_json::to_string_pretty(diagnosis).expect("a diagnosis is always JSON");
    text.push('\n');
    text
}
