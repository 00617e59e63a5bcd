//! One JSON document.

use crate::report::Document;

/// `leaseproof.check/1`, with a line feed at its end.
///
/// # Panics
/// Never: the document has no map with keys that aren't text.
#[must_use]
pub fn json(document: &Document) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("the document is always JSON");
    text.push('\n');
    text
}
