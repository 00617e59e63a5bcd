//! The same moment on two clocks, kept where it says something new.

use crate::evidence::Anchor;
use crate::place::Place;
use crate::when::{Domain, When, nanos};
use std::time::Duration;

/// What a two-clock record showed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Parted {
    /// The wall clock gained this many nanoseconds on the other.
    pub(crate) by: i64,
    /// At most this much wrong.
    pub(crate) error: Duration,
}

/// Anchors of one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnchorMeter {
    kept: Vec<Anchor>,
    /// The last one, and the bounds of wall minus other since the clocks last parted, for each other clock.
    bounds: Vec<(Domain, i64, i64, Anchor)>,
}

/// Two clocks that are slewed against each other part slowly: this much a step is nobody's.
const SLACK: Duration = Duration::from_millis(20);

impl AnchorMeter {
    /// A line with both clocks. Says so where the clocks went apart since the last one.
    pub(crate) fn seen(&mut self, place: Place, one: When, other: When) -> Option<Parted> {
        let (wall, counted) = if one.domain == Domain::Wall {
            (one, other)
        } else {
            (other, one)
        };
        if wall.domain != Domain::Wall || counted.domain == Domain::Wall {
            return None;
        }
        let least = wall.span.earliest.saturating_sub(counted.span.latest);
        let most = wall.span.latest.saturating_sub(counted.span.earliest);
        let anchor = Anchor {
            place,
            one: wall,
            other: counted,
        };
        let Some(known) = self.bounds.iter_mut().find(|(domain, ..)| *domain == counted.domain) else {
            self.kept.push(anchor.clone());
            self.bounds.push((counted.domain, least, most, anchor));
            return None;
        };
        let slack = nanos(SLACK);
        let (low, high) = (known.1, known.2);
        if least > high.saturating_add(slack) || most < low.saturating_sub(slack) {
            // A process that was started anew counts from zero: that is another clock, not a step of this one.
            let anew = counted.domain != Domain::Wall
                && counted.span.latest < known.3.other.span.earliest
                && wall.span.earliest >= known.3.one.span.earliest;
            let by = (least / 2 + most / 2).saturating_sub(low / 2 + high / 2);
            let wide = most.saturating_sub(least).saturating_add(high.saturating_sub(low));
            let error = Duration::from_nanos((wide / 2).unsigned_abs()) + SLACK;
            self.kept.push(known.3.clone());
            self.kept.push(anchor.clone());
            (known.1, known.2) = (least, most);
            known.3 = anchor;
            return (!anew).then_some(Parted { by, error });
        }
        // The true difference lies in all bounds seen; a slew moves it, so that only the newest may be left over.
        known.1 = if least > known.2 { least } else { known.1.max(least) };
        known.2 = if most < known.1 {
            most
        } else {
            known.2.min(most).max(known.1)
        };
        known.3 = anchor;
        None
    }

    pub(crate) fn finish(mut self) -> Vec<Anchor> {
        for (_, _, _, last) in self.bounds {
            if self.kept.last() != Some(&last) {
                self.kept.push(last);
            }
        }
        self.kept
    }
}
