//! What the rooms of all systems share: a setting as a number, or the system's default.

use super::settings::{Setting, Settings};
use super::time::span;
use crate::connection::Connection;
use crate::given::Given;
use crate::report::{Answer, Check};
use crate::subject::{Knob, Knobs, Number, Origin, Subject, Write};
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

/// A file on its way to being a subject.
pub(super) struct Reader<'a> {
    /// The file, as it was named.
    pub file: &'a str,
    /// What is in it.
    pub text: &'a str,
    /// The name of the system.
    pub kind: &'static str,
    /// What is set.
    pub settings: &'a Settings,
    /// What the call says.
    pub given: &'a Given,
    /// What is known of the store behind a URL.
    pub facts: &'a dyn Fn(&str) -> Result<StoreFacts, String>,
}

/// One second, one millisecond: what bare numbers are of.
pub(super) const SECOND: Option<Duration> = Some(Duration::from_secs(1));
pub(super) const MILLI: Option<Duration> = Some(Duration::from_millis(1));

impl Reader<'_> {
    /// The setting of one of these names, if it is there.
    pub fn set(&self, names: &[&str]) -> Result<Option<Setting>, String> {
        Ok(self.settings.one(self.file, names)?.cloned())
    }

    /// The same as a number; a bare one is in `unit`.
    pub fn optional(&self, names: &[&str], unit: Option<Duration>) -> Result<Option<Number>, String> {
        self.set(names)?
            .map(|setting| self.number_of(&setting, unit))
            .transpose()
    }

    /// A setting as a number.
    pub fn number_of(&self, setting: &Setting, unit: Option<Duration>) -> Result<Number, String> {
        let last = setting.key.rsplit('.').next().unwrap_or(&setting.key);
        // A word that many settings end with says nothing alone.
        let key = if ["ms", "timeout"].contains(&last) {
            &setting.key
        } else {
            last
        };
        let span =
            span(&setting.value, unit).map_err(|says| format!("{}:{}: {key}: {says}", self.file, setting.line))?;
        Ok(Number {
            line: Some(setting.line),
            ..Number::new(key, span, Origin::Written)
        })
    }

    /// A setting as a number, or the system's default.
    pub fn number(
        &self,
        names: &[&str],
        unit: Option<Duration>,
        default: Duration,
        whose: &str,
    ) -> Result<Number, String> {
        Ok(self.optional(names, unit)?.unwrap_or_else(|| {
            let name = names.first().copied().unwrap_or("ttl");
            Number::new(name, default, Origin::Default(whose.to_owned()))
        }))
    }

    /// The TTL, from which others may follow: what the call says wins already here.
    pub fn ttl(
        &self,
        names: &[&str],
        unit: Option<Duration>,
        default: Duration,
        whose: &str,
    ) -> Result<Number, String> {
        let read = self.number(names, unit, default, whose)?;
        let ttl = match self.given.ttl {
            Some(span) => Number::new(&read.key, span, Origin::CommandLine),
            None => read,
        };
        match ttl.span.is_zero() {
            true => Err(format!(
                "{}{}: {} is zero: no lease lives that short",
                self.file,
                ttl.line.map_or_else(String::new, |line| format!(":{line}")),
                ttl.key
            )),
            false => Ok(ttl),
        }
    }

    /// A subject of this file that has only its numbers yet.
    pub fn subject(&self, ttl: Number, heartbeat: Number, renew_timeout: Number) -> Subject {
        Subject {
            file: self.file.to_owned(),
            kind: self.kind,
            name: None,
            ttl,
            heartbeat,
            renew_timeout,
            max_clock_drift: Number::new(
                "max_clock_drift",
                Duration::ZERO,
                Origin::Default("none is allowed for; --max-clock-drift".to_owned()),
            ),
            worst_pause: None,
            renewed: true,
            store: None,
            connection: Connection::default(),
            own: Vec::new(),
            knobs: Knobs::default(),
        }
    }
}

/// A part of a TTL, rounded up to the millisecond: the greater heartbeat is the safe one.
pub(super) fn part(ttl: Duration, of: u32) -> Duration {
    let millis = (ttl / of).as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// A number that follows from others.
pub(super) fn derived(key: &str, span: Duration, how: &str) -> Number {
    Number::new(key, span, Origin::Derived(how.to_owned()))
}

/// A system that sets no time-out for a renewal.
pub(super) fn no_timeout(whose: &str) -> Number {
    Number::new(
        "renew_timeout",
        Duration::ZERO,
        Origin::Default(format!("{whose} sets none; --renew-timeout")),
    )
}

/// A knob for multiples of a second.
pub(super) fn seconds(key: &str, least: u64, write: Write) -> Knob {
    Knob {
        key: key.to_owned(),
        step: Duration::from_secs(1),
        least: Duration::from_secs(least),
        write,
        times: 1,
    }
}

/// A rule of the system itself: it holds, or it doesn't and this is what to do.
pub(super) fn own(id: &'static str, holds: bool, says: String, remedy: &str, line: Option<usize>) -> Check {
    match holds {
        true => Check::new(id, Answer::Holds, says).at(line),
        false => Check::new(id, Answer::DoesNotHold, says).at(line).remedy(remedy),
    }
}

/// What is only told.
pub(super) fn told(id: &'static str, says: impl Into<String>, line: Option<usize>) -> Check {
    Check::new(id, Answer::Notice, says).at(line)
}
