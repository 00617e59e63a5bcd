//! Spans in which something did not run, by anybody's word.

use super::Story;
use super::owner::same_name;
use leaseproof_evidence::evidence::Gap;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::{Author, Record, SourceKind};
use leaseproof_evidence::says::{
    CounterKind, CpuTime, MachineSays, OwnerSays, ProcessSays, RuntimeSays, Says, StopKind, StoreSays,
};
use leaseproof_evidence::when::{Interval, StampMeans, nanos};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A stop that is shorter than this explains no lost lease.
pub const SHORTEST: Duration = Duration::from_millis(200);

/// What did not run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Who {
    /// One of the owners.
    Owner(usize),
    /// The store.
    Store,
    /// A whole machine; `Some`: one that an owner is on.
    Machine,
    /// Nothing tells whose it is.
    Unknown,
}

/// By whose word, and how.
#[derive(Clone, PartialEq, Debug)]
pub enum How {
    /// The runtime logged a stop of its own: a collection, a safepoint.
    Runtime {
        /// The operation.
        operation: Arc<str>,
        /// Its CPU time.
        cpu: Option<CpuTime>,
        /// The usual length of this operation in this file: how many, half of them, all but one in a hundred.
        usual: Option<(u64, Duration, Duration)>,
        /// The part that was spent waiting for threads.
        reaching: Option<Duration>,
    },
    /// One thread waited for memory.
    AllocationStall,
    /// It was paused from outside, by the word of who did it or of the kernel.
    Paused {
        /// `docker pause`, `cgroup frozen`.
        how: Arc<str>,
    },
    /// The machine slept.
    Suspended,
    /// The machine's timers did not run: a virtual machine that stood still.
    MachineStalled {
        /// In words.
        what: String,
    },
    /// It was held back by its CPU quota.
    Throttled {
        /// For this part of the span.
        share: f64,
    },
    /// It woke late, by its own monitor's or client's word.
    WokeLate {
        /// In words.
        what: String,
    },
    /// It wrote nothing for longer than it usually does.
    Gap {
        /// All but one in a hundred of its gaps are at most this long.
        usual: Duration,
    },
    /// It was killed.
    Killed {
        /// In words.
        why: String,
        /// For want of memory.
        memory: bool,
    },
    /// The store said itself that it was late.
    StoreLate {
        /// In its words.
        what: String,
    },
}

/// One span in which something did not run.
#[derive(Clone, Debug)]
pub struct Stop<'e> {
    /// What did not run.
    pub who: Who,
    /// By whose word.
    pub how: How,
    /// When it began; `None` where its file is on no known clock.
    pub began: Option<Interval>,
    /// When it ended.
    pub ended: Option<Interval>,
    /// How long it took, as far as it is known.
    pub took: Duration,
    /// The lines.
    pub lines: Vec<&'e Record>,
    /// The file.
    pub file: FileId,
}

impl Stop<'_> {
    /// Whether somebody outside the program saw it stand still, or did it.
    #[must_use]
    pub fn is_from_outside(&self) -> bool {
        matches!(
            self.how,
            How::Paused { .. } | How::Suspended | How::MachineStalled { .. } | How::Killed { .. }
        )
    }

    /// Whether a stop that the runtime logged can't be the runtime's own: CPU time that is far below its length, and
    /// neighbours of the same operation that took a fraction of it.
    #[must_use]
    pub fn is_false_suspect(&self) -> Option<FalseSuspect> {
        let How::Runtime { cpu, usual, .. } = &self.how else {
            return None;
        };
        let idle = cpu.and_then(|cpu| {
            let used = cpu.user + cpu.sys;
            (cpu.real > SHORTEST && cpu.real > used * 4).then_some(cpu)
        });
        // It worked for at least half of it: it is the runtime's own, however odd.
        if cpu.is_some_and(|cpu| (cpu.user + cpu.sys) * 2 >= cpu.real && !cpu.real.is_zero()) {
            return None;
        }
        let odd = usual.filter(|(count, median, _)| *count >= 4 && self.took > *median * 8 && self.took > SHORTEST);
        match (idle, odd) {
            (None, None) => None,
            (idle, odd) => Some(FalseSuspect {
                cpu: idle,
                usual: odd.map(|(count, median, _)| (count, median)),
            }),
        }
    }

    /// How long it took at least: stamps of whole seconds make it look longer.
    #[must_use]
    pub fn shortest(&self) -> Duration {
        let least = self.began.zip(self.ended).map(|(began, ended)| {
            Duration::from_nanos(ended.earliest.saturating_sub(began.latest).max(0).unsigned_abs())
        });
        least.map_or(self.took, |least| least.min(self.took))
    }

    /// The least span that it surely covers, and the most that it may cover.
    #[must_use]
    pub fn span(&self) -> Option<Interval> {
        Some(self.began?.hull(self.ended?))
    }
}

