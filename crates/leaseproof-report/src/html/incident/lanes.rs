//! The picture's rows before anything is drawn: the story's first, then a row for each file.

use super::axis::moment;
use super::lines::Lines;
use crate::visible::visible;
use crate::words;
use leaseproof_model::diagnosis::{Diagnosis, Lane, Part, PartKind, Party, Span, StoryLane};

/// The most rows of owners and the like.
const STORY: usize = 24;
/// The most rows of files.
const FILES: usize = 40;
/// Sub-rows of grants that overlap; further ones lie upon the last.
const DEEP: usize = 4;

/// How something that lasts is drawn.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Grant,
    Belief,
    Stop,
    Silence,
}

/// Something that lasts.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) shape: Shape,
    pub(crate) when: Span,
    /// `None`: nothing shows its end.
    pub(crate) until: Option<Span>,
    pub(crate) top: f64,
    pub(crate) height: f64,
    pub(crate) colour: Option<usize>,
    pub(crate) text: String,
    pub(crate) title: String,
    pub(crate) anchor: Option<String>,
}

/// How a moment is drawn.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Sign {
    Acquired,
    Renewed,
    Failed,
    Lost,
    Released,
    Write,
    Refused,
    Waiting,
    Other,
}

/// Something at a moment.
#[derive(Debug)]
pub(crate) struct Dot {
    pub(crate) sign: Sign,
    pub(crate) when: Span,
    pub(crate) y: f64,
    pub(crate) colour: Option<usize>,
    pub(crate) title: String,
    pub(crate) anchor: Option<String>,
    /// The answer names its line.
    pub(crate) named: bool,
    /// It is an act that breaks a rule.
    pub(crate) accused: bool,
}

/// One row of the picture.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) sub: String,
    pub(crate) height: f64,
    pub(crate) colour: Option<usize>,
    pub(crate) of_file: bool,
    pub(crate) bars: Vec<Bar>,
    pub(crate) dots: Vec<Dot>,
}

/// The rows, and what has none, in words.
pub(crate) struct Rows {
    pub(crate) rows: Vec<Row>,
    pub(crate) notes: Vec<String>,
}

/// What the rows are made with.
struct Maker<'a> {
    diagnosis: &'a Diagnosis,
    lines: &'a Lines,
    owners: Vec<&'a str>,
}

/// Lays the rows out.
pub(crate) fn rows(diagnosis: &Diagnosis, lines: &Lines) -> Rows {
    let story = &diagnosis.picture.lanes;
    let maker = Maker {
        diagnosis,
        lines,
        owners: story
            .iter()
            .filter(|lane| lane.party == Party::Owner)
            .map(|lane| lane.name.as_str())
            .collect(),
    };
    let mut notes = Vec::new();
    let of_story: Vec<&StoryLane> = story.iter().collect();
    let names_part = |part: &Part| part.lines.iter().any(|line| lines.is_named(&line.file, line.line));
    let (of_story, without) = most(of_story, STORY, |lane| {
        lane.party != Party::Owner || lane.parts.iter().any(names_part)
    });
    if without > 0 {
        notes.push(format!(
            "{} without a row of their own: too many.",
            words::count(without, "owner")
        ));
    }
    let left_out: u64 = of_story.iter().map(|lane| lane.left_out).sum();
    if left_out > 0 {
        notes.push(format!(
            "{left_out} grants, acts and signs of the story that are farthest from the loss are not drawn."
        ));
    }
    let with_marks: Vec<&Lane> = diagnosis.lanes.iter().filter(|lane| !lane.marks.is_empty()).collect();
    let bare = diagnosis.lanes.len() - with_marks.len();
    let (of_files, without) = most(with_marks, FILES, |lane| {
        lane.marks.iter().any(|mark| lines.is_named(&lane.file, mark.line))
    });
    if without > 0 {
        notes.push(format!(
            "{} without a row of their own: too many.",
            words::count(without, "file")
        ));
    }
    if bare > 0 {
        notes.push(format!(
            "Nothing with a moment is said by {} more; they are in the list of files.",
            words::count(bare, "file")
        ));
    }
    let rows = of_story.into_iter().map(|lane| maker.of_story(lane));
    let rows = rows.chain(of_files.into_iter().map(|lane| maker.of_file(lane)));
    Rows {
        rows: rows.collect(),
        notes,
    }
}

