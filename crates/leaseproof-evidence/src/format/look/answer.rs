//! The answer of a look: what it inferred from reading to reading, and what the owner's host showed at its end.

use super::{BY, wall};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::{Author, SourceKind};
use crate::says::{MoveKind, ProcessSays, Says, Setting, SettingName, StoreSays};
use crate::when::{StampMeans, When};
use leaseproof_model::inspect::Inspection;
use leaseproof_model::inspect::lease_view::{Change, Happened, LeaseView};
use leaseproof_model::inspect::owner_view::{OwnerState, OwnerView};
use leaseproof_model::truth::Truth;
use std::sync::Arc;
use std::time::Duration;

/// Makes records of it.
pub(super) fn read(seen: &Inspection, line: &Line<'_>, reading: &mut Reading<'_>) {
    let mut of = Answer {
        began: seen.began_unix_ms.saturating_mul(1_000_000),
        took: i64::try_from(seen.took_ms)
            .unwrap_or(0)
            .saturating_add(1)
            .saturating_mul(1_000_000),
        key: Arc::from(seen.key.as_str()),
        line,
        reading,
    };
    for attribute in seen.store.iter().flat_map(|store| &store.attributes) {
        // Only a start that worries: any server was started once.
        if let (true, Some(seconds)) = (
            attribute.name == "up" && attribute.concern.is_some(),
            up(attribute.value.get()),
        ) {
            let at = wall(
                of.began.saturating_sub(ns((seconds + 1.0) * 1000.0)),
                of.began.saturating_add(of.took).saturating_sub(ns(seconds * 1000.0)),
            );
            let what = format!("when it was looked at it had been up for {seconds} s");
            of.moved(MoveKind::Started, at, &what);
        }
    }
    match &seen.lease {
        Some(lease) => of.lease(lease),
        // There was no answer at all.
        None if seen.store.is_none() => {
            let at = wall(of.began, of.began.saturating_add(of.took));
            of.unanswered(at, Duration::from_millis(seen.took_ms), &seen.says);
        }
        None => {}
    }
    let span = seen.lease.as_ref().map(|lease| lease.watched.span_ms);
    for owner in seen.owner.iter().chain(&seen.others) {
        of.owner(owner, span);
    }
}

struct Answer<'a, 'r, 'o> {
    /// Nanoseconds since 1970.
    began: i64,
    /// Nanoseconds.
    took: i64,
    key: Arc<str>,
    line: &'a Line<'a>,
    reading: &'r mut Reading<'o>,
}

