//! One timeline for the files of several hosts.

use super::HostOffset;
use crate::evidence::Evidence;
use crate::options::Options;
use crate::record::Record;
use crate::says::{ClockSays, Says};
use crate::when::{Domain, Interval, StampMeans};
use leaseproof_model::truth::Truth;
use serde::Serialize;
use std::sync::Arc;

/// One timeline for all files.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Timeline {
    /// What is known of the hosts' clocks.
    pub offsets: Vec<HostOffset>,
    /// Whether files that name no host are taken to be of one clock with the others: nothing in them says so.
    pub one_clock_assumed: bool,
}

impl Timeline {
    /// What the evidence and the user say about the hosts' clocks. The user's word counts before a tool's, and of several
    /// readings of one host the most exact.
    #[must_use]
    pub fn of(evidence: &Evidence, options: &Options) -> Self {
        let mut offsets: Vec<HostOffset> = options
            .offsets
            .iter()
            .map(|given| HostOffset {
                host: Arc::from(given.host.as_str()),
                ahead: given.ahead,
                error: given.error,
                from: Arc::from("--offset"),
            })
            .collect();
        let given = offsets.len();
        for record in &evidence.records {
            let Says::Clock(ClockSays::Offset {
                ahead,
                error: Some(error),
            }) = record.says
            else {
                continue;
            };
            let Some(host) = host(evidence, record) else { continue };
            let from: Arc<str> = evidence.show(record.place).into();
            let known = offsets.iter().position(|known| known.host == host);
            let new = HostOffset {
                host,
                ahead,
                error,
                from,
            };
            match known.and_then(|at| Some((at, offsets.get_mut(at)?))) {
                Some((at, known)) if at >= given && known.error > new.error => *known = new,
                Some(_) => {}
                None => offsets.push(new),
            }
        }
        let nameless = evidence
            .files
            .iter()
            .any(|file| file.clock.host.is_none() && file.stamps.is_some());
        Self {
            offsets,
            one_clock_assumed: nameless && evidence.files.len() > 1,
        }
    }

    fn offset(&self, host: &str) -> Option<&HostOffset> {
        self.offsets.iter().find(|known| known.host.as_ref() == host)
    }

    /// The record's moment on the timeline, everything that is not known included. `None`: it can't be placed.
    #[must_use]
    pub fn place(&self, evidence: &Evidence, record: &Record) -> Option<Interval> {
        Some(self.told_by(evidence, record, record.wall?))
    }

    /// A moment that the record tells of on its writer's wall clock, such as a deadline, on the timeline.
    #[must_use]
    pub fn told_by(&self, evidence: &Evidence, record: &Record, wall: Interval) -> Interval {
        match host(evidence, record).and_then(|host| self.offset(&host)) {
            Some(offset) => wall.shifted(offset.ahead.saturating_neg()).widened(offset.error),
            None => wall,
        }
    }

    /// Whether `a` was before `b`: the moments of their stamps, not what lengths in their lines make of them.
    ///
    /// Lines of one file keep their order where their stamps don't tell. What is not known of a clock that both were read
    /// from cancels. Two named hosts that nothing aligns have no order.
    #[must_use]
    pub fn before(&self, evidence: &Evidence, a: &Record, b: &Record) -> Truth {
        let same_file = a.place.file == b.place.file;
        if let (Some(one), Some(other)) = (a.when, b.when)
            && one.domain == other.domain
            && (same_file
                || (one.domain != Domain::Proc
                    && host(evidence, a).is_some()
                    && host(evidence, a) == host(evidence, b)))
        {
            let by_stamp = one.span.before(other.span);
            let written = |record: &Record| record.means != StampMeans::Start;
            if by_stamp == Truth::CannotTell && same_file && written(a) && written(b) && a.place.line != b.place.line {
                return if a.place.line < b.place.line {
                    Truth::Yes
                } else {
                    Truth::No
                };
            }
            return by_stamp;
        }
        let (Some(one), Some(other)) = (a.wall, b.wall) else {
            return Truth::CannotTell;
        };
        match (host(evidence, a), host(evidence, b)) {
            (Some(first), Some(second)) if first != second => match (self.offset(&first), self.offset(&second)) {
                (Some(x), Some(y)) => {
                    let true_time = |wall: Interval, offset: &HostOffset| {
                        wall.shifted(offset.ahead.saturating_neg()).widened(offset.error)
                    };
                    true_time(one, x).before(true_time(other, y))
                }
                _ => Truth::CannotTell,
            },
            (Some(_), Some(_)) => one.before(other),
            // One that names no host is taken to be of the clock that offsets are counted from.
            _ => match (self.place(evidence, a), self.place(evidence, b)) {
                (Some(one), Some(other)) => one.before(other),
                _ => Truth::CannotTell,
            },
        }
    }
}

/// The host whose clock stamped the record.
fn host(evidence: &Evidence, record: &Record) -> Option<Arc<str>> {
    let file = evidence
        .file(record.place.file)
        .and_then(|file| file.clock.host.clone());
    file.or_else(|| record.author.host.clone())
}
