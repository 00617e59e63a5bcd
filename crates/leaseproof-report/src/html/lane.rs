//! A lane: one row of the picture, before anything is drawn.

use crate::html::accused::Accused;
use crate::html::scale::Scale;
use crate::sentence;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, EventId};
use leaseproof_model::moment::Moment;

/// One row.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) label: String,
    pub(crate) sub: String,
    pub(crate) height: f64,
    /// The owner's number in the palette, for lanes of owners.
    pub(crate) colour: Option<usize>,
    /// About one owner process: not drawn in a window in which there is nothing of it.
    pub(crate) of_owner: bool,
    pub(crate) spans: Vec<Span>,
    pub(crate) marks: Vec<Mark>,
}

impl Lane {
    /// Whether it is about an owner process, or the watch on one, of which nothing is in this window.
    pub(crate) fn may_be_left_out(&self, scale: &Scale) -> bool {
        self.of_owner
            && !self.spans.iter().any(|it| scale.clip(it.from, it.to).is_some())
            && !self
                .marks
                .iter()
                .any(|it| scale.clip(it.at.earliest, it.at.latest).is_some())
    }
}

/// How a span is drawn.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum SpanKind {
    Cycle,
    Life,
    Belief,
    Frozen,
    Grant,
    Unsure,
    Fault,
    Covered,
}

/// Something that lasts.
#[derive(Debug)]
pub(crate) struct Span {
    pub(crate) kind: SpanKind,
    pub(crate) from: BootNanos,
    pub(crate) to: BootNanos,
    pub(crate) top: f64,
    pub(crate) height: f64,
    pub(crate) colour: Option<usize>,
    /// Written into it where it fits.
    pub(crate) text: String,
    /// Told of it in full.
    pub(crate) title: String,
    pub(crate) event: Option<EventId>,
}

/// How a mark is drawn.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum MarkKind {
    Accepted,
    Rejected,
    Straddling,
    Acquired,
    Renewed,
    Failed,
    Lost,
    Released,
    Refused,
    Waiting,
    Reading,
    Wire,
    Other,
}

impl MarkKind {
    /// So common that many are drawn as one shape, and thinned first.
    pub(crate) fn is_routine(self) -> bool {
        matches!(
            self,
            Self::Accepted | Self::Renewed | Self::Reading | Self::Wire | Self::Waiting | Self::Refused
        )
    }
}

/// Something that happens at a moment.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) kind: MarkKind,
    pub(crate) at: Moment,
    pub(crate) y: f64,
    pub(crate) colour: Option<usize>,
    pub(crate) event: EventId,
    /// Written next to it where it fits.
    pub(crate) text: String,
    pub(crate) title: String,
    /// It is evidence of a finding.
    pub(crate) named: bool,
    /// It is the act that a breach accuses.
    pub(crate) accused: bool,
}

impl Mark {
    /// The mark of an event, with what the findings say about it.
    pub(crate) fn new(
        event: &Event,
        kind: MarkKind,
        y: f64,
        colour: Option<usize>,
        text: String,
        accused: &Accused,
    ) -> Self {
        let named = accused.by_findings.contains(&event.id);
        let (kind, text, more) = if accused.straddling.contains(&event.id) {
            let more = "; it may have been checked before the lease was over (straddling): no violation by itself";
            (MarkKind::Straddling, String::new(), more)
        } else {
            (kind, text, "")
        };
        Self {
            kind,
            at: event.at,
            y,
            colour,
            event: event.id,
            text,
            // Routine marks are drawn many in one, so none of them is told by itself.
            title: if named || !kind.is_routine() {
                sentence::of(event) + more
            } else {
                String::new()
            },
            named,
            accused: accused.acts.contains_key(&event.id),
        }
    }
}