/// Why a logged stop is not the runtime's own.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct FalseSuspect {
    /// The CPU time, where it is far too little.
    pub cpu: Option<CpuTime>,
    /// How many neighbours of the same operation there are, and what half of them took at most.
    pub usual: Option<(u64, Duration)>,
}

/// The stops, the longest first.
#[must_use]
pub fn stops<'e>(story: &Story<'e>) -> Vec<Stop<'e>> {
    let mut stops = Vec::new();
    runtime(story, &mut stops);
    paused(story, &mut stops);
    machine(story, &mut stops);
    words(story, &mut stops);
    throttled(story, &mut stops);
    gaps(story, &mut stops);
    no_sign(story, &mut stops);
    stops.retain(|stop| stop.took >= SHORTEST || matches!(stop.how, How::Killed { .. }));
    stops.sort_by_key(|stop| std::cmp::Reverse(stop.took));
    stops
}

/// Whose a record is.
#[must_use]
pub fn whose(story: &Story<'_>, file: FileId, author: &Author) -> Who {
    if author.container.is_none() && story.evidence.of(file).any(|record| record.source == SourceKind::Store) {
        return Who::Store;
    }
    let said: Vec<Option<bool>> = story.owners.iter().map(|owner| owner.is_author(author)).collect();
    let mut yes = said
        .iter()
        .enumerate()
        .filter(|(_, it)| **it == Some(true))
        .map(|(index, _)| index);
    if let (Some(index), None) = (yes.next(), yes.next()) {
        return Who::Owner(index);
    }
    let names = ["redis", "valkey", "etcd", "zookeeper", "consul", "postgres"];
    let is_store = |text: &Arc<str>| names.iter().any(|name| text.contains(name));
    if author
        .container
        .as_ref()
        .or(author.process.as_ref())
        .is_some_and(is_store)
    {
        return Who::Store;
    }
    if author.container.is_none()
        && let Some(index) = same_name(story.evidence, file, &story.owners)
    {
        return Who::Owner(index);
    }
    // The only one that it can be.
    let mut left = said
        .iter()
        .enumerate()
        .filter(|(_, it)| **it != Some(false))
        .map(|(index, _)| index);
    match (left.next(), left.next()) {
        (Some(index), None) if story.owners.len() == 1 && author.container.is_none() => Who::Owner(index),
        _ => Who::Unknown,
    }
}

fn ends(story: &Story<'_>, record: &Record, took: Duration) -> (Option<Interval>, Option<Interval>) {
    let Some(at) = story.at(record) else {
        return (None, None);
    };
    match record.means {
        StampMeans::Start => (Some(at), Some(at.shifted(nanos(took)))),
        _ => (Some(at.shifted(-nanos(took))), Some(at)),
    }
}

fn runtime<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
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

/// What a file says is paused: a container, a process of it.
type Paused = (FileId, Option<Arc<str>>, Option<u32>);

/// Pauses of processes and containers: begin and end by two lines, or a length that was measured.
fn paused<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
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

