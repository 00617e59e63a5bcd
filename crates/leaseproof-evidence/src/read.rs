//! The one way in.

use crate::clock;
use crate::evidence::{Evidence, Problem, ProblemKind};
use crate::format;
use crate::input::Input;
use crate::options::{FileRule, Options};
use crate::place::FileId;
use crate::reading::{Done, Reading};
use crate::source::lines::Lines;
use crate::source::wide::Wide;
use crate::source::{BUFFER, Opened, Origin, Packed, Source, Sources, Taken, archive};
use crate::stamp::Stamps;
use std::io::{self, BufRead};
use std::ops::ControlFlow;
use std::sync::Arc;

/// How far reading is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The file that is read.
    pub file: Arc<str>,
    /// Bytes read of all, as they lie there: of a packed file its packed bytes.
    pub read: u64,
    /// Bytes of all, where they are known, counted likewise.
    pub of: Option<u64>,
}

/// Reads all of it. Never fails: what can't be read is a problem in the evidence.
#[must_use]
pub fn read(inputs: &[Input], options: &Options) -> Evidence {
    read_with(inputs, options, &mut |_| {})
}

/// The same, and tells how far it is about every 64 MiB.
#[must_use]
pub fn read_with(inputs: &[Input], options: &Options, progress: &mut dyn FnMut(&Progress)) -> Evidence {
    let sources = Sources::of(inputs);
    let mut evidence = Evidence {
        bundles: sources.bundles,
        problems: sources.problems,
        ..Evidence::default()
    };
    let of = sources.files.iter().map(|source| source.size).sum();
    let mut meter = Meter {
        since: 0,
        taken: sources.taken,
        of,
        progress,
    };
    let mut done: Vec<(Arc<Source>, Done)> = Vec::new();
    for source in sources.files {
        each(Arc::new(source), options, &mut done, &mut evidence.problems, &mut meter);
    }
    // A file without years fits beside the others: read again with the year that they state.
    let stated = done.iter().find_map(|(_, done)| {
        let covers = done.file.covers?;
        (done.file.clock.year == clock::Basis::Stated).then(|| clock::year_of(covers.latest))?
    });
    for (index, (source, done)) in done.into_iter().enumerate() {
        let again = match stated {
            Some(year) if done.file.clock.year == clock::Basis::Assumed => {
                let differs = done.file.covers.and_then(|covers| clock::year_of(covers.latest)) != Some(year);
                differs
                    .then(|| again(&source, index, options, year, &mut meter))
                    .flatten()
            }
            _ => None,
        };
        let mut done = again.unwrap_or(done);
        done.file.clock.host = rule(options, &done.file.name).and_then(|rule| rule.host.as_deref().map(Arc::from));
        evidence.files.push(done.file);
        evidence.records.append(&mut done.records);
        evidence.anchors.append(&mut done.anchors);
        evidence.problems.append(&mut done.problems);
    }
    clock::align(&mut evidence, options);
    evidence
}

/// What the user knows about a file.
pub(crate) fn rule<'o>(options: &'o Options, name: &str) -> Option<&'o FileRule> {
    options.files.iter().find(|rule| name.ends_with(&rule.name))
}

/// How far reading is, told now and then.
pub(crate) struct Meter<'p> {
    /// Bytes of content since it was told last.
    since: u64,
    taken: Taken,
    of: Option<u64>,
    progress: &'p mut dyn FnMut(&Progress),
}

impl Meter<'_> {
    pub(crate) fn add(&mut self, file: &Arc<str>, bytes: u64) {
        self.since += bytes;
        if self.since >= 64 << 20 {
            self.since = 0;
            let taken = self.taken.bytes();
            (self.progress)(&Progress {
                file: Arc::clone(file),
                // A file that lacks years may be read twice.
                read: self.of.map_or(taken, |of| taken.min(of)),
                of: self.of,
            });
        }
    }
}

/// One source: a file, or all files of an archive.
fn each(
    source: Arc<Source>,
    options: &Options,
    done: &mut Vec<(Arc<Source>, Done)>,
    problems: &mut Vec<Problem>,
    meter: &mut Meter<'_>,
) {
    let mut opened = source.open();
    if !opened.as_mut().is_ok_and(Opened::is_archive) {
        let read = file(&source, done.len(), options, None, opened, meter);
        return done.push((source, read));
    }
    let Ok(opened) = opened else { return };
    let begun = done.len();
    let mut wrong = |kind, says: String| {
        problems.push(Problem {
            file: None,
            line: None,
            says: format!("{}: {says}", source.name),
            kind,
        });
    };
    let whole = archive::each(opened.reader, &mut |entry| {
        if done.len() - begun >= archive::MOST {
            let says = format!(
                "only the first {} of its files were read: unpack it, and give those that matter",
                archive::MOST
            );
            wrong(ProblemKind::Other, says);
            return ControlFlow::Break(());
        }
        let inside = Arc::new(Source {
            name: format!("{}/{}", source.name, entry.name).into(),
            origin: Origin::Entry(Arc::clone(&source), entry.nth),
            size: Some(entry.size),
            year: entry.year,
            taken: source.taken.clone(),
        });
        let read = file(&inside, done.len(), options, None, Opened::of(entry.reader), meter);
        done.push((inside, read));
        ControlFlow::Continue(())
    });
    if let Err(error) = whole {
        let says = format!("the archive is broken or cut off ({error}); what came before was read");
        wrong(ProblemKind::Truncated, says);
    }
}

