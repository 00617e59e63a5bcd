//! One line, its envelopes taken off.

use crate::record::Author;
use crate::when::When;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// One line, its envelopes taken off.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// The line as it is.
    pub(crate) raw: &'a str,
    /// What the writer said.
    pub(crate) text: Cow<'a, str>,
    /// Its stamp.
    pub(crate) when: Option<When>,
    /// The same moment on another clock.
    pub(crate) other: Option<When>,
    /// Who wrote it.
    pub(crate) author: Author,
    /// The fields of a structured line; the message is `text`.
    pub(crate) fields: Option<Map<String, Value>>,
    /// Its envelopes, outermost first.
    pub(crate) layers: Layers,
    /// It has no stamp of its own, and belongs to the one above it.
    pub(crate) continued: bool,
}

impl Line<'_> {
    /// A field's text.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.as_ref()?.get(name)?.as_str()
    }
}

/// The names of a line's envelopes, outermost first.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Layers(pub(crate) [&'static str; 3]);

impl Layers {
    pub(crate) fn push(&mut self, name: &'static str) {
        if let Some(free) = self.0.iter_mut().find(|slot| slot.is_empty()) {
            *free = name;
        }
    }
}