fn machine<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
    let mut asleep: BTreeMap<FileId, &'e Record> = BTreeMap::new();
    for record in &story.evidence.records {
        let Says::Machine(said) = &record.says else { continue };
        let file = record.place.file;
        let mut stalled = |lasted: Duration, what: String| {
            let (began, ended) = ends(story, record, lasted);
            stops.push(Stop {
                who: Who::Machine,
                how: How::MachineStalled { what },
                began,
                ended,
                took: lasted,
                lines: vec![record],
                file,
            });
        };
        match said {
            MachineSays::SoftLockup { lasted, idle, .. } => stalled(
                *lasted,
                if *idle {
                    "an idle CPU was stuck: the virtual CPU itself was not run".to_owned()
                } else {
                    "a CPU was stuck".to_owned()
                },
            ),
            MachineSays::TimersLate { lasted, .. } => {
                stalled(
                    *lasted,
                    "the kernel's own timers did not run: the machine stood still".to_owned(),
                );
            }
            MachineSays::NodeUnwell {
                lasted: Some(lasted),
                what,
            } => stalled(*lasted, what.to_string()),
            MachineSays::SuspendEntry => {
                asleep.insert(file, record);
            }
            MachineSays::SuspendExit => {
                if let Some(entry) = asleep.remove(&file) {
                    let (began, ended) = (story.at(entry), story.at(record));
                    let took = began.zip(ended).map_or(Duration::ZERO, |(began, ended)| {
                        Duration::from_nanos(ended.middle().saturating_sub(began.middle()).max(0).unsigned_abs())
                    });
                    stops.push(Stop {
                        who: Who::Machine,
                        how: How::Suspended,
                        began,
                        ended,
                        took,
                        lines: vec![entry, record],
                        file,
                    });
                }
            }
            _ => {}
        }
    }
}

/// What clients and stores say of their own lateness.
fn words<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
    let mut timeout: BTreeMap<FileId, Duration> = BTreeMap::new();
    for record in &story.evidence.records {
        let file = record.place.file;
        match &record.says {
            Says::Owner(OwnerSays::SessionOpened {
                timeout: Some(given), ..
            }) => {
                timeout.insert(file, *given);
            }
            Says::Owner(OwnerSays::HeardNothing { lasted, .. }) => {
                // A client that runs gives up at two thirds of its time-out: more than that, and it did not run.
                let Some(timeout) = timeout.get(&file) else { continue };
                let patience = *timeout * 2 / 3;
                if *lasted > patience + SHORTEST {
                    let (began, ended) = ends(story, record, lasted.saturating_sub(patience));
                    let (first, _) = ends(story, record, *lasted);
                    stops.push(Stop {
                        who: Who::Owner(story.owners.iter().position(|owner| owner.files.contains(&file)).unwrap_or(0)),
                        how: How::WokeLate {
                            what: format!(
                                "it heard nothing for {}, and one that runs gives up after {} of a time-out of {}: it did not run itself",
                                crate::words::span(*lasted),
                                crate::words::span(patience),
                                crate::words::span(*timeout)
                            ),
                        },
                        began: first.zip(began).map(|(first, began)| first.hull(began)),
                        ended,
                        took: lasted.saturating_sub(patience),
                        lines: vec![record],
                        file,
                    });
                }
            }
            Says::Store(StoreSays::Stalled { took: Some(took), what }) => {
                let (began, ended) = ends(story, record, *took);
                stops.push(Stop {
                    who: Who::Store,
                    how: How::StoreLate { what: what.to_string() },
                    began,
                    ended,
                    took: *took,
                    lines: vec![record],
                    file,
                });
            }
            _ => {}
        }
    }
}

/// The group that a counter is of, in one file.
type Throttled = (FileId, Option<Arc<str>>);

/// Differences of the throttling counters: near the length of the span itself, it hardly ran.
fn throttled<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
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

