//! The records joined to one timeline.
//!
//! - [`owner`]: who the owners are, and what they say about themselves
//! - [`mixed`]: the lines of several owners in one file
//! - [`keys`]: which key it is about, and which lines are about another lease
//! - [`grant`]: what the store granted to whom, and how each grant ended
//! - [`act`]: what was done as the holder
//! - [`sender`]: who sent a command to the store
//! - [`stop`]: spans in which something did not run, by anybody's word
//! - [`numbers`]: TTL, heartbeat and the rest, and who says so
//! - [`asking`]: whether an owner was waiting for the store
//! - [`early`]: whether a lease ended before its time
//! - [`concord`]: whether the files' clocks are shown to agree
//! - [`loss`]: the one loss that is to be explained
//! - [`fit`]: whether a stop explains that loss

pub mod act;
pub mod asking;
pub mod concord;
pub mod early;
pub mod fit;
pub mod grant;
pub mod keys;
pub mod loss;
pub mod mixed;
pub mod numbers;
pub mod owner;
pub mod sender;
pub mod stop;

use crate::asked::Asked;
use crate::redact::shown;
use act::Act;
use concord::Concord;
use grant::Grant;
use keys::Keys;
use leaseproof_evidence::clock::Timeline;
use leaseproof_evidence::evidence::Evidence;
use leaseproof_evidence::place::{FileId, Place};
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::when::Interval;
use leaseproof_model::diagnosis::Cited;
use leaseproof_model::truth::Truth;
use loss::Loss;
use numbers::Numbers;
use owner::Owner;
use std::collections::BTreeSet;
use stop::Stop;

/// The records of an incident, joined.
#[derive(Debug)]
pub struct Story<'e> {
    /// What was read.
    pub evidence: &'e Evidence,
    /// The clocks.
    pub timeline: &'e Timeline,
    /// What is asked.
    pub asked: &'e Asked,
    /// The key that it is about, and those that it is not about.
    pub keys: Keys,
    /// The owners.
    pub owners: Vec<Owner<'e>>,
    /// What the store granted, in order.
    pub grants: Vec<Grant<'e>>,
    /// What was done as the holder, file by file.
    pub acts: Vec<Act<'e>>,
    /// Spans in which something did not run, the longest first.
    pub stops: Vec<Stop<'e>>,
    /// The configured numbers.
    pub numbers: Numbers<'e>,
    /// What is to be explained.
    pub loss: Option<Loss<'e>>,
    /// Whether the files' clocks are shown to agree.
    pub concord: Concord,
}

impl<'e> Story<'e> {
    /// Joins the records.
    #[must_use]
    pub fn new(evidence: &'e Evidence, timeline: &'e Timeline, asked: &'e Asked) -> Self {
        let keys = Keys::of(evidence, asked);
        let mut story = Self {
            evidence,
            timeline,
            asked,
            owners: owner::owners(evidence, &keys),
            keys,
            grants: Vec::new(),
            acts: Vec::new(),
            stops: Vec::new(),
            numbers: Numbers::default(),
            loss: None,
            concord: Concord::default(),
        };
        story.grants = grant::grants(&story);
        story.acts = act::acts(&story);
        story.numbers = numbers::numbers(&story);
        story.stops = stop::stops(&story);
        story.loss = loss::loss(&story);
        story.concord = Concord::of(&story);
        story
    }

    /// When a record was, by everything that is known of its clock.
    #[must_use]
    pub fn at(&self, record: &Record) -> Option<Interval> {
        self.timeline.place(self.evidence, record)
    }

    /// A moment that the record tells of by its writer's clock, such as a deadline.
    #[must_use]
    pub fn told_by(&self, record: &Record, wall: Interval) -> Interval {
        self.timeline.told_by(self.evidence, record, wall)
    }

    /// Whether `a` was before `b`. Lines of one file keep their order.
    #[must_use]
    pub fn before(&self, a: &Record, b: &Record) -> Truth {
        self.timeline.before(self.evidence, a, b)
    }

    /// The line, as it is shown.
    #[must_use]
    pub fn cite(&self, record: &Record) -> Cited {
        Cited {
            file: self.name(record.place.file),
            line: record.place.line,
            text: shown(&record.raw),
            why: None,
        }
    }

    /// The line, and why it is shown.
    #[must_use]
    pub fn cite_why(&self, record: &Record, why: impl Into<String>) -> Cited {
        Cited {
            why: Some(why.into()),
            ..self.cite(record)
        }
    }

    /// The line at a place, where a record has been made of it.
    #[must_use]
    pub fn cite_place(&self, place: Place, why: impl Into<String>) -> Cited {
        let record = self.evidence.records.iter().find(|record| record.place == place);
        Cited {
            file: self.name(place.file),
            line: place.line,
            text: record.map(|record| shown(&record.raw)).unwrap_or_default(),
            why: Some(why.into()),
        }
    }

    /// A file's name.
    #[must_use]
    pub fn name(&self, file: FileId) -> String {
        self.evidence
            .file(file)
            .map_or_else(|| "?".to_owned(), |file| file.name.to_string())
    }

    /// The records of one kind of writer; those of other leases are left out.
    pub fn of<'s>(&'s self, kind: SourceKind) -> impl Iterator<Item = &'e Record> + use<'s, 'e> {
        let (writes, store) = (kind == SourceKind::Resource, kind == SourceKind::Store);
        self.evidence.records.iter().filter(move |record| {
            record.source == kind
                && !(writes && self.keys.is_of_another(record))
                && !(store && self.keys.is_of_another_database(record))
        })
    }

    /// What an owner is called.
    #[must_use]
    pub fn owner_name(&self, owner: Option<usize>) -> String {
        owner
            .and_then(|index| self.owners.get(index))
            .map_or_else(|| "the owner".to_owned(), |owner| owner.name.clone())
    }

    /// The files of these names.
    #[must_use]
    pub fn files_named<'n>(&self, names: impl Iterator<Item = &'n str>) -> BTreeSet<FileId> {
        let names: BTreeSet<&str> = names.collect();
        let files = self.evidence.files.iter().zip(0_u32..);
        files
            .filter(|(file, _)| names.contains(&*file.name))
            .map(|(_, number)| FileId(number))
            .collect()
    }

    /// The files that have records of one kind of writer.
    #[must_use]
    pub fn files_of(&self, kinds: &[SourceKind]) -> Vec<FileId> {
        let mut files: Vec<FileId> = self
            .evidence
            .records
            .iter()
            .filter(|record| kinds.contains(&record.source))
            .map(|record| record.place.file)
            .collect();
        files.sort_unstable();
        files.dedup();
        files
    }
}
