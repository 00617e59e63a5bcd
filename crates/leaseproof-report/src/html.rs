//! The report: one file with the picture.

use leaseproof_model::history::History;
use leaseproof_model::verdict::RunVerdict;

/// One self-contained page.
#[must_use]
pub fn render(run: &RunVerdict, histories: &[&History]) -> String {
    let _ = crate::moments::records(run, histories);
    String::new()
}
