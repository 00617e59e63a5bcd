//! The lines that the page shows, each once, with its anchor and what it is shown for.

use super::axis::moment;
use crate::visible::visible;
use leaseproof_model::diagnosis::{Cited, Diagnosis, Span};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How many bytes of lines that nothing names are shown.
const ROOM: usize = 600_000;
/// The most lines that something names; they come in the order of the answer.
const NAMED: usize = 2000;

/// Where a line is.
type Place = (String, u64);

/// One line.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) anchor: String,
    pub(crate) place: String,
    pub(crate) when: String,
    pub(crate) kind: String,
    pub(crate) text: String,
    /// What it is shown for, and why, in words.
    pub(crate) roles: Vec<String>,
}

/// The lines of one file that nothing names.
#[derive(Debug, Serialize)]
pub(crate) struct OfFile {
    pub(crate) file: String,
    pub(crate) rows: Vec<Row>,
}

/// All lines of the page.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) named: Vec<Row>,
    pub(crate) rest: Vec<OfFile>,
    pub(crate) left_out: usize,
    anchors: BTreeMap<Place, String>,
    of_answer: BTreeSet<Place>,
}

impl Lines {
    /// The anchor of a line, where the page shows it.
    pub(crate) fn anchor(&self, file: &str, line: u64) -> Option<&str> {
        self.anchors.get(&(file.to_owned(), line)).map(String::as_str)
    }

    /// Whether the answer names the line.
    pub(crate) fn is_named(&self, file: &str, line: u64) -> bool {
        self.of_answer.contains(&(file.to_owned(), line))
    }

    /// Gathers them.
    pub(crate) fn of(diagnosis: &Diagnosis) -> Self {
        let marks = marks(diagnosis);
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        for lane in &diagnosis.lanes {
            let next = numbers.len() + 1;
            numbers.entry(lane.file.clone()).or_insert(next);
        }
        let mut anchor = move |file: &str, line: u64| {
            let next = numbers.len() + 1;
            format!("f{}-{line}", numbers.entry(file.to_owned()).or_insert(next))
        };
        let mut lines = Self::default();
        let mut at: BTreeMap<Place, usize> = BTreeMap::new();
        for (role, cited) in roles(diagnosis) {
            let place = (cited.file.clone(), cited.line);
            let role = match &cited.why {
                Some(why) => format!("{role}: {}", visible(why)),
                None => role,
            };
            if let Some(index) = at.get(&place) {
                let known = &mut lines.named[*index].roles;
                if !known.contains(&role) {
                    known.push(role);
                }
                continue;
            }
            if lines.named.len() >= NAMED {
                lines.left_out += 1;
                continue;
            }
            let anchor = anchor(&cited.file, cited.line);
            at.insert(place.clone(), lines.named.len());
            lines.anchors.insert(place.clone(), anchor.clone());
            lines.of_answer.insert(place.clone());
            let known = marks.get(&place);
            lines.named.push(Row {
                anchor,
                place: format!("{}:{}", visible(&cited.file), cited.line),
                when: known.map(|it| moment(it.0)).unwrap_or_default(),
                kind: known.map(|it| visible(it.1).into_owned()).unwrap_or_default(),
                text: visible(&cited.text).into_owned(),
                roles: vec![role],
            });
        }
        lines.rest(diagnosis, &marks, &mut anchor);
        lines
    }

    /// What the picture shows and the answer does not name: the nearest to the loss, within the room.
    fn rest(
        &mut self,
        diagnosis: &Diagnosis,
        marks: &BTreeMap<Place, (Span, &str, &str)>,
        anchor: &mut impl FnMut(&str, u64) -> String,
    ) {
        let far = |when: Span| {
            diagnosis.picture.window.map_or(0, |window| {
                let before = window.earliest.saturating_sub(when.latest);
                before.max(when.earliest.saturating_sub(window.latest)).max(0)
            })
        };
        let mut left: Vec<_> = marks
            .iter()
            .filter(|(place, _)| !self.of_answer.contains(place))
            .collect();
        left.sort_by_key(|(place, (when, ..))| (far(*when), *place));
        let mut room = ROOM;
        let mut kept: BTreeMap<&Place, Row> = BTreeMap::new();
        for (place, (when, kind, text)) in left {
            let needed = 200 + text.len() + place.0.len();
            if needed > room {
                self.left_out += 1;
                continue;
            }
            room -= needed;
            let anchor = anchor(&place.0, place.1);
            self.anchors.insert(place.clone(), anchor.clone());
            let row = Row {
                anchor,
                place: place.1.to_string(),
                when: moment(*when),
                kind: visible(kind).into_owned(),
                text: visible(text).into_owned(),
                roles: Vec::new(),
            };
            kept.insert(place, row);
        }
        for (place, row) in kept {
            let file = visible(&place.0);
            match self.rest.last_mut() {
                Some(last) if last.file == file => last.rows.push(row),
                _ => self.rest.push(OfFile {
                    file: file.into_owned(),
                    rows: vec![row],
                }),
            }
        }
    }
}

/// When each line was, what kind of thing it says, and its text.
fn marks(diagnosis: &Diagnosis) -> BTreeMap<Place, (Span, &str, &str)> {
    let of_parts = diagnosis.picture.lanes.iter().flat_map(|lane| &lane.parts);
    let of_parts = of_parts.flat_map(|part| {
        part.lines.iter().enumerate().map(|(nth, line)| {
            // A part's first line is of its begin, the others of its end.
            let when = part.until.filter(|_| nth > 0).unwrap_or(part.when);
            ((line.file.clone(), line.line), (when, "", &*line.text))
        })
    });
    let of_lanes = diagnosis.lanes.iter().flat_map(|lane| {
        lane.marks
            .iter()
            .map(|mark| ((lane.file.clone(), mark.line), (mark.when, &*mark.kind, &*mark.says)))
    });
    // The files' own marks come last: they know the line's kind.
    of_parts.chain(of_lanes).collect()
}

/// Each line that the answer names, with what for, in the order of the answer.
fn roles(diagnosis: &Diagnosis) -> Vec<(String, &Cited)> {
    let broken = diagnosis.breach.broken.iter().flat_map(|it| {
        let role = visible(&it.rule).into_owned();
        it.evidence.iter().map(move |line| (role.clone(), line))
    });
    let causes = diagnosis.causes.iter().flat_map(|cause| {
        let (says, against) = (
            format!("for cause {}", cause.rank),
            format!("against cause {}", cause.rank),
        );
        let says = cause.evidence.iter().map(move |line| (says.clone(), line));
        says.chain(cause.against.iter().map(move |line| (against.clone(), line)))
    });
    let lost = diagnosis.not_understood.iter().flat_map(|it| &it.examples);
    broken
        .chain(causes)
        .chain(lost.map(|line| ("not understood".to_owned(), line)))
        .collect()
}