/// Gaps that are wide for their own file. They say "did not run, or had nothing to say".
fn gaps<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
    for (index, file) in story.evidence.files.iter().enumerate() {
        let id = FileId(u32::try_from(index).unwrap_or(u32::MAX));
        let kinds = [SourceKind::Runtime, SourceKind::Owner, SourceKind::Store];
        let Some(kind) = kinds
            .into_iter()
            .find(|kind| story.evidence.of(id).any(|record| record.source == *kind))
        else {
            continue;
        };
        let usual = file.gaps.p99.max(file.gaps.median * 3);
        for gap in &file.gaps.widest {
            let wide = gap.took >= SHORTEST && file.gaps.count >= 8 && gap.took > file.gaps.median * 5;
            // The widest itself is among the hundredth part in a short file.
            let odd = gap.took > usual || (file.gaps.count < 200 && gap.took > file.gaps.median * 5);
            if wide && odd {
                stops.extend(gap_of(story, id, kind, gap, file.gaps.median));
            }
        }
    }
}

fn gap_of<'e>(story: &Story<'e>, file: FileId, kind: SourceKind, gap: &Gap, usual: Duration) -> Option<Stop<'e>> {
    let record = |place| story.evidence.of(file).find(|record| record.place == place);
    let lines: Vec<&'e Record> = [record(gap.from), record(gap.to)].into_iter().flatten().collect();
    let author = lines.last().map(|record| record.author.clone()).unwrap_or_default();
    let who = match kind {
        SourceKind::Store => Who::Store,
        SourceKind::Owner => story
            .owners
            .iter()
            .position(|owner| owner.files.contains(&file))
            .map_or(Who::Unknown, Who::Owner),
        _ => whose(story, file, &author),
    };
    let idle = lines.first().is_some_and(|record| has_nothing_to_say(record));
    // A store that did something meanwhile, by any of its files, did not stand still.
    let worked = kind == SourceKind::Store
        && gap.wall.is_some_and(|(from, to)| {
            story.of(SourceKind::Store).any(|record| {
                story
                    .at(record)
                    .is_some_and(|at| from.latest < at.earliest && at.latest < to.earliest)
            })
        });
    if idle || worked {
        return None;
    }
    Some(Stop {
        who,
        how: How::Gap { usual },
        began: gap.wall.map(|(from, _)| from),
        ended: gap.wall.map(|(_, to)| to),
        took: gap.took,
        lines,
        file,
    })
}

/// Spans in which an owner that writes often gave no sign at all: nothing at the resource, nothing in its own log. The
/// widest of each.
fn no_sign<'e>(story: &Story<'e>, stops: &mut Vec<Stop<'e>>) {
    for index in 0..story.owners.len() {
        let writes = story
            .acts
            .iter()
            .filter(|act| act.owner == Some(index) && matches!(act.kind, super::act::ActKind::WriteSeen(_)));
        if writes.count() < 8 {
            continue;
        }
        let mut signs: Vec<(i64, &'e Record)> = super::fit::signs_of(story, index)
            .filter_map(|record| Some((story.at(record)?.middle(), record)))
            .collect();
        signs.sort_by_key(|(at, record)| (*at, record.place));
        let mut apart: Vec<(i64, &'e Record, &'e Record)> = signs
            .windows(2)
            .filter_map(|pair| match pair {
                [(from, before), (to, after)] => Some((to.saturating_sub(*from), *before, *after)),
                _ => None,
            })
            .filter(|(_, before, _)| !has_nothing_to_say(before))
            .collect();
        apart.sort_by_key(|(apart, ..)| *apart);
        let (Some((median, ..)), Some((widest, before, after))) = (apart.get(apart.len() / 2), apart.last()) else {
            continue;
        };
        let took = Duration::from_nanos(widest.max(&0).unsigned_abs());
        let usual = Duration::from_nanos(median.max(&0).unsigned_abs());
        if took >= SHORTEST && took > usual * 5 {
            stops.push(Stop {
                who: Who::Owner(index),
                how: How::Gap { usual },
                began: story.at(before),
                ended: story.at(after),
                took,
                lines: vec![before, after],
                file: before.place.file,
            });
        }
    }
}

/// Who holds nothing has nothing to say.
fn has_nothing_to_say(record: &Record) -> bool {
    matches!(
        record.says,
        Says::Owner(
            OwnerSays::Waiting { .. }
                | OwnerSays::Released { .. }
                | OwnerSays::Lost { .. }
                | OwnerSays::SessionLost { .. }
                | OwnerSays::WriteRefused { .. }
        )
    )
}
