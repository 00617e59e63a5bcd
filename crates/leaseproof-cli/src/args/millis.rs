//! A number of milliseconds, as a flag that says so in its name.

use leaseproof_lab::plan::parse_duration;

/// Reads it; a duration with a unit is told as the number that it is.
pub fn millis(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| match parse_duration(text) {
        Ok(span) => format!("the number is in milliseconds: write {}", span.as_millis()),
        Err(_) => "it is a whole number of milliseconds, such as 3000".to_owned(),
    })
}
