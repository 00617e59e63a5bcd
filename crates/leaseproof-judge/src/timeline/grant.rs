//! A grant: the span in which the store says that one holder has the lease.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Event, EventId};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use std::time::Duration;

/// Who a grant belongs to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// The owner with this place in the timeline.
    Owner(usize),
    /// The lab, as a silent successor.
    Lab,
    /// Nobody knows.
    Unknown,
}

/// A change of the expiry that is the store's own doing.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Moved {
    pub(crate) from: Moment,
    pub(crate) to: Change,
}

/// A change of a grant's expiry.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Change {
    /// When it was applied.
    pub(crate) at: Moment,
    /// When the store was last seen without it: others may have come between that and this one.
    pub(crate) since: BootNanos,
    /// The expiry from then on.
    pub(crate) expires: Moment,
    /// The reading that showed it.
    pub(crate) event: EventId,
}

/// How a grant ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum EndKind {
    /// At its last applied expiry.
    Expired,
    /// By its own holder.
    Released,
    /// The lab removed it or gave it to a silent successor.
    ByLab,
    /// Another holder stood in its place before its expiry, and nobody is on record for it.
    Overwritten,
    /// It was gone before its expiry, and nobody is on record for it.
    Vanished,
    /// The store's epoch changed and it was gone.
    LostByStore,
}

impl EndKind {
    /// Before the last applied expiry, without the holder's release.
    pub(crate) fn is_early(self) -> bool {
        !matches!(self, Self::Expired | Self::Released)
    }
}

/// The end of a grant.
#[derive(Copy, Clone, Debug)]
pub(crate) struct End {
    pub(crate) at: Moment,
    /// The bracket of the two readings between which it was seen to be gone.
    pub(crate) seen: Moment,
    pub(crate) kind: EndKind,
    /// The reading that showed it.
    pub(crate) event: EventId,
}

/// One grant.
#[derive(Clone, Debug)]
pub(crate) struct Grant<'h> {
    pub(crate) holder: &'h HolderId,
    pub(crate) token: Option<Token>,
    /// The token that its owner named for it when it said `acquired`.
    pub(crate) said_token: Option<(Token, EventId)>,
    pub(crate) granted: Option<BootNanos>,
    pub(crate) renewed: Option<BootNanos>,
    pub(crate) begin: Moment,
    /// The first reading that showed it.
    pub(crate) first: &'h Event,
    pub(crate) first_expiry: Option<Moment>,
    /// The last applied expiry.
    pub(crate) expiry: Option<Moment>,
    /// The same by the store's own clock, in its nanoseconds: it stands still whatever clocks do.
    pub(crate) server_expiry: Option<i128>,
    /// The TTL that was granted, where the store does not show when it will be over.
    pub(crate) bound: Option<Duration>,
    /// The TTL that was granted, where the store states it beside the expiry.
    pub(crate) ttl: Option<Duration>,
    /// A reading that showed it without a TTL.
    pub(crate) without_ttl: Option<EventId>,
    pub(crate) extensions: Vec<Change>,
    /// Jumps back of the expiry.
    pub(crate) shrinks: Vec<Change>,
    /// Where the expiry went when the store's epoch changed: its own doing, though a renewal may hide in it.
    pub(crate) moved: Vec<Moved>,
    /// Its expiry went back to a time at which it should have been gone long ago, and it lives.
    pub(crate) long_over: Option<Moved>,
    pub(crate) end: Option<End>,
    pub(crate) by: By,
    /// An earlier grant of the same holder and token, which had ended.
    pub(crate) revives: Option<usize>,
    /// The `acquired` that its owner said for it.
    pub(crate) acquired: Option<&'h Event>,
    /// Whether an `acquired` may be about it, though another grant took that word: who prints late, or
    /// without stamps, says it near both.
    pub(crate) may_be_acquired: bool,
    /// Whether its owner says `acquired` for its grants.
    pub(crate) owner_speaks: bool,
    /// The moment from which acts are charged to its owner; `None` while there is none.
    pub(crate) due: Option<Moment>,
    /// Same for writes: a holder that released has nothing more to write, whatever the expiry was.
    pub(crate) due_for_writes: Option<Moment>,
    /// Whether a reading with the write lock was taken after its expiry.
    pub(crate) write_lock_after: Option<EventId>,
    /// A reading that showed it ended: absent, expired or another's.
    pub(crate) epoch: Option<&'h str>,
}

impl Grant<'_> {
    /// Whether it is an earlier grant that stands again although nobody acquired it. Where the store
    /// shows no token and nobody says `acquired` it may also be a new one, and is taken for that.
    pub(crate) fn is_revival(&self) -> bool {
        self.revives.is_some() && !self.may_be_acquired && (self.token.is_some() || self.owner_speaks)
    }

    /// It had surely begun, and surely had not ended.
    pub(crate) fn surely_covers(&self, at: Moment) -> bool {
        self.begin.latest <= at.earliest && self.lasts_until().is_none_or(|end| at.latest <= end.earliest)
    }

    /// It may have begun, and may not have ended.
    pub(crate) fn may_cover(&self, at: Moment) -> bool {
        self.begin.earliest <= at.latest && self.lasts_until().is_none_or(|end| at.earliest <= end.latest)
    }

    /// Until when the store granted it: its end, or else its last applied expiry.
    pub(crate) fn lasts_until(&self) -> Option<Moment> {
        self.end.map(|end| end.at).or(self.expiry)
    }
}
