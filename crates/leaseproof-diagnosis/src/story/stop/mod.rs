//! Spans in which something did not run, by anybody's word.
//!
//! - `runtime`, `paused`, `machine`, `late`, `throttled`: by a line that says so
//! - `silent`: by lines that are missing

mod late;
mod machine;
mod paused;
mod runtime;
mod silent;
mod throttled;

use super::Story;
use super::owner::same_name;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::{Author, Record, SourceKind};
use leaseproof_evidence::says::CpuTime;
use leaseproof_evidence::when::{Interval, StampMeans, nanos};
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
    /// Nobody asked the store anything, and all that ask often were back at once.
    Unheard {
        /// So many of them.
        clients: u32,
        /// How far apart their requests usually are.
        usual: Duration,
    },
    /// Somebody looked at the store, and got no answer.
    Unanswered {
        /// In the words of who looked.
        what: String,
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
    runtime::runtime(story, &mut stops);
    paused::paused(story, &mut stops);
    machine::machine(story, &mut stops);
    late::words(story, &mut stops);
    throttled::throttled(story, &mut stops);
    silent::gaps(story, &mut stops);
    silent::no_sign(story, &mut stops);
    stops.retain(|stop| stop.took >= SHORTEST || matches!(stop.how, How::Killed { .. }));
    stops.sort_by_key(|stop| std::cmp::Reverse(stop.took));
    stops
}

/// Whose a record is.
#[must_use]
pub fn whose(story: &Story<'_>, file: FileId, author: &Author) -> Who {
    // A look shows the store and the owner's process in one file.
    let of_store = |record: &Record| record.source == SourceKind::Store && record.by != "inspect";
    if author.container.is_none() && story.evidence.of(file).any(of_store) {
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
