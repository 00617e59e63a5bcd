//! What the rooms of all systems share: a setting as a number, or the system's default.

use super::assignments::is_comment;
use super::settings::{Setting, Settings, plain};
use super::time::span;
use crate::connection::Connection;
use crate::given::Given;
use crate::report::{Answer, Check};
use crate::subject::{Knob, Knobs, Number, Origin, Rules, Shares, Subject, Write};
use leaseproof_model::store::StoreFacts;
use std::cell::RefCell;
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
    /// The first setting that is there and could not be read.
    pub unread: RefCell<Option<Check>>,
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
        let Some(setting) = self.set(names)? else {
            if let Some(line) = self.named(names) {
                let name = names.first().copied().unwrap_or("ttl");
                self.not_read(name, &format!("what {name} is in line {line} could not be read"), line);
            }
            return Ok(None);
        };
        // A name in a program stands for what the file may not say.
        if self.settings.code && is_name(&setting.value) && span(&setting.value, unit).is_err() {
            let says = format!(
                "{} is `{}`, and no literal of that name is in the file",
                setting.key, setting.value
            );
            self.not_read(&setting.key, &says, setting.line);
            return Ok(None);
        }
        self.number_of(&setting, unit).map(Some)
    }

    fn not_read(&self, name: &str, says: &str, line: usize) {
        let name = name.rsplit('.').next().unwrap_or(name);
        let remedy =
            format!("check the file with the value of {name} written there, or give the numbers: --ttl, --heartbeat");
        self.unread.borrow_mut().get_or_insert_with(|| {
            Check::new("settings", Answer::CannotTell, says)
                .at(Some(line))
                .remedy(remedy)
        });
    }

    /// The line in which one of these names is a word, though no setting was read there: a call, or what we don't know.
    fn named(&self, names: &[&str]) -> Option<usize> {
        let is_named = |word: &str| {
            let word = plain(word);
            names.iter().any(|name| {
                let name = plain(name);
                word == name || word.strip_prefix("set").or(word.strip_prefix("with")) == Some(&name)
            })
        };
        let words = |line: &str| {
            line.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')))
                .any(|word| is_named(word) || word.rsplit('.').next().is_some_and(is_named))
        };
        let lines = self.text.lines().enumerate();
        lines
            .filter(|(_, line)| !is_comment(line.trim()))
            .find(|(_, line)| words(line))
            .map(|(at, _)| at + 1)
    }

    /// Why nothing can be told of the file: a setting that could not be read, or none of the system's at all. Defaults
    /// alone are the settings of nobody.
    pub fn why_unread(&self, marks: &[&str], subject: &Subject) -> Option<Check> {
        // The TTL alone decides most: once the call says it, the file is no longer asked.
        let given = self.given.ttl.is_some();
        if let Some(check) = self.unread.borrow().clone().filter(|_| !given) {
            return Some(check);
        }
        let numbers = [&subject.ttl, &subject.heartbeat, &subject.renew_timeout];
        // A time-out of a command can be anybody's: it makes no file that of a system.
        let found = [&subject.ttl, &subject.heartbeat]
            .into_iter()
            .any(|number| matches!(number.origin, Origin::Written | Origin::CommandLine));
        if given || found || self.settings.find(marks).next().is_some() || self.is_bare_call() {
            return None;
        }
        let all = numbers
            .map(|number| format!("{} {:?}", number.key, number.span))
            .join(", ");
        let says = format!(
            "no setting of {} was found in it, and its defaults alone ({all}) say nothing of this file",
            self.kind
        );
        let remedy = match self.kind {
            // client-go has no defaults: those are the program's, and no file names the program.
            "kubernetes" => {
                "name the file that has them; where the program's own are in force, give those: --ttl (leaseDuration), \
                 --renew-timeout (renewDeadline) and --heartbeat (retryPeriod); kube-scheduler's are 15s, 10s and 2s"
            }
            _ => "name the file that has them, or give the numbers: --ttl, --heartbeat, --renew-timeout",
        };
        Some(Check::new("settings", Answer::CannotTell, says).remedy(remedy))
    }

    /// Commands that run with a default where no option is named.
    fn is_bare_call(&self) -> bool {
        let called = |line: &str| match line.split_once("concurrency.NewSession(") {
            Some((_, arguments)) => arguments.split_once(')').is_some_and(|(inner, _)| !inner.contains(',')),
            None => line.contains("etcdctl ") && line.contains(" lock "),
        };
        self.kind == "etcd-session" && self.text.lines().any(called)
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
            unread: None,
            own: Vec::new(),
            rules: Rules::default(),
            shares: Shares::default(),
            knobs: Knobs::default(),
        }
    }
}

/// Whether a text is the name of a variable, or its address in Go.
fn is_name(text: &str) -> bool {
    let text = text.strip_prefix(['&', '*']).unwrap_or(text);
    let simple = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    !text.is_empty() && text.split('.').all(simple)
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
        most: None,
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
