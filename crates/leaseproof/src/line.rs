//! An event as a line of the owner contract, which `leaseproof verify` and `leaseproof watch` read.

use crate::event::Event;
use leaseproof_model::clock::{BootNanos, WallNanos};
use serde::Serialize;

/// The word for a renewal that was sent.
const SENT: &str = "renew_sent";

/// An event's fields, in the words of the owner contract: written as JSON it is a line that `verify` understands.
///
/// ```
/// # use leaseproof::{Event, Line, Token, boot_now};
/// let released = Event::Released { token: Token(7) };
/// let line = Line::of(&released).expect("it has one").at(boot_now());
/// println!("{}", serde_json::to_string(&line).expect("JSON"));
/// // {"lease":"released","token":7,"boot_ns":…}
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Line<'e> {
    lease: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grant: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_until_boot_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    definite: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    says: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_ns: Option<i64>,
}

impl<'e> Line<'e> {
    /// The line of an event; none where the contract has no word for it.
    #[must_use]
    pub fn of(event: &'e Event) -> Option<Self> {
        let bare = |lease: &'static str| Self {
            lease,
            token: None,
            grant: None,
            attempt: None,
            valid_until_boot_ns: None,
            definite: None,
            reason: None,
            says: None,
            boot_ns: None,
            wall_ns: None,
        };
        Some(match event {
            Event::Waiting { reason, .. } => Self {
                reason: Some(reason),
                ..bare("waiting")
            },
            Event::Acquired {
                token,
                holder,
                valid_until,
            } => Self {
                token: Some(token.0),
                grant: Some(holder),
                valid_until_boot_ns: Some(valid_until.0),
                ..bare("acquired")
            },
            // Its moment is that of sending, which the validity counts from.
            Event::RenewalSent { token, attempt, sent } => Self {
                token: Some(token.0),
                attempt: Some(*attempt),
                boot_ns: Some(sent.0),
                ..bare(SENT)
            },
            Event::Renewed {
                token,
                attempt,
                valid_until,
                ..
            } => Self {
                token: Some(token.0),
                attempt: Some(*attempt),
                valid_until_boot_ns: Some(valid_until.0),
                ..bare("renewed")
            },
            Event::RenewalFailed {
                token,
                attempt,
                reason,
                refused,
            } => Self {
                token: Some(token.0),
                attempt: Some(*attempt),
                definite: Some(*refused),
                reason: Some(reason),
                ..bare("renew_failed")
            },
            Event::Lost { token, loss, reason } => Self {
                token: Some(token.0),
                reason: Some(loss.as_str()),
                says: (!reason.is_empty()).then_some(reason),
                ..bare("lost")
            },
            Event::Released { token } => Self {
                token: Some(token.0),
                ..bare("released")
            },
            Event::Paused { .. } | Event::ReleaseFailed { .. } => return None,
        })
    }

    /// With the moment at which it happened, unless it has one of its own.
    #[must_use]
    pub fn at(mut self, now: BootNanos) -> Self {
        self.boot_ns.get_or_insert(now.0);
        self
    }

    /// With the wall clock's time beside it, for people who compare logs; not where the event has a moment of its own.
    #[must_use]
    pub fn wall(mut self, now: WallNanos) -> Self {
        self.wall_ns = (self.lease != SENT).then_some(now.0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Loss;
    use leaseproof_model::name::Token;
    use serde_json::json;

    #[test]
    fn each_event_has_the_contract_s_words() {
        let token = Token(7);
        let lines = [
            (
                Event::Acquired {
                    token,
                    holder: "a#1".to_owned(),
                    valid_until: BootNanos(9),
                },
                json!({"lease": "acquired", "token": 7, "grant": "a#1", "valid_until_boot_ns": 9, "boot_ns": 5}),
            ),
            (
                Event::RenewalSent {
                    token,
                    attempt: 2,
                    sent: BootNanos(3),
                },
                json!({"lease": "renew_sent", "token": 7, "attempt": 2, "boot_ns": 3}),
            ),
            (
                Event::RenewalFailed {
                    token,
                    attempt: 2,
                    reason: "gone".to_owned(),
                    refused: true,
                },
                json!({"lease": "renew_failed", "token": 7, "attempt": 2, "definite": true, "reason": "gone", "boot_ns": 5}),
            ),
            (
                Event::Lost {
                    token,
                    loss: Loss::Refused,
                    reason: String::new(),
                },
                json!({"lease": "lost", "token": 7, "reason": "refused", "boot_ns": 5}),
            ),
        ];
        for (event, wanted) in lines {
            let line = Line::of(&event).expect("it has a line").at(BootNanos(5));
            assert_eq!(serde_json::to_value(line).expect("JSON"), wanted);
        }
        let by = std::time::Duration::ZERO;
        assert!(Line::of(&Event::Paused { by }).is_none());
    }
}
