//! Pauses and ends of processes and containers, by the word of who did it or of the kernel.

use super::{How, Stop, ends, whose};
use crate::story::Story;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{ProcessSays, Says};
use leaseproof_evidence::when::{Interval, StampMeans};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What a file says is paused: a container, a process of it.
type Paused = (FileId, Option<Arc<str>>, Option<u32>);

/// Pauses of processes and containers: begin and end by two lines, or a length that was measured.
pub fn paused<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
    let mut open: BTreeMap<Paused, (&'e Record, Arc<str>)> = BTreeMap::new();
    let mut seen_running: BTreeMap<Paused, &'e Record> = BTreeMap::new();
    for record in &story.evidence.records {
        let Says::Process(said) = &record.says else { continue };
        let file = record.place.file;
        let which = (file, record.author.container.clone(), record.author.pid);
        match said {
            ProcessSays::Paused { how } => {
                open.entry(which).or_insert((record, Arc::clone(how)));
            }
            ProcessSays::NotPaused | ProcessSays::Resumed { .. } => {
                if let Some((began, how)) = open.remove(&which) {
                    let before = seen_running.get(&which).copied();
                    let from = match (story.at(began), before.and_then(|it| story.at(it)), began.means) {
                        // Somebody looked: it began between the last look that saw it run and this one.
                        (Some(at), Some(before), StampMeans::Observed) => Some(before.hull(at)),
                        (at, ..) => at,
                    };
                    let to = story.at(record);
                    let took = match (from, to) {
                        (Some(from), Some(to)) => {
                            Duration::from_nanos(to.middle().saturating_sub(from.middle()).max(0).unsigned_abs())
                        }
                        _ => Duration::ZERO,
                    };
                    stops.push(Stop {
                        who: whose(story, file, &record.author),
                        how: How::Paused { how },
                        began: from,
                        ended: to,
                        took,
                        lines: vec![began, record],
                        file,
                    });
                }
                seen_running.insert(which, record);
            }
            ProcessSays::PausedFor { how, took } => {
                let (began, ended) = ends(story, record, *took);
                stops.push(Stop {
                    who: whose(story, file, &record.author),
                    how: How::Paused { how: Arc::clone(how) },
                    began,
                    ended,
                    took: *took,
                    lines: vec![record],
                    file,
                });
            }
            ProcessSays::Killed { why, .. } => stops.push(killed(story, record, why, false)),
            ProcessSays::OutOfMemory { command, .. } => {
                let what = command.as_deref().unwrap_or("the process");
                stops.push(killed(
                    story,
                    record,
                    &format!("{what} was killed for want of memory"),
                    true,
                ));
            }
            _ => {}
        }
    }
    for (_, (began, how)) in open {
        // Nothing shows its end: it may have lasted to the end of the file.
        let until = story.evidence.file(began.place.file).and_then(|file| file.covers);
        let from = story.at(began);
        let to = from
            .zip(until)
            .map(|(from, covers)| from.hull(Interval::exact(covers.latest)));
        stops.push(Stop {
            who: whose(story, began.place.file, &began.author),
            how: How::Paused { how },
            began: from,
            ended: to,
            took: from.zip(to).map_or(Duration::ZERO, |(from, to)| {
                Duration::from_nanos(to.latest.saturating_sub(from.earliest).max(0).unsigned_abs())
            }),
            lines: vec![began],
            file: began.place.file,
        });
    }
}

fn killed<'e>(story: &Story<'e>, record: &'e Record, why: &str, memory: bool) -> Stop<'e> {
    Stop {
        who: whose(story, record.place.file, &record.author),
        how: How::Killed {
            why: why.to_owned(),
            memory,
        },
        began: story.at(record),
        ended: story.at(record),
        took: Duration::ZERO,
        lines: vec![record],
        file: record.place.file,
    }
}
