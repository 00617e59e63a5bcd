//! One file on its way to records.

pub(crate) mod anchors;
pub(crate) mod line;
pub(crate) mod meter;

use crate::evidence::{Anchor, FileRead, Problem, ProblemKind};
use crate::format::State;
use crate::options::Options;
use crate::place::{FileId, Place};
use crate::record::{RAW_MOST, Record, SourceKind};
use crate::says::{ClockSays, RuntimeSays, Says};
use crate::stamp::Stamps;
use crate::when::{Domain, Interval, StampMeans, When};
use anchors::AnchorMeter;
use line::{Layers, Line};
use meter::{GapMeter, Histogram};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// One file on its way to records.
pub(crate) struct Reading<'o> {
    pub(crate) file: FileId,
    pub(crate) options: &'o Options,
    pub(crate) stamps: Stamps,
    pub(crate) state: State,
    pub(crate) records: Vec<Record>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) lines: u64,
    pub(crate) cut: bool,
    lease: bool,
    not_understood: u64,
    last_unknown: u64,
    examples: Vec<(u64, Box<str>)>,
    formats: Vec<(Layers, &'static str, u64)>,
    gaps: GapMeter,
    anchors: AnchorMeter,
    usual: HashMap<Arc<str>, Lengths>,
    covers: Option<(When, When)>,
    /// Few, and asked for at each record: a list is quicker than a table.
    kinds: Vec<(&'static str, Kept)>,
    /// The last collection whose record was left out: its CPU time is no record either.
    pub(crate) left_out: Option<u64>,
    names: HashMap<Box<str>, Arc<str>>,
}

/// How many records of one kind there are, and how many of them were kept.
#[derive(Copy, Clone, Debug, Default)]
struct Kept {
    seen: u64,
    left_out: u64,
}

/// How long one operation took, each time.
#[derive(Clone, Debug, Default)]
struct Lengths {
    spans: Histogram,
    /// All but one in a hundred were at most this long when it was last looked at.
    p99: Duration,
    /// How many there must be before it is looked at again: a look goes through the whole histogram.
    again: u64,
}

impl Lengths {
    fn p99(&mut self) -> Duration {
        if self.spans.count() >= self.again {
            self.p99 = self.spans.quantile(990);
            self.again = self.spans.count() + self.spans.count() / 64 + 1;
        }
        self.p99
    }
}

/// What one file gave.
pub(crate) struct Done {
    pub(crate) file: FileRead,
    pub(crate) records: Vec<Record>,
    pub(crate) anchors: Vec<Anchor>,
    pub(crate) problems: Vec<Problem>,
}

impl<'o> Reading<'o> {
    pub(crate) fn new(file: FileId, options: &'o Options, stamps: Stamps) -> Self {
        Self {
            file,
            options,
            stamps,
            state: State::default(),
            records: Vec::new(),
            problems: Vec::new(),
            lines: 0,
            cut: false,
            lease: false,
            not_understood: 0,
            last_unknown: 0,
            examples: Vec::new(),
            formats: Vec::new(),
            gaps: GapMeter::default(),
            anchors: AnchorMeter::default(),
            usual: HashMap::new(),
            covers: None,
            kinds: Vec::new(),
            left_out: None,
            names: HashMap::new(),
        }
    }

    /// The file has spoken of a lease in general words: short lines after that may be of it, too.
    pub(crate) fn speaks_of_lease(&mut self) {
        self.lease = true;
    }

    /// Whether it has.
    pub(crate) fn spoke_of_lease(&self) -> bool {
        self.lease
    }

    /// Whether any line of the file had a stamp.
    pub(crate) fn has_stamps(&self) -> bool {
        self.covers.is_some()
    }

    /// One name for one text, however often it comes.
    pub(crate) fn name(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.names.get(text) {
            return Arc::clone(known);
        }
        let name: Arc<str> = Arc::from(text);
        if self.names.len() < 10_000 {
            self.names.insert(Box::from(text), Arc::clone(&name));
        }
        name
    }

    /// The line says this.
    pub(crate) fn say(&mut self, line: &Line<'_>, source: SourceKind, by: &'static str, means: StampMeans, says: Says) {
        if !self.keeps(&says) {
            return;
        }
        self.records.push(Record {
            place: Place {
                file: self.file,
                line: line.number,
            },
            source,
            author: line.author.clone(),
            when: line.when,
            wall: None,
            by,
            means,
            says,
            raw: bounded(line.raw),
        });
    }

    /// Whether another record of this kind is kept. Past the limit short stops and other routine are thinned out.
    fn keeps(&mut self, says: &Says) -> bool {
        let limit = (self.options.limits.records_a_kind as u64).max(1);
        let most = self.options.limits.records_a_kind.saturating_mul(8);
        let name = says.name();
        let kept = match self.kinds.iter().position(|(known, _)| *known == name) {
            Some(at) => self.kinds.get_mut(at),
            None => {
                self.kinds.push((name, Kept::default()));
                self.kinds.last_mut()
            }
        };
        let Some((_, kept)) = kept else { return true };
        kept.seen += 1;
        let mut keep = kept.seen <= limit;
        if let Says::Runtime(RuntimeSays::Stop {
            took, operation, id, ..
        }) = says
        {
            let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            let lengths = match self.usual.get_mut(operation) {
                Some(lengths) => lengths,
                None => self.usual.entry(Arc::clone(operation)).or_default(),
            };
            lengths.spans.add(nanos);
            if !keep {
                keep = *took > Duration::from_millis(100) && *took > lengths.p99();
            }
            keep &= kept.seen <= limit || self.records.len() < most;
            if id.is_some() {
                self.left_out = id.filter(|_| !keep);
            }
        } else if !keep {
            // Every so-manieth, ever fewer: begin and end of the file stay covered.
            keep = kept.seen.is_multiple_of((kept.seen / limit).next_power_of_two() * 2) && self.records.len() < most;
        }
        if !keep {
            kept.left_out += 1;
        }
        keep
    }

    /// Its stamp was seen: for the gaps, the cover and the anchors. `told` and `ran` as in [`GapMeter::stamp`].
    pub(crate) fn stamped(&mut self, line: &Line<'_>, told: Duration, ran: Option<Duration>) {
        let Some(when) = line.when else { return };
        if line.continued {
            return;
        }
        self.gaps.stamp(self.file, line.number, when, told, ran);
        self.cover(when);
        if let Some(other) = line.other {
            self.anchor(line, when, other);
        }
    }

    /// Its stamp says what the file covers, and nothing else: the lines around it are not read.
    pub(crate) fn cover_only(&mut self, line: &Line<'_>) {
        if let Some(when) = line.when {
            self.cover(when);
        }
    }

    fn cover(&mut self, when: When) {
        match &mut self.covers {
            Some((first, last)) if first.domain == when.domain => {
                if when.span.earliest < first.span.earliest {
                    *first = when;
                }
                if when.span.latest > last.span.latest {
                    *last = when;
                }
            }
            Some((first, _)) if first.domain == Domain::Wall => {}
            covers => *covers = Some((when, when)),
        }
    }

    /// The same moment on two clocks.
    pub(crate) fn anchor(&mut self, line: &Line<'_>, one: When, other: When) {
        let place = Place {
            file: self.file,
            line: line.number,
        };
        if let Some(parted) = self.anchors.seen(place, one, other) {
            let says = Says::Clock(ClockSays::ClocksParted {
                by: parted.by,
                error: parted.error,
            });
            self.say(line, SourceKind::Clock, "two-clocks", StampMeans::Observed, says);
        }
    }

    /// The line belongs to this format.
    pub(crate) fn format(&mut self, layers: Layers, name: &'static str) {
        for (known, format, count) in &mut self.formats {
            if *known == layers && *format == name {
                *count += 1;
                return;
            }
        }
        self.formats.push((layers, name, 1));
    }

    /// Nothing was made of the line.
    pub(crate) fn unknown(&mut self, number: u64, raw: &str) {
        // The parts of one document are all of one line.
        if self.last_unknown == number {
            return;
        }
        self.last_unknown = number;
        self.not_understood += 1;
        if self.examples.len() < self.options.limits.examples && !raw.trim().is_empty() {
            self.examples.push((number, bounded(raw)));
        }
    }

    /// Something is wrong with the file.
    pub(crate) fn problem(&mut self, line: Option<u64>, kind: ProblemKind, says: impl Into<String>) {
        if self.problems.iter().filter(|known| known.kind == kind).count() < 3 {
            self.problems.push(Problem {
                file: Some(self.file),
                line,
                says: says.into(),
                kind,
            });
        }
    }

    /// The file is over.
    pub(crate) fn finish(mut self, name: Arc<str>, bytes: u64) -> Done {
        if self.gaps.back > 0 {
            let (back, first) = (self.gaps.back, self.gaps.first_back);
            self.problem(
                first,
                ProblemKind::GoesBack,
                format!("its stamps go back by more than a second, {back} time(s): a clock that was set back, or two writers in one file"),
            );
        }
        let mut thinned = BTreeMap::new();
        for (kind, kept) in &self.kinds {
            if kept.left_out > 0 {
                thinned.insert(Arc::from(*kind), kept.left_out);
            }
        }
        if !thinned.is_empty() {
            let total: u64 = thinned.values().sum();
            self.problem(
                None,
                ProblemKind::Thinned,
                format!("{total} of its records were counted but not kept: name the key with --key, or cut the file to the hour of the incident"),
            );
        }
        let mut formats: BTreeMap<Arc<str>, u64> = BTreeMap::new();
        for (layers, format, count) in &self.formats {
            let mut parts: Vec<&str> = layers.0.iter().copied().filter(|layer| !layer.is_empty()).collect();
            if !format.is_empty() {
                parts.push(format);
            }
            *formats.entry(Arc::from(parts.join(" > "))).or_default() += count;
        }
        if self.records.is_empty() && formats.keys().all(|name| name.is_empty()) && self.lines > 0 {
            self.problem(
                None,
                ProblemKind::NotRecognised,
                "nothing in it was recognised: give expressions for its lines in the plan ([diagnose.owner], [diagnose.resource])",
            );
        }
        let clock = crate::clock::FileClock {
            host: None,
            zone: self.stamps.zone_basis(),
            year: self.stamps.year_basis(),
            aligned: crate::clock::Aligned::Not,
        };
        if clock.zone == crate::clock::Basis::Assumed {
            self.problem(
                None,
                ProblemKind::NoZone,
                "its stamps have no zone and are taken as UTC: give --tz if they are not",
            );
        }
        if clock.year == crate::clock::Basis::Assumed {
            self.problem(
                None,
                ProblemKind::NoYear,
                "its stamps have no year: the year that fits best is taken, give --year to be sure",
            );
        }
        let covers = self.covers.and_then(|(first, last)| {
            (first.domain == Domain::Wall).then_some(Interval {
                earliest: first.span.earliest,
                latest: last.span.latest,
            })
        });
        let file = FileRead {
            name,
            bytes,
            formats,
            lines: self.lines,
            not_understood: self.not_understood,
            examples: self.examples,
            covers,
            stamps: self.covers,
            clock,
            gaps: self.gaps.finish(),
            usual: self
                .usual
                .iter()
                .map(|(name, lengths)| (Arc::clone(name), lengths.spans.usual()))
                .collect(),
            thinned,
            cut: self.cut,
        };
        Done {
            file,
            records: self.records,
            anchors: self.anchors.finish(),
            problems: self.problems,
        }
    }
}

/// A line, at most [`RAW_MOST`] bytes of it.
pub(crate) fn bounded(raw: &str) -> Box<str> {
    if raw.len() <= RAW_MOST {
        return Box::from(raw);
    }
    let mut end = RAW_MOST;
    while !raw.is_char_boundary(end) {
        end -= 1;
    }
    Box::from(raw.get(..end).unwrap_or_default())
}
