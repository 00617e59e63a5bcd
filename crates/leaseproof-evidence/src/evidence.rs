//! What reading gives.

use crate::clock::FileClock;
use crate::place::{FileId, Place};
use crate::record::Record;
use crate::when::{Interval, When};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// All that was read.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Evidence {
    /// The files, in the order in which they were given.
    pub files: Vec<FileRead>,
    /// The records: file by file, each in the order of its lines.
    pub records: Vec<Record>,
    /// The same moment on two clocks, wherever a line has both.
    pub anchors: Vec<Anchor>,
    /// What is wrong with the evidence, for people.
    pub problems: Vec<Problem>,
    /// Folders that are bundles of `verify`: their events can go to the judge as they are.
    pub bundles: Vec<PathBuf>,
}

impl Evidence {
    /// A file.
    #[must_use]
    pub fn file(&self, id: FileId) -> Option<&FileRead> {
        self.files.get(usize::try_from(id.0).ok()?)
    }

    /// The records of one file.
    pub fn of(&self, id: FileId) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| record.place.file == id)
    }

    /// `gc.log:812`.
    #[must_use]
    pub fn show(&self, place: Place) -> String {
        let name = self.file(place.file).map_or("?", |file| &file.name);
        format!("{name}:{}", place.line)
    }
}

/// One file, as it was read.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FileRead {
    /// Its name, as given (or inside the folder or archive that was given).
    pub name: Arc<str>,
    /// Its size in bytes, unpacked.
    pub bytes: u64,
    /// The formats that its content was recognised as, with the lines of each; the envelopes are named first:
    /// `docker-json > klog > client-go`. Empty: nothing was recognised.
    pub formats: BTreeMap<Arc<str>, u64>,
    /// How many lines it has.
    pub lines: u64,
    /// How many of them nothing was made of.
    pub not_understood: u64,
    /// The first of these.
    pub examples: Vec<(u64, Box<str>)>,
    /// From its first stamp to its last, on the writer's wall clock where that is known.
    pub covers: Option<Interval>,
    /// The first and the last stamp as written.
    pub stamps: Option<(When, When)>,
    /// Its clock: zone and year, and how it was aligned.
    pub clock: FileClock,
    /// How far apart its stamps usually are, and the widest gaps.
    pub gaps: Gaps,
    /// The usual length of each operation: what a suspect is compared with.
    pub usual: BTreeMap<Arc<str>, Usual>,
    /// Records that were not kept since there were too many of one kind, by kind.
    pub thinned: BTreeMap<Arc<str>, u64>,
    /// Whether it was cut off (a broken archive, a read error).
    pub cut: bool,
}

/// How far apart the stamps of a file are.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Gaps {
    /// How many there are.
    pub count: u64,
    /// Half of them are at most this long.
    pub median: Duration,
    /// All but one in a hundred are at most this long.
    pub p99: Duration,
    /// The widest, widest first.
    pub widest: Vec<Gap>,
}

/// A span between two stamps of one file in which it says nothing.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Gap {
    /// The line before it.
    pub from: Place,
    /// The line after it.
    pub to: Place,
    /// The stamp before it.
    pub began: When,
    /// The stamp after it. A pause that the second line itself tells of is taken off: see `told`.
    pub ended: When,
    /// Before and after on the writer's wall clock.
    pub wall: Option<(Interval, Interval)>,
    /// How long it is.
    pub took: Duration,
    /// How much of it the runtime says that it ran.
    pub ran: Option<Duration>,
}

/// The usual length of an operation in one file.
#[derive(Copy, Clone, PartialEq, Debug, Default, Serialize)]
pub struct Usual {
    /// How many there were.
    pub count: u64,
    /// Half of them took at most this.
    pub median: Duration,
    /// All but one in a hundred took at most this.
    pub p99: Duration,
    /// The longest.
    pub longest: Duration,
}

/// The same moment on two clocks of one host or process.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Anchor {
    /// The line.
    pub place: Place,
    /// On the one clock.
    pub one: When,
    /// On the other.
    pub other: When,
}

/// What is wrong with the evidence.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Problem {
    /// The file.
    pub file: Option<FileId>,
    /// The line, where there is one.
    pub line: Option<u64>,
    /// What is wrong, and what to do next, in words for people.
    pub says: String,
    /// What kind of problem it is.
    pub kind: ProblemKind,
}

/// What kind of problem it is.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// It could not be opened or read.
    Unreadable,
    /// It is empty.
    Empty,
    /// It is binary.
    Binary,
    /// It ends too early.
    Truncated,
    /// A line was longer than a line can be, and was cut.
    LineTooLong,
    /// Nothing in it was recognised.
    NotRecognised,
    /// Its stamps have no zone.
    NoZone,
    /// Its stamps have no year.
    NoYear,
    /// Its stamps are on a clock that could not be laid on the timeline.
    NotAligned,
    /// Its stamps go back.
    GoesBack,
    /// Two writers' lines run into each other.
    Interleaved,
    /// Its text is in no encoding that was understood.
    Encoding,
    /// Records were left out since there were too many.
    Thinned,
    /// Something else that a reader of the answer should know.
    Other,
}
