//! What is judged: the numbers of one lease, and where each is written.

use crate::connection::Connection;
use crate::report::Check;
use leaseproof_model::budget::Budget;
use leaseproof_model::store::StoreFacts;
use std::fmt;
use std::sync::Arc;
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
    /// What is told of the system, whatever its numbers.
    pub own: Vec<Check>,
    /// The system's own rules, asked anew of every candidate.
    pub rules: Rules,
    /// What follows from the TTL.
    pub shares: Shares,
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

/// The rules of a system: each gives its checks of these numbers.
#[derive(Clone, Default)]
pub struct Rules(Vec<Rule>);

type Rule = Arc<dyn Fn(&Subject) -> Vec<Check> + Send + Sync>;

impl Rules {
    /// One rule.
    pub fn new(rule: impl Fn(&Subject) -> Vec<Check> + Send + Sync + 'static) -> Self {
        Self(vec![Arc::new(rule)])
    }

    /// What they come to.
    #[must_use]
    pub fn of(&self, subject: &Subject) -> Vec<Check> {
        self.0.iter().flat_map(|rule| rule(subject)).collect()
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} rules", self.0.len())
    }
}

/// Which part of the TTL in force a number is, where the system derives it: 3 is a third.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Shares {
    /// Of the heartbeat.
    pub heartbeat: Option<u32>,
    /// Of the renewal time-out.
    pub renew_timeout: Option<u32>,
}

/// Settings that a person can turn, as far as there are any.
#[derive(Clone, Debug, Default)]
pub struct Knobs {
    /// The heartbeat.
    pub heartbeat: Option<Knob>,
    /// The renewal time-out.
    pub renew_timeout: Option<Knob>,
    /// The worst pause that is assumed.
    pub worst_pause: Option<Knob>,
    /// The TTL.
    pub ttl: Option<Knob>,
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
    /// It takes no more.
    pub most: Option<Duration>,
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

/// A part of a TTL, rounded up to the millisecond: the greater heartbeat is the safe one.
#[must_use]
pub fn part(ttl: Duration, of: u32) -> Duration {
    let millis = (ttl / of.max(1)).as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

impl Subject {
    /// The same with every number that follows from others computed anew; what was given instead stays.
    #[must_use]
    pub fn settled(mut self) -> Self {
        let (least, most) = self
            .store
            .as_ref()
            .map_or((None, None), |facts| (facts.ttl_floor, facts.ttl_ceiling));
        let least = least.unwrap_or_default();
        let ttl = self.ttl.span.max(least).min(most.unwrap_or(Duration::MAX).max(least));
        for (share, number) in [
            (self.shares.heartbeat, &mut self.heartbeat),
            (self.shares.renew_timeout, &mut self.renew_timeout),
        ] {
            if let (Some(of), Origin::Derived(_)) = (share, &number.origin) {
                number.span = part(ttl, of);
            }
        }
        self
    }

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
