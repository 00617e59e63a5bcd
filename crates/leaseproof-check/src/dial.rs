//! The settings that an advice can move, and which failures ask for which direction.

use crate::report::Check;
use crate::subject::{Knob, Number, Subject};
use std::time::Duration;

/// A number of the budget that a setting stands behind.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Dial {
    Heartbeat,
    RenewTimeout,
    WorstPause,
    Ttl,
}

/// A direction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Shorter,
    Longer,
}

impl Dial {
    /// The setting, where there is one.
    pub fn knob(self, subject: &Subject) -> Option<&Knob> {
        match self {
            Self::Heartbeat => subject.knobs.heartbeat.as_ref(),
            Self::RenewTimeout => subject.knobs.renew_timeout.as_ref(),
            Self::WorstPause => subject.knobs.worst_pause.as_ref(),
            Self::Ttl => subject.knobs.ttl.as_ref(),
        }
    }

    /// The number.
    pub fn number(self, subject: &Subject) -> &Number {
        match self {
            Self::Heartbeat => &subject.heartbeat,
            Self::RenewTimeout => &subject.renew_timeout,
            // A pause without a number has no knob: nobody asks.
            Self::WorstPause => subject.worst_pause.as_ref().unwrap_or(&subject.heartbeat),
            Self::Ttl => &subject.ttl,
        }
    }

    /// The same settings with another value of this one.
    pub fn set(self, subject: &Subject, to: Duration) -> Subject {
        let mut subject = subject.clone();
        match self {
            Self::Heartbeat => subject.heartbeat.span = to,
            Self::RenewTimeout => subject.renew_timeout.span = to,
            Self::WorstPause => subject.worst_pause.iter_mut().for_each(|number| number.span = to),
            Self::Ttl => subject.ttl.span = to,
        }
        subject
    }

    /// Which way this failure would have the setting go; none where it goes by neither, or by both.
    pub fn asked_by(self, check: &Check, kind: &str) -> Option<Way> {
        use Way::{Longer, Shorter};
        Some(match (self, check.id) {
            // Bounds on both sides are the knob's own.
            (_, "session-ttl" | "patroni-least") => return None,
            (Self::Heartbeat, "renew-timeout" | "pool-max-idle") => Longer,
            // client-go's attempts must fit into its deadline.
            (Self::RenewTimeout, "renewals") if kind == "kubernetes" => Longer,
            (Self::RenewTimeout, "deadline-over-retry") => Longer,
            (Self::WorstPause, "measured-pause") => Longer,
            (Self::Ttl, "granted-ttl" | "idle-timeout" | "pool-max-idle") => Shorter,
            (Self::Ttl, _) => Longer,
            _ => Shorter,
        })
    }
}