/// At most so many, those that matter before the others, in their order; and how many were left out.
fn most<T: Copy>(all: Vec<T>, most: usize, matters: impl Fn(T) -> bool) -> (Vec<T>, usize) {
    let without = all.len().saturating_sub(most);
    let mut order: Vec<(usize, T)> = all.into_iter().enumerate().collect();
    order.sort_by_key(|(at, it)| (!matters(*it), *at));
    order.truncate(most);
    order.sort_by_key(|(at, _)| *at);
    (order.into_iter().map(|(_, it)| it).collect(), without)
}

impl Maker<'_> {
    fn colour(&self, owner: Option<&str>) -> Option<usize> {
        self.owners.iter().position(|known| Some(*known) == owner)
    }

    fn anchor(&self, part: &Part) -> Option<String> {
        let mut lines = part.lines.iter();
        lines.find_map(|line| Some(self.lines.anchor(&line.file, line.line)?.to_owned()))
    }

    fn of_story(&self, lane: &StoryLane) -> Row {
        let mut row = Row {
            label: visible(&lane.name).into_owned(),
            sub: match lane.party {
                Party::Store => "grants it".to_owned(),
                Party::Owner => "believes, writes".to_owned(),
                Party::Resource => "takes writes".to_owned(),
                Party::Other => "stood still".to_owned(),
            },
            colour: match lane.party {
                Party::Owner => self.colour(Some(&lane.name)),
                _ => None,
            },
            ..Row::default()
        };
        let mut deep: Vec<i64> = Vec::new();
        for part in &lane.parts {
            match part.kind {
                PartKind::Grant => {
                    let at = sub_row(&mut deep, part);
                    row.bars
                        .push(self.bar(part, Shape::Grant, 4.0 + at as f64 * 19.0, 16.0));
                }
                PartKind::Belief => row.bars.push(self.bar(part, Shape::Belief, 4.0, 22.0)),
                _ => {}
            }
        }
        row.height = match lane.party {
            Party::Store => 4.0 + 19.0 * deep.len().max(1) as f64 + 14.0,
            Party::Owner => 48.0,
            Party::Resource => 34.0,
            Party::Other => 26.0,
        };
        let (high, low) = match lane.party {
            Party::Store => (row.height - 9.0, row.height - 9.0),
            Party::Owner => (15.0, 37.0),
            Party::Resource | Party::Other => (row.height / 2.0, row.height / 2.0),
        };
        for part in &lane.parts {
            let sign = match part.kind {
                PartKind::Grant | PartKind::Belief => continue,
                PartKind::Stop => {
                    row.bars.push(self.bar(part, Shape::Stop, 0.5, row.height - 1.0));
                    continue;
                }
                PartKind::Silence => {
                    row.bars.push(self.bar(part, Shape::Silence, 2.5, row.height - 5.0));
                    continue;
                }
                PartKind::Waiting => Sign::Waiting,
                PartKind::Acquired => Sign::Acquired,
                PartKind::Renewed => Sign::Renewed,
                PartKind::Failed => Sign::Failed,
                PartKind::Lost => Sign::Lost,
                PartKind::Released => Sign::Released,
                PartKind::Write => Sign::Write,
                PartKind::Refused => Sign::Refused,
            };
            let y = match sign {
                Sign::Write | Sign::Refused | Sign::Waiting => low,
                _ => high,
            };
            row.dots.push(Dot {
                sign,
                when: part.when,
                y,
                colour: self.colour(part.owner.as_deref()),
                title: title(part),
                anchor: self.anchor(part),
                named: part.lines.iter().any(|line| self.lines.is_named(&line.file, line.line)),
                accused: self.is_accused(part),
            });
        }
        row
    }

    fn bar(&self, part: &Part, shape: Shape, top: f64, height: f64) -> Bar {
        let owner = part.owner.as_deref().map(visible);
        let text = match shape {
            // What it says begins with whose it is and which token it has.
            Shape::Grant => owner.map(|it| it.into_owned()).unwrap_or_default(),
            Shape::Belief => String::new(),
            Shape::Stop | Shape::Silence => visible(&part.says).into_owned(),
        };
        Bar {
            shape,
            when: part.when,
            until: match shape {
                Shape::Grant => part.until,
                // What did not last has one end.
                _ => Some(part.until.unwrap_or(part.when)),
            },
            top,
            height,
            colour: self.colour(part.owner.as_deref()),
            text,
            title: title(part),
            anchor: self.anchor(part),
        }
    }

    /// An act that a broken rule names, of an owner that it is about, not before it was broken.
    fn is_accused(&self, part: &Part) -> bool {
        let is_act = matches!(part.kind, PartKind::Write | PartKind::Renewed);
        let owner = part.owner.as_ref();
        is_act
            && self.diagnosis.breach.broken.iter().any(|it| {
                owner.is_none_or(|owner| it.owners.contains(owner))
                    && it.when.is_none_or(|when| part.when.latest >= when.earliest)
                    && it
                        .evidence
                        .iter()
                        .any(|cited| part.lines.iter().any(|line| same(cited, line)))
            })
    }

    fn of_file(&self, lane: &Lane) -> Row {
        let height = 24.0;
        let colour = self.colour(lane.owner.as_deref());
        let mut row = Row {
            label: visible(base(&lane.file)).into_owned(),
            sub: format!("{}, {}", visible(&lane.formats.join(", ")), visible(&lane.clock)),
            height,
            colour,
            of_file: true,
            ..Row::default()
        };
        for mark in &lane.marks {
            let anchor = self.lines.anchor(&lane.file, mark.line).map(str::to_owned);
            let title = format!(
                "{}:{} {} UTC, {}",
                visible(&lane.file),
                mark.line,
                moment(mark.when),
                visible(&mark.kind)
            );
            if mark.until.is_some() {
                row.bars.push(Bar {
                    shape: Shape::Stop,
                    when: mark.when,
                    until: mark.until,
                    top: 4.0,
                    height: height - 8.0,
                    colour,
                    text: String::new(),
                    title,
                    anchor,
                });
                continue;
            }
            row.dots.push(Dot {
                sign: sign(&mark.kind),
                when: mark.when,
                y: height / 2.0,
                colour,
                title,
                anchor,
                named: self.lines.is_named(&lane.file, mark.line),
                accused: false,
            });
        }
        row
    }
}

