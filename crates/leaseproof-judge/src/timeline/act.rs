//! An act: something that an owner does as the holder.

use leaseproof_model::event::{Event, Write};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;

/// What kind of act.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum ActKind {
    /// A write that the witness saw.
    Write,
    /// A write that the owner says it made (where the witness saw none of it).
    SaidWrite,
    /// A renewal claimed.
    Renewed,
}

/// When a write was begun, as far as its arrival tells: between its first bytes and its last its owner
/// may have looked at its lease again, or not.
pub(crate) fn when(event: &Event, write: &Write) -> Moment {
    let whole = write.arrived.unwrap_or(event.at);
    let first = write.begun.map_or(whole.earliest, |begun| begun.earliest);
    Moment::between(first.min(whole.earliest), whole.latest)
}

/// One act and its standing.
#[derive(Clone, Debug)]
pub(crate) struct Act<'h> {
    pub(crate) kind: ActKind,
    pub(crate) event: &'h Event,
    /// When it was begun, as far as is known: the arrival of a write, the word of the owner.
    pub(crate) at: Moment,
    pub(crate) token: Option<Token>,
    pub(crate) thread: Option<&'h str>,
    /// The write as the witness saw it, and its place in the resource's order.
    pub(crate) write: Option<(usize, &'h Write)>,
    /// The owner that the request itself names, where it came to the URL of another: either may have
    /// sent it, so that it accuses neither.
    pub(crate) says_from: Option<&'h str>,
    pub(crate) standing: Standing,
}

/// What an act rests on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// A grant of its owner, before that was due (or possibly so).
    Granted(usize),
    /// A grant that was due; the act may have been checked before.
    Straddling(usize),
    /// A grant that was surely due, without acquiring anew; it cannot have been checked before.
    Late(usize),
    /// It may be late and may not.
    MayBeLate(usize),
    /// A grant that was due by all that was seen, and nobody watched the store since: nothing follows.
    Unwatched(usize),
    /// No grant of its owner at all: none before, or it says that it acquired another one which the
    /// store does not show.
    Ungranted,
}
