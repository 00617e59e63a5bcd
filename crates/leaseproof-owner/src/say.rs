//! Event lines: JSON on standard output, one write each, so that those of two processes never mix.

use crate::deadline::{Deadline, wall_now_ns};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::OwnerEvent;
use leaseproof_model::name::Token;
use leaseproof_proc::clock::boot_now;
use serde_json::{Map, Value, json};
use std::io::Write;

/// One line in the making.
#[must_use = "it is said by `out`"]
#[derive(Debug)]
pub struct Say(Map<String, Value>);

impl Say {
    /// This event, now.
    pub fn now(event: OwnerEvent) -> Self {
        Self::at(event, boot_now())
    }

    /// This event, at a moment that was read before.
    pub fn at(event: OwnerEvent, boot: BootNanos) -> Self {
        let mut line = Map::new();
        line.insert("lease".to_owned(), json!(event));
        line.insert("boot_ns".to_owned(), json!(boot.0));
        line.insert("wall_ns".to_owned(), json!(wall_now_ns()));
        Self(line)
    }

    /// One more field, if it has a value.
    pub fn with(mut self, name: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.into());
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
        let mut line = Value::Object(self.0).to_string();
        line.push('\n');
        // A reader that went away is no reason to stop: the lease is held all the same.
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(line.as_bytes());
        let _ = stdout.flush();
    }
}
