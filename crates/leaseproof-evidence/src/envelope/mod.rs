//! Envelopes: what carries a line, and is taken off before the line is read. They nest.

mod json;
mod prefix;
mod rest;

pub(crate) use prefix::two_clocks;

use crate::reading::line::{Layers, Line};
use crate::record::Author;
use crate::stamp::Stamps;
use crate::when::{Domain, When};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A line without its envelopes.
pub(crate) struct Stripped<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) when: Option<When>,
    pub(crate) other: Option<When>,
    pub(crate) author: Author,
    pub(crate) fields: Option<Map<String, Value>>,
    pub(crate) layers: Layers,
}

impl<'a> Stripped<'a> {
    fn bare(text: &'a str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            when: None,
            other: None,
            author: Author::default(),
            fields: None,
            layers: Layers::default(),
        }
    }

    pub(crate) fn line(self, number: u64, raw: &'a str) -> Line<'a> {
        Line {
            number,
            raw,
            text: self.text,
            when: self.when,
            other: self.other,
            author: self.author,
            fields: self.fields,
            layers: self.layers,
            continued: false,
        }
    }

    /// What is inside this envelope, with what only the envelope knows.
    fn around(self, inner: Stripped<'a>, name: &'static str) -> Self {
        let mut layers = self.layers;
        layers.push(name);
        for layer in inner.layers.0 {
            if !layer.is_empty() {
                layers.push(layer);
            }
        }
        let (when, other) = nearer(self.when, inner.when);
        let author = Author {
            host: inner.author.host.or(self.author.host),
            process: inner.author.process.or(self.author.process),
            pid: inner.author.pid.or(self.author.pid),
            container: inner.author.container.or(self.author.container),
            thread: inner.author.thread.or(self.author.thread),
            database: inner.author.database.or(self.author.database),
        };
        Self {
            text: inner.text,
            when,
            other: self.other.or(inner.other).or(other),
            author,
            fields: inner.fields.or(self.fields),
            layers,
        }
    }
}

/// Two stamps of one line: the writer's own counts, unless it is the coarser one; a counted clock beside the wall clock is
/// an anchor.
fn nearer(outer: Option<When>, inner: Option<When>) -> (Option<When>, Option<When>) {
    match (outer, inner) {
        (Some(outer), Some(inner)) if outer.domain == Domain::Wall && inner.domain == Domain::Wall => {
            let own = inner.resolution <= outer.resolution;
            (Some(if own { inner } else { outer }), None)
        }
        (Some(outer), Some(inner)) if outer.domain == Domain::Wall => (Some(outer), Some(inner)),
        (Some(outer), Some(inner)) => (Some(inner), Some(outer)),
        (outer, inner) => (inner.or(outer), None),
    }
}

/// How deep envelopes may nest.
const DEEPEST: u8 = 4;

/// Takes the envelopes off.
pub(crate) fn strip<'a>(raw: &'a str, stamps: &mut Stamps) -> Stripped<'a> {
    peel(raw, stamps, 0)
}

fn peel<'a>(raw: &'a str, stamps: &mut Stamps, depth: u8) -> Stripped<'a> {
    if depth >= DEEPEST {
        return Stripped::bare(raw);
    }
    let lead = raw.trim_start_matches(['\u{1e}', '\u{feff}', ' ']);
    let lead = lead.strip_prefix("data: ").unwrap_or(lead);
    if lead.starts_with('{') {
        return json::read(lead, stamps, depth).unwrap_or_else(|| Stripped::bare(raw));
    }
    let Some(found) = prefix::read(raw, stamps).or_else(|| {
        // hclog's text is indented by four spaces.
        let indented = raw.len() - lead.len();
        (indented == 4 && depth == 0)
            .then(|| prefix::read(lead, stamps))
            .flatten()
    }) else {
        return Stripped::bare(raw);
    };
    let mut outer = Stripped {
        text: Cow::Borrowed(found.rest),
        when: found.when,
        other: found.other,
        author: found.author,
        fields: None,
        layers: Layers::default(),
    };
    let rest = rest::read(found.rest, found.kind, &mut outer.author);
    let inner = match rest.nests {
        true => peel(rest.text, stamps, depth + 1),
        false => Stripped::bare(rest.text),
    };
    let inner = if rest.nests && inner.when.is_none() && inner.fields.is_none() {
        // What follows is no envelope of its own, but may be indented text: keep it as it is.
        Stripped::bare(rest.text)
    } else {
        inner
    };
    outer.around(inner, rest.name)
}

/// What is in a JSON object that was found on its own.
pub(crate) fn object(fields: Map<String, Value>, stamps: &mut Stamps) -> Stripped<'static> {
    json::object(fields, stamps, 0)
}
