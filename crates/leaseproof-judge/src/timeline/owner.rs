//! One owner process: when it ran, what it said, what it wrote, which grants it had.

use super::act::Act;
use super::freeze::{Freeze, Spans};
use super::grant::Grant;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, EventId, OwnerEvent, Said, Wire, Within};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::OwnerName;
use std::time::Duration;

/// Something that an owner said, and when it happened as far as is known.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Saying<'h> {
    pub(crate) event: &'h Event,
    pub(crate) said: &'h Said,
    pub(crate) at: Moment,
    is_stamped: bool,
}

impl<'h> Saying<'h> {
    /// The owner's own stamp counts where it fits the arrival, nothing is said before it happened, and
    /// where the process lived by then: one before its start is of another clock.
    pub(crate) fn new(event: &'h Event, said: &'h Said, started: Option<&Event>) -> Self {
        let lived = |boot: BootNanos| started.is_none_or(|started| started.at.earliest <= boot);
        let stamp = said.boot.filter(|boot| *boot <= event.at.latest && lived(*boot));
        Self {
            event,
            said,
            at: stamp.map_or(event.at, Moment::exact),
            is_stamped: stamp.is_some(),
        }
    }

    /// Whether its moment is the owner's own stamp.
    pub(crate) fn is_stamped(&self) -> bool {
        self.is_stamped
    }

    pub(crate) fn is(&self, event: OwnerEvent) -> bool {
        self.said.event == event
    }

    /// A failed renewal whose answer was a definite refusal.
    pub(crate) fn is_definite_refusal(&self) -> bool {
        self.is(OwnerEvent::RenewFailed)
            && self
                .said
                .definite
                .unwrap_or_else(|| self.said.reason.as_deref().is_some_and(names_a_refusal))
    }

    /// A word of the protocol between owner and store (a write is none).
    pub(crate) fn is_protocol(&self) -> bool {
        !matches!(
            self.said.event,
            OwnerEvent::Write | OwnerEvent::WriteRefused | OwnerEvent::Waiting
        )
    }
}

/// Whether a reason says that the store refused, in the words of known clients.
fn names_a_refusal(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    [
        "not the holder",
        "not held",
        "not holder",
        "absent",
        "no longer held",
        "no longer hold",
        "no longer own",
        "no longer the holder",
        "no longer the owner",
        "notacquired",
        "not acquired",
        "not owned",
    ]
    .iter()
    .any(|words| reason.contains(words))
}

/// The end of an owner's root process.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) at: Moment,
    pub(crate) event: EventId,
    pub(crate) by_lab: bool,
}

/// Wall reads as the shim counted them.
#[derive(Copy, Clone, Debug)]
pub(crate) struct WallCount {
    pub(crate) at: Moment,
    pub(crate) event: EventId,
    pub(crate) cycle: u32,
    pub(crate) count: u64,
    pub(crate) offset_ns: i64,
    pub(crate) mapped: bool,
}

/// One owner process.
#[derive(Clone, Debug)]
pub(crate) struct Owner<'h> {
    pub(crate) name: &'h OwnerName,
    pub(crate) slot: Option<&'h str>,
    pub(crate) started: Option<&'h Event>,
    pub(crate) ended: Option<Ended>,
    /// When SIGTERM was delivered to it.
    pub(crate) terminated: Vec<&'h Event>,
    /// In the order in which it said them.
    pub(crate) said: Vec<Saying<'h>>,
    /// Places in the timeline's writes, without replays.
    pub(crate) writes: Vec<usize>,
    pub(crate) wires: Vec<(&'h Event, &'h Wire)>,
    /// What its running part sent to the part that stood still.
    pub(crate) within: Vec<(&'h Event, &'h Within)>,
    pub(crate) wall: Vec<WallCount>,
    pub(crate) freezes: Vec<Freeze>,
    /// Surely not running.
    pub(crate) frozen: Spans,
    /// Possibly not running.
    pub(crate) may_be_frozen: Spans,
    /// Places in the timeline's grants, in order.
    pub(crate) grants: Vec<usize>,
    /// What it did as the holder, in order.
    pub(crate) acts: Vec<Act<'h>>,
}

impl<'h> Owner<'h> {
    pub(crate) fn new(name: &'h OwnerName) -> Self {
        Self {
            name,
            slot: None,
            started: None,
            ended: None,
            terminated: Vec::new(),
            said: Vec::new(),
            writes: Vec::new(),
            wires: Vec::new(),
            within: Vec::new(),
            wall: Vec::new(),
            freezes: Vec::new(),
            frozen: Spans::default(),
            may_be_frozen: Spans::default(),
            grants: Vec::new(),
            acts: Vec::new(),
        }
    }

    /// The least that it can have run between two moments.
    pub(crate) fn ran_at_least(&self, from: BootNanos, until: BootNanos) -> Duration {
        self.may_be_frozen.outside(from, until)
    }

    /// The most that it can have run between two moments.
    pub(crate) fn ran_at_most(&self, from: BootNanos, until: BootNanos) -> Duration {
        self.frozen.outside(from, until)
    }

    /// The moment at which it had run for `span` since `from`.
    pub(crate) fn after_running(&self, from: Moment, span: Duration) -> Moment {
        Moment {
            earliest: from.earliest.plus(span),
            latest: self.may_be_frozen.advance(from.latest, span),
        }
    }

    /// Whether it surely did nothing at all during `span`: not started, ended, or frozen throughout.
    pub(crate) fn surely_idle(&self, span: Moment) -> bool {
        self.started.is_some_and(|event| span.latest < event.at.earliest)
            || self.ended.is_some_and(|ended| ended.at.latest < span.earliest)
            || self.frozen.contain(span.earliest, span.latest)
    }

    /// The last thaw that may have come before `at`.
    pub(crate) fn thaw_before(&self, at: BootNanos) -> Option<Moment> {
        let thaws = self.freezes.partition_point(|freeze| freeze.possible.0 <= at);
        self.freezes[..thaws]
            .iter()
            .rev()
            .find_map(|freeze| freeze.thaw.filter(|thaw| thaw.earliest <= at))
    }

    /// How many threads the last pause before `at` found.
    pub(crate) fn threads_at(&self, at: BootNanos) -> Option<u32> {
        let freezes = self.freezes.partition_point(|freeze| freeze.possible.0 <= at);
        self.freezes[..freezes].last().and_then(|freeze| freeze.threads)
    }

    /// Whether it can know of this grant: an acquire that was applied and never answered gives a grant
    /// that its own holder does not know. One that never says `acquired` is taken to know.
    pub(crate) fn knows(&self, grant: &Grant<'_>) -> bool {
        grant.acquired.is_some()
            || !self
                .said
                .iter()
                .any(|saying| saying.is(OwnerEvent::Waiting) || saying.is(OwnerEvent::Acquired))
    }

    /// The wall reads counted in a cycle.
    pub(crate) fn wall_in(&self, cycle: u32) -> &[WallCount] {
        let from = self.wall.partition_point(|it| it.cycle < cycle);
        let until = self.wall.partition_point(|it| it.cycle <= cycle).max(from);
        &self.wall[from..until]
    }

    /// What it said from `from` on.
    pub(crate) fn said_since(&self, from: BootNanos) -> &[Saying<'h>] {
        &self.said[self.said.partition_point(|saying| saying.at.latest < from)..]
    }
}
