//! Event lines: JSON on standard output, one write each, so that those of two processes never mix.

use crate::deadline::{Deadline, wall_now_ns};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::OwnerEvent;
use leaseproof_model::name::Token;
use leaseproof_proc::clock::boot_now;
use serde_json::{Value, json};
use std::io::Write;

/// One line in the making; its fields keep their order.
#[must_use = "it is said by `out`"]
#[derive(Debug)]
pub struct Say(String);

impl Say {
    /// This event, now.
    pub fn now(event: OwnerEvent) -> Self {
        Self::at(event, boot_now())
    }

    /// This event, at a moment that was read before.
    pub fn at(event: OwnerEvent, boot: BootNanos) -> Self {
        Self(String::new())
            .with("lease", Some(json!(event)))
            .with("boot_ns", Some(boot.0))
            .with("wall_ns", Some(wall_now_ns()))
    }

    /// One more field, if it has a value.
    pub fn with(mut self, name: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.0.push(if self.0.is_empty() { '{' } else { ',' });
            self.0.push_str(&format!("{}:{}", json!(name), value.into()));
        }
        self
    }

    /// The token.
    pub fn token(self, token: Option<Token>) -> Self {
        self.with("token", token.map(|token| token.0))
    }

    /// Until when the grant is believed, where the clock is the one that the line's field names.
    pub fn until(self, validity: Deadline) -> Self {
        self.with("valid_until_boot_ns", validity.boot().map(|until| until.0))
    }

    /// The reason.
    pub fn reason(self, reason: impl Into<String>) -> Self {
        self.with("reason", Some(reason.into()))
    }

    /// Says it.
    pub fn out(self) {
        let line = format!("{}}}\n", self.0);
        // A reader that went away is no reason to stop: the lease is held all the same.
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(line.as_bytes());
        let _ = stdout.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_with_the_event_first() {
        let said = Say::at(OwnerEvent::RenewFailed, BootNanos(7))
            .token(Some(Token(41)))
            .until(Deadline::Forever)
            .reason("it said \"no\"");
        let line = format!("{}}}", said.0);
        assert!(line.starts_with(r#"{"lease":"renew_failed","boot_ns":7,"#), "{line}");
        let value: Value = serde_json::from_str(&line).expect("it is JSON");
        assert_eq!(value["token"], 41);
        assert_eq!(value["reason"], "it said \"no\"");
        assert_eq!(value.get("valid_until_boot_ns"), None);
    }
}
