//! What the call says beside the files.

#[cfg(feature = "foreign")]
use crate::subject::{Number, Origin, Subject};
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

/// Numbers from the command line: they win over the file.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// `--ttl`.
    pub ttl: Option<Duration>,
    /// `--heartbeat`.
    pub heartbeat: Option<Duration>,
    /// `--worst-pause`.
    pub worst_pause: Option<Duration>,
    /// `--max-clock-drift`.
    pub max_clock_drift: Option<Duration>,
    /// `--renew-timeout`.
    pub renew_timeout: Option<Duration>,
    /// `--longest-run`: for locks that nobody renews.
    pub longest_run: Option<Duration>,
    /// The store that the call names.
    pub store: Option<StoreFacts>,
}

#[cfg(feature = "foreign")]
impl Given {
    /// Puts what was given in the place of what was read.
    pub(crate) fn over(&self, subject: &mut Subject) {
        for (given, slot) in [
            (self.ttl, &mut subject.ttl),
            (self.heartbeat, &mut subject.heartbeat),
            (self.renew_timeout, &mut subject.renew_timeout),
            (self.max_clock_drift, &mut subject.max_clock_drift),
        ] {
            if let Some(span) = given {
                *slot = Number::new(&slot.key, span, Origin::CommandLine);
            }
        }
        if let Some(span) = self.worst_pause {
            subject.worst_pause = Some(Number::new("worst_pause", span, Origin::CommandLine));
        }
        if let Some(facts) = &self.store {
            subject.store = Some(facts.clone());
        }
    }
}
