//! A quota that held a group back, by the growth of its counters.

use super::{How, Stop, whose};
use crate::story::Story;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{CounterKind, ProcessSays, Says};
use leaseproof_evidence::when::Interval;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The group that a counter is of, in one file.
type Throttled = (FileId, Option<Arc<str>>);

/// Differences of the throttling counters: near the length of the span itself, it hardly ran.
pub fn throttled<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
    let mut last: BTreeMap<Throttled, (&'e Record, u64)> = BTreeMap::new();
    for record in &story.evidence.records {
        let Says::Process(ProcessSays::Counter {
            kind: CounterKind::ThrottledTime,
            value,
        }) = &record.says
        else {
            continue;
        };
        let which = (record.place.file, record.author.container.clone());
        let Some((before, old)) = last.insert(which, (record, *value)) else {
            continue;
        };
        let (Some(from), Some(to), Some(grown)) = (story.at(before), story.at(record), value.checked_sub(old)) else {
            continue;
        };
        if grown == 0 {
            continue;
        }
        // The counter grows when a wait is over: what it grew by may have begun before the last look.
        let began = from
            .middle()
            .min(to.middle().saturating_sub(i64::try_from(grown).unwrap_or(i64::MAX)));
        let known = stops.iter_mut().find(|stop| {
            matches!(stop.how, How::Throttled { .. })
                && stop.file == record.place.file
                && stop
                    .lines
                    .first()
                    .is_some_and(|line| line.author.container == record.author.container)
                && share(stop.took, grown, stop.began, to) >= 0.5
        });
        if let Some(known) = known {
            known.how = How::Throttled {
                share: share(known.took, grown, known.began, to).min(1.0),
            };
            known.took += Duration::from_nanos(grown);
            known.ended = Some(to);
            known.lines.push(record);
            continue;
        }
        let began = Some(Interval::exact(began));
        let share = share(Duration::ZERO, grown, began, to);
        if share >= 0.5 {
            stops.push(Stop {
                who: whose(story, record.place.file, &record.author),
                how: How::Throttled { share: share.min(1.0) },
                began,
                ended: Some(to),
                took: Duration::from_nanos(grown),
                lines: vec![before, record],
                file: record.place.file,
            });
        }
    }
}

/// Which part of a span was spent waiting for the quota.
#[expect(clippy::cast_precision_loss, reason = "a share, for people")]
fn share(took: Duration, grown: u64, began: Option<Interval>, to: Interval) -> f64 {
    let whole = began
        .map_or(0, |began| to.middle().saturating_sub(began.middle()))
        .max(1);
    (took.as_nanos() as f64 + grown as f64) / whole as f64
}
