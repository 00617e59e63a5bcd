//! What a runtime logs of itself: collections, safepoints, late wake-ups, and a beat that is missed.

use super::{How, SHORTEST, Stop, ends, whose};
use crate::story::Story;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{CpuTime, RuntimeSays, Says, StopKind};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub fn runtime<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
    let mut cpu_of: BTreeMap<(FileId, u64), CpuTime> = BTreeMap::new();
    for record in story.of(SourceKind::Runtime) {
        if let Says::Runtime(RuntimeSays::StopCpu { id, cpu }) = &record.says {
            cpu_of.insert((record.place.file, *id), *cpu);
        }
    }
    let mut found: Vec<Stop<'e>> = Vec::new();
    let mut beat: BTreeMap<FileId, &'e Record> = BTreeMap::new();
    for record in story.of(SourceKind::Runtime) {
        let Says::Runtime(said) = &record.says else { continue };
        let file = record.place.file;
        match said {
            RuntimeSays::Stop {
                took,
                kind,
                operation,
                reaching,
                cpu,
                id,
                ..
            } if *took >= SHORTEST => {
                let (began, ended) = ends(story, record, *took);
                let usual = story.evidence.file(file).and_then(|file| file.usual.get(operation));
                let how = match kind {
                    StopKind::AllocationStall => How::AllocationStall,
                    StopKind::Gc | StopKind::Safepoint => How::Runtime {
                        operation: Arc::clone(operation),
                        cpu: cpu.or_else(|| cpu_of.get(&(file, (*id)?)).copied()),
                        usual: usual.map(|usual| (usual.count, usual.median, usual.p99)),
                        reaching: *reaching,
                    },
                };
                found.push(Stop {
                    who: whose(story, file, &record.author),
                    how,
                    began,
                    ended,
                    took: *took,
                    lines: vec![record],
                    file,
                });
            }
            RuntimeSays::WokeLate { by } => {
                let (began, ended) = ends(story, record, *by);
                found.push(Stop {
                    who: whose(story, file, &record.author),
                    how: How::WokeLate {
                        what: format!("its own monitor woke {} late", crate::words::span(*by)),
                    },
                    began,
                    ended,
                    took: *by,
                    lines: vec![record],
                    file,
                });
            }
            RuntimeSays::Beat { period: Some(period) } => {
                if let Some(before) = beat.insert(file, record)
                    && let (Some(a), Some(b)) = (before.when, record.when)
                    && a.domain == b.domain
                {
                    let apart = b.span.earliest.saturating_sub(a.span.latest);
                    let late = Duration::from_nanos(apart.max(0).unsigned_abs()).saturating_sub(*period);
                    if late >= SHORTEST && late > *period * 2 {
                        found.push(Stop {
                            who: whose(story, file, &record.author),
                            how: How::Gap { usual: *period },
                            began: story.at(before),
                            ended: story.at(record),
                            took: late,
                            lines: vec![before, record],
                            file,
                        });
                    }
                }
            }
            _ => {}
        }
    }
    stops.extend(one_of_each(found));
}

/// A collection's pause lies inside a safepoint: one stop, with the lines, the name and the CPU time of both.
fn one_of_each(found: Vec<Stop<'_>>) -> Vec<Stop<'_>> {
    let mut kept: Vec<Stop<'_>> = Vec::new();
    for stop in found {
        let same = kept.iter_mut().find(|known| {
            known.file == stop.file
                && match (known.ended, stop.ended) {
                    (Some(a), Some(b)) => (a.middle() - b.middle()).abs() < 50_000_000,
                    _ => known
                        .lines
                        .last()
                        .zip(stop.lines.first())
                        .is_some_and(|(a, b)| b.place.line - a.place.line < 12),
                }
                && known.took.abs_diff(stop.took) < Duration::from_millis(100).max(stop.took / 10)
        });
        match same {
            Some(known) => {
                if let (
                    How::Runtime {
                        cpu,
                        usual,
                        reaching,
                        operation,
                    },
                    How::Runtime {
                        cpu: more,
                        usual: more_usual,
                        reaching: also,
                        operation: other,
                    },
                ) = (&mut known.how, &stop.how)
                {
                    *cpu = cpu.or(*more);
                    // The collection's name says more than the safepoint's.
                    if other.starts_with("Pause") {
                        *operation = Arc::clone(other);
                    }
                    *reaching = reaching.or(*also);
                    if usual.is_none_or(|(count, ..)| count < 4) {
                        *usual = more_usual.or(*usual);
                    }
                }
                known.took = known.took.max(stop.took);
                known.lines.extend(stop.lines);
            }
            None => kept.push(stop),
        }
    }
    kept
}