/// A file once more, with another year. `None`: it can be read only once.
fn again(source: &Source, index: usize, options: &Options, year: i16, meter: &mut Meter<'_>) -> Option<Done> {
    match &source.origin {
        Origin::Stdin => None,
        Origin::Entry(archive, nth) => {
            let opened = archive
                .open()
                .ok()
                .filter(|_| !matches!(archive.origin, Origin::Stdin))?;
            let mut found = None;
            // What is broken in it was said when it was read first.
            let _broken = archive::each(opened.reader, &mut |entry| {
                if entry.nth != *nth {
                    return ControlFlow::Continue(());
                }
                found = Some(file(
                    source,
                    index,
                    options,
                    Some(year),
                    Opened::of(entry.reader),
                    meter,
                ));
                ControlFlow::Break(())
            });
            found
        }
        Origin::Path(_) | Origin::Bytes(_) => Some(file(source, index, options, Some(year), source.open(), meter)),
    }
}

fn file(
    source: &Source,
    index: usize,
    options: &Options,
    year: Option<i16>,
    opened: io::Result<Opened<'_>>,
    meter: &mut Meter<'_>,
) -> Done {
    let rule = rule(options, &source.name);
    let zone = rule.and_then(|rule| rule.zone.clone()).or_else(|| options.zone.clone());
    let given = rule.and_then(|rule| rule.year).or(options.year);
    let stamps = Stamps::new(zone, given, year.or(source.year).unwrap_or(1970));
    let id = FileId(u32::try_from(index).unwrap_or(u32::MAX));
    let mut reading = Reading::new(id, options, stamps);
    let bytes = match opened {
        Ok(opened) => content(source, opened, &mut reading, meter),
        Err(error) => {
            reading.cut = true;
            reading.problem(None, ProblemKind::Unreadable, format!("it can't be read: {error}"));
            0
        }
    };
    reading.finish(Arc::clone(&source.name), bytes)
}

fn content(source: &Source, mut opened: Opened<'_>, reading: &mut Reading<'_>, meter: &mut Meter<'_>) -> u64 {
    let head = match opened.reader.fill_buf() {
        Ok(head) => head,
        Err(error) => {
            broken(reading, &error, opened.packed);
            return 0;
        }
    };
    if head.is_empty() {
        reading.problem(None, ProblemKind::Empty, "it is empty");
        return 0;
    }
    match format::sniff::whole(head) {
        format::sniff::Whole::Text => {}
        format::sniff::Whole::Aof => return format::redis_aof::read(&mut opened.reader, reading, opened.packed),
        format::sniff::Whole::Utf16 { big } => {
            let packed = opened.packed;
            let plain = io::BufReader::with_capacity(BUFFER, Wide::new(opened.reader, big));
            return lines(&source.name, plain, packed, reading, meter);
        }
        format::sniff::Whole::Monitor => {
            if let Some(key) = reading.options.key.clone().filter(|_| opened.packed == Packed::No) {
                return format::redis_monitor::search(&source.name, &mut opened.reader, &key, reading, meter);
            }
        }
        format::sniff::Whole::Binary(what) => {
            reading.problem(
                None,
                ProblemKind::Binary,
                format!("it is binary ({what}), and was not read"),
            );
            return source.size.unwrap_or(0);
        }
    }
    lines(&source.name, opened.reader, opened.packed, reading, meter)
}

fn lines(
    name: &Arc<str>,
    reader: impl BufRead,
    packed: Packed,
    reading: &mut Reading<'_>,
    meter: &mut Meter<'_>,
) -> u64 {
    let mut lines = Lines::new(reader, reading.options.limits.line);
    let mut before = 0;
    loop {
        let read = match lines.next() {
            Ok(Some(line)) => {
                reading.lines += 1;
                match std::str::from_utf8(line) {
                    Ok(text) => format::line(reading.lines, text, reading),
                    Err(_) => {
                        let number = reading.lines;
                        reading.problem(
                            Some(number),
                            ProblemKind::Encoding,
                            "a line is not UTF-8; what is not was replaced",
                        );
                        format::line(number, &String::from_utf8_lossy(line), reading);
                    }
                }
                true
            }
            Ok(None) => false,
            Err(error) => {
                broken(reading, &error, packed);
                false
            }
        };
        if lines.was_cut {
            let (number, limit) = (reading.lines, reading.options.limits.line);
            reading.problem(
                Some(number),
                ProblemKind::LineTooLong,
                format!("a line is longer than {limit} bytes; the rest of it was not read"),
            );
        }
        if lines.read - before > 1 << 20 || !read {
            meter.add(name, lines.read - before);
            before = lines.read;
        }
        if !read {
            break;
        }
    }
    format::end(reading);
    lines.read
}

/// Reading broke off: what was read counts.
pub(crate) fn broken(reading: &mut Reading<'_>, error: &io::Error, packed: Packed) {
    reading.cut = true;
    let line = reading.lines;
    let (kind, says) = match packed {
        Packed::No => (
            ProblemKind::Unreadable,
            format!("reading broke off after line {line}: {error}"),
        ),
        Packed::Gzip | Packed::Zstd => (
            ProblemKind::Truncated,
            format!("the packed file is broken or cut off after line {line} ({error}); what came before was read"),
        ),
    };
    reading.problems.push(Problem {
        file: Some(reading.file),
        line: Some(line),
        says,
        kind,
    });
}
