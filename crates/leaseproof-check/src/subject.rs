//! What is judged: the numbers of one lease, and where each is written.

use crate::connection::Connection;
use crate::report::Check;
use leaseproof_model::budget::Budget;
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

/// One lease's settings, in our form.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The file, as it was named.
    pub file: String,
    /// `plan`, or the system whose settings they are.
    pub kind: &'static str,
    /// Which of several locks in the file.
    pub name: Option<String>,
    /// How long a grant lives without a renewal.
    pub ttl: Number,
    /// How often the owner renews.
    pub heartbeat: Number,
    /// How long a renewal may take before it has failed.
    pub renew_timeout: Number,
    /// The most that the clocks move apart within one TTL.
    pub max_clock_drift: Number,
    /// The longest pause to survive; `None` where nobody said.
    pub worst_pause: Option<Number>,
    /// Whether anybody renews it. Where nobody does, `heartbeat` is the longest run of the job.
    pub renewed: bool,
    /// The store's semantics, where the store is known.
    pub store: Option<StoreFacts>,
    /// What the connection does while nothing is sent.
    pub connection: Connection,
    /// Why the numbers are not those of the file, where they could not be read: nothing is judged of it then.
    pub unread: Option<Check>,
    /// What the system's own rules come to.
    pub own: Vec<Check>,
    /// What can be changed.
    pub knobs: Knobs,
}

/// A number of the budget: how long, what it is called there, and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Number {
    /// How long.
    pub span: Duration,
    /// What it is called where it was read.
    pub key: String,
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// How it came to be.
    pub origin: Origin,
}

/// How a number came to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It is in the file.
    Written,
    /// It was given on the command line.
    CommandLine,
    /// It is not in the file, and this is the default: whose, in words.
    Default(String),
    /// It follows from others, in words.
    Derived(String),
}

/// Settings that a person can turn, as far as there are any.
#[derive(Clone, Debug, Default)]
pub struct Knobs {
    /// Makes the heartbeat shorter and leaves the rest.
    pub heartbeat: Option<Knob>,
    /// Makes the renewal time-out shorter and leaves the rest.
    pub renew_timeout: Option<Knob>,
    /// Makes the TTL longer. Of each so many parts of it so many go to heartbeat and renewal time-out: (1, 3) where
    /// renewals come at a third, (0, 1) where the others stay as they are.
    pub ttl: Option<(Knob, (u32, u32))>,
}

/// One setting, and what can be written into it.
#[derive(Clone, Debug)]
pub struct Knob {
    /// What it is called.
    pub key: String,
    /// It takes multiples of this.
    pub step: Duration,
    /// It takes no less.
    pub least: Duration,
    /// How a value is written.
    pub write: Write,
    /// The number of the budget is so many times the setting.
    pub times: u32,
}

/// How a duration is written in a file.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Write {
    /// `heartbeat = "949ms"`.
    Toml,
    /// `--renew-deadline=9s`.
    Flag,
    /// `loop_wait: 9`, in seconds.
    YamlSeconds,
    /// `retryPeriod: 1.5s`.
    YamlUnits,
    /// `lockWatchdogTimeout: 33001`, in milliseconds.
    YamlMillis,
    /// `name = 40`, in seconds.
    AssignSeconds,
    /// `name = "PT1000S"`, as ISO 8601.
    Iso,
}

impl Number {
    /// A number without a place in a file.
    #[must_use]
    pub fn new(key: &str, span: Duration, origin: Origin) -> Self {
        Self {
            span,
            key: key.to_owned(),
            line: None,
            origin,
        }
    }
}

impl Knob {
    /// The setting with this value, as it is written.
    #[must_use]
    pub fn written(&self, span: Duration) -> String {
        let span = span / self.times.max(1);
        let (key, ms) = (&self.key, span.as_millis());
        let seconds = span.as_secs();
        match self.write {
            Write::Toml => format!("{key} = \"{}\"", with_unit(span)),
            Write::Flag => format!("--{key}={}", with_unit(span)),
            Write::YamlSeconds => format!("{key}: {seconds}"),
            Write::YamlUnits => format!("{key}: {}", with_unit(span)),
            Write::YamlMillis => format!("{key}: {ms}"),
            Write::AssignSeconds => format!("{key} = {seconds}"),
            Write::Iso => format!("{key} = \"PT{seconds}S\""),
        }
    }
}

fn with_unit(span: Duration) -> String {
    match span.subsec_millis() {
        0 if !span.is_zero() => format!("{}s", span.as_secs()),
        _ => format!("{}ms", span.as_millis()),
    }
}

impl Subject {
    /// The budget, with this TTL in force and this pause.
    #[must_use]
    pub fn budget(&self, ttl: Duration, worst_pause: Duration) -> Budget {
        Budget {
            ttl,
            heartbeat: self.heartbeat.span,
            worst_pause,
            max_clock_drift: self.max_clock_drift.span,
            renew_timeout: self.renew_timeout.span,
            early_slack: self.store.as_ref().map_or(Duration::ZERO, |facts| facts.early_slack),
        }
    }

    /// The line of the first of these that is written down.
    #[must_use]
    pub fn line_of(&self, numbers: &[&Number]) -> Option<usize> {
        numbers.iter().find_map(|number| number.line)
    }
}