fn same(a: &leaseproof_model::diagnosis::Cited, b: &leaseproof_model::diagnosis::Cited) -> bool {
    a.file == b.file && a.line == b.line
}

fn title(part: &Part) -> String {
    let place = part
        .lines
        .first()
        .map(|line| format!(" ({}:{})", visible(&line.file), line.line));
    format!(
        "{} UTC: {}{}",
        moment(part.when),
        visible(&part.says),
        place.unwrap_or_default()
    )
}

/// The sub-row of a grant: the first that is free when it begins.
fn sub_row(deep: &mut Vec<i64>, part: &Part) -> usize {
    let ends = part.until.map_or(i64::MAX, |until| until.earliest);
    // One that may have ended before it began is no neighbour to be kept apart.
    let free = deep.iter().position(|last| *last <= part.when.latest);
    match free {
        Some(at) => {
            deep[at] = ends;
            at
        }
        None if deep.len() < DEEP => {
            deep.push(ends);
            deep.len() - 1
        }
        None => DEEP - 1,
    }
}

fn base(file: &str) -> &str {
    file.rsplit('/').next().filter(|it| !it.is_empty()).unwrap_or(file)
}

fn sign(kind: &str) -> Sign {
    match kind {
        "owner acquired" | "owner session opened" | "store granted" => Sign::Acquired,
        "owner renewed" | "owner believes held" | "store renewal applied" => Sign::Renewed,
        "owner renewal failed" => Sign::Failed,
        "owner lost" | "owner session lost" | "store expired" | "store session expired" => Sign::Lost,
        "owner released" => Sign::Released,
        "owner wrote" | "resource write" => Sign::Write,
        "owner write refused" => Sign::Refused,
        "owner waiting" => Sign::Waiting,
        _ => Sign::Other,
    }
}