impl Answer<'_, '_, '_> {
    fn lease(&mut self, lease: &LeaseView) {
        // What is counted from the first reading has its moment by it, and that came within what is left of the look.
        let slack = self.took.saturating_sub(ns(lease.watched.span_ms)).max(0);
        let since = |ms: (f64, f64)| {
            wall(
                self.began.saturating_add(ns(ms.0)),
                self.began.saturating_add(slack).saturating_add(ns(ms.1)),
            )
        };
        let happened: Vec<(When, &Happened)> = lease.happened.iter().map(|it| (since(it.between_ms), it)).collect();
        if let Some(ttl) = lease.granted_ttl.get()
            && let Some(most) = ttl.at_most_ms
            && !lease.ttl_varies
            // Bounds that are wide apart are no number.
            && most - ttl.at_least_ms < most / 10.0
        {
            let setting = Setting {
                name: SettingName::Ttl,
                value: Duration::from_secs_f64(ttl.middle_ms().max(0.0) / 1000.0),
                of: Some(Arc::clone(&self.key)),
            };
            let at = since((0.0, 0.0));
            let text = format!("inspect: TTL granted {:.0} to {most:.0} ms", ttl.at_least_ms);
            self.say(at, SourceKind::Store, Says::Setting(setting), "\"granted_ttl\"", &text);
        }
        for renewal in lease.renewals.get().iter().flat_map(|all| &all.seen) {
            let at = wall(
                ns(renewal.unix_ms - renewal.plus_minus_ms),
                ns(renewal.unix_ms + renewal.plus_minus_ms),
            );
            let says = StoreSays::RenewalApplied {
                key: Arc::clone(&self.key),
                sender: None,
                ttl: None,
                until: None,
            };
            let needle = format!("\"at_ms\": {}", serde_json::Value::from(renewal.at_ms));
            let text = "inspect: its expiry moved on: somebody renewed it";
            self.say(at, SourceKind::Store, Says::Store(says), &needle, text);
        }
        for (at, it) in happened {
            self.happened(at, it);
        }
    }

    fn happened(&mut self, at: When, it: &Happened) {
        let key = Arc::clone(&self.key);
        let says = match it.what {
            Change::Expired => StoreSays::Expired { key },
            Change::EndedEarly | Change::Ended => StoreSays::Deleted {
                key,
                by: None,
                index: None,
            },
            Change::EpochChanged => return self.moved(MoveKind::OtherAnswers, at, &it.says),
            Change::Silent => {
                let took = Duration::from_secs_f64((it.between_ms.1 - it.between_ms.0).max(0.0) / 1000.0);
                return self.unanswered(at, took, &it.says);
            }
            // Who holds it is in the readings; what is left is nobody's act that is known.
            Change::Taken
            | Change::Granted
            | Change::Shortened
            | Change::ExpiryRemoved
            | Change::ClockStepped
            | Change::Refused => return,
        };
        let text = format!("inspect: {}", it.says);
        self.say(at, SourceKind::Store, Says::Store(says), &it.says, &text);
    }

    fn moved(&mut self, kind: MoveKind, at: When, what: &str) {
        let says = StoreSays::Moved {
            kind,
            what: Arc::from(what),
            term: None,
        };
        let needle = if kind == MoveKind::Started { "\"up\"" } else { what };
        self.say(
            at,
            SourceKind::Store,
            Says::Store(says),
            needle,
            &format!("inspect: {what}"),
        );
    }

    fn unanswered(&mut self, at: When, took: Duration, what: &str) {
        // Counted back from its end, which the stamp is.
        let at = wall(at.span.latest.saturating_sub(1_000_000), at.span.latest);
        let says = StoreSays::Unanswered {
            took,
            what: Arc::from(what),
        };
        self.say(
            at,
            SourceKind::Store,
            Says::Store(says),
            what,
            &format!("inspect: {what}"),
        );
    }

    /// The process as it was at the end of the look.
    fn owner(&mut self, owner: &OwnerView, span_ms: Option<f64>) {
        // That another stands still cost this lease nothing.
        if owner.holds.as_ref().is_some_and(|it| it.it_does == Truth::No) {
            return;
        }
        let end = self.began.saturating_add(self.took);
        let at = wall(self.began.saturating_add(span_ms.map_or(0, ns)), end);
        let how = match owner.state {
            OwnerState::Stopped => Some("state T"),
            OwnerState::Frozen => Some("cgroup frozen"),
            OwnerState::Running | OwnerState::PartlyStopped | OwnerState::Throttled | OwnerState::Ended => None,
        };
        let says = match (owner.state, how) {
            // It used no CPU at all in the span: it stood still all the while, and maybe for longer.
            (_, Some(how)) => match (owner.ran_ms.get(), span_ms) {
                (Some(ran), Some(span)) if *ran <= 0.0 => ProcessSays::PausedFor {
                    how: Arc::from(how),
                    took: Duration::from_secs_f64(span.max(0.0) / 1000.0),
                },
                _ => ProcessSays::Paused { how: Arc::from(how) },
            },
            (OwnerState::Running, _) => ProcessSays::NotPaused,
            (OwnerState::Ended, _) => ProcessSays::Exited { status: None },
            _ => return,
        };
        let author = Author {
            process: Some(Arc::from(owner.program.as_str())),
            pid: Some(owner.process.pid),
            ..Author::default()
        };
        let text = format!("inspect: {} ({}): {}", owner.program, owner.process.pid, owner.says);
        self.by(author, at, SourceKind::Kernel, Says::Process(says), &owner.says, &text);
    }

    fn say(&mut self, at: When, source: SourceKind, says: Says, needle: &str, text: &str) {
        self.by(Author::default(), at, source, says, needle, text);
    }

    /// The line is the one of the document that says it, as far as it is found.
    fn by(&mut self, author: Author, at: When, source: SourceKind, says: Says, needle: &str, text: &str) {
        let quoted = serde_json::Value::from(needle).to_string();
        let lines = || self.line.raw.lines().enumerate();
        let found = lines().find(|(_, line)| line.contains(needle) || line.contains(&quoted));
        let line = Line {
            number: self.line.number + found.map_or(0, |(index, _)| index as u64),
            raw: text,
            when: Some(at),
            author,
            continued: false,
            ..self.line.clone()
        };
        // What is told of is in no order of time, and a look's own pace says nothing of the store.
        self.reading.cover_only(&line);
        self.reading.say(&line, source, BY, StampMeans::Observed, says);
    }
}

/// `for 5 s`
fn up(value: Option<&String>) -> Option<f64> {
    value?.strip_prefix("for ")?.strip_suffix(" s")?.parse().ok()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a float of this size tells microseconds, and no more"
)]
fn ns(ms: f64) -> i64 {
    (ms * 1e6).round() as i64
}
