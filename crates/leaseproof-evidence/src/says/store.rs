//! What a store says.

use crate::when::Interval;
use leaseproof_model::name::Token;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// How a store, or its leadership, moved.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MoveKind {
    /// Another member was made the primary.
    Failover,
    /// A member became the leader (order by term, not by stamp).
    LeaderElected,
    /// The leader was lost.
    LeaderLost,
    /// A member that was thought to be down, or left its post.
    MemberDown,
    /// A member stepped down, or became a replica.
    Demoted,
    /// Keys were evicted for want of memory.
    Eviction,
    /// The store was emptied.
    Flush,
    /// Its server started.
    Started,
    /// Its server stopped.
    Stopped,
    /// Another process of it answers than before, or in another part: it started anew, or failed over.
    OtherAnswers,
    /// Writes that had been acknowledged were given up.
    WritesDropped,
}

/// What a store says.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreSays {
    /// It granted the lease.
    Granted {
        /// The key.
        key: Arc<str>,
        /// The holder, as the store has it.
        holder: Option<Arc<str>>,
        /// The fencing token, or the index that serves as one.
        token: Option<Token>,
        /// The TTL.
        ttl: Option<Duration>,
        /// The deadline on the store's own wall clock, where it writes one.
        until: Option<Interval>,
    },
    /// A request to take the lease was seen. Whether it was granted is not in the record.
    Asked {
        /// The key.
        key: Arc<str>,
        /// The holder that it names.
        holder: Option<Arc<str>>,
        /// The TTL.
        ttl: Option<Duration>,
        /// Who sent it: an address.
        sender: Option<Arc<str>>,
    },
    /// A renewal was applied.
    RenewalApplied {
        /// The key, the session or the lease.
        key: Arc<str>,
        /// Who sent it: an address.
        sender: Option<Arc<str>>,
        /// The TTL.
        ttl: Option<Duration>,
        /// The deadline on the store's own wall clock, where it writes one.
        until: Option<Interval>,
    },
    /// A renewal was seen. Whether it was applied is not in the record.
    RenewalAsked {
        /// The key, the session or the lease.
        key: Arc<str>,
        /// Who sent it: an address.
        sender: Option<Arc<str>>,
    },
    /// It refused.
    Refused {
        /// The key, the session or the lease.
        key: Arc<str>,
        /// In its words.
        why: Arc<str>,
        /// Who asked.
        sender: Option<Arc<str>>,
    },
    /// The lease expired.
    Expired {
        /// The key, the session or the lease.
        key: Arc<str>,
    },
    /// The lease's key is gone.
    Deleted {
        /// The key.
        key: Arc<str>,
        /// Who deleted it, where the record says; `None` may be an expiry.
        by: Option<Arc<str>>,
        /// A revision, zxid or index, where there is one.
        index: Option<u64>,
    },
    /// A request to delete was seen. Whether anything was deleted is not in the record.
    DeleteAsked {
        /// The key.
        key: Arc<str>,
        /// Who sent it.
        sender: Option<Arc<str>>,
    },
    /// The state of a key at this moment, as the store answered.
    Held {
        /// The key.
        key: Arc<str>,
        /// The holder; `None`: nobody.
        holder: Option<Arc<str>>,
        /// The fencing token, or the index that serves as one.
        token: Option<Token>,
        /// What is left of the TTL.
        left: Option<Duration>,
    },
    /// A session (or a lease that is one) began.
    SessionOpened {
        /// Its id.
        id: Arc<str>,
        /// Its time-out as negotiated.
        timeout: Option<Duration>,
    },
    /// A session ended because its time was over.
    SessionExpired {
        /// Its id.
        id: Arc<str>,
        /// Its time-out.
        timeout: Option<Duration>,
    },
    /// A session ended by request.
    SessionClosed {
        /// Its id.
        id: Arc<str>,
    },
    /// A client came back with a session that is over.
    SessionInvalid {
        /// Its id.
        id: Arc<str>,
        /// Who asked.
        client: Option<Arc<str>>,
    },
    /// The store had heard nothing from a client.
    ClientSilent {
        /// The client or its session.
        id: Arc<str>,
        /// For how long, where the line says.
        lasted: Option<Duration>,
    },
    /// The store, or its leadership, moved.
    Moved {
        /// How.
        kind: MoveKind,
        /// In its words.
        what: Arc<str>,
        /// A term, epoch or offset, for the order.
        term: Option<u64>,
    },
    /// The store itself was late or stood still.
    Stalled {
        /// By how much, where the line says, counted back from the stamp.
        took: Option<Duration>,
        /// In its words. Its guess of the cause is not to be believed.
        what: Arc<str>,
    },
    /// In a record of every request: nobody asked anything for so long, and those that had asked again and again before
    /// were back at once. The stamp is that of their return.
    Unheard {
        /// For how long.
        took: Duration,
        /// How many clients ask so often that each must have been missed several times.
        clients: u32,
        /// How far apart the requests of the most frequent of them usually are.
        usual: Duration,
    },
    /// Somebody looked, and got no answer: it stood still or was gone, or the way to it from where the look was. The stamp
    /// is the end of that.
    Unanswered {
        /// For how long at least.
        took: Duration,
        /// In the words of who looked.
        what: Arc<str>,
    },
    /// Persistence: a snapshot, a slow disk.
    Persistence {
        /// How long it took, where the line says.
        took: Option<Duration>,
        /// In its words.
        what: Arc<str>,
    },
    /// A slow command was logged. Silence of this log proves nothing, unless its threshold is 0.
    SlowCommand {
        /// How long it took.
        took: Duration,
        /// The command, cut.
        command: Arc<str>,
    },
    /// The part that a member plays.
    Role {
        /// `master`, `replica`, `leader`, `follower`.
        role: Arc<str>,
    },
    /// A counter at this moment. Only differences of two looks say anything.
    Counter {
        /// Its name.
        name: Arc<str>,
        /// Its value.
        value: i64,
    },
    /// The store's clock at this moment of the record's stamp.
    Time {
        /// Nanoseconds since 1970 by the store.
        wall: i64,
    },
}

impl StoreSays {
    /// The key that the line names, or the session or lease in its place.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Granted { key, .. }
            | Self::Asked { key, .. }
            | Self::RenewalApplied { key, .. }
            | Self::RenewalAsked { key, .. }
            | Self::Refused { key, .. }
            | Self::Expired { key }
            | Self::Deleted { key, .. }
            | Self::DeleteAsked { key, .. }
            | Self::Held { key, .. } => Some(key),
            _ => None,
        }
    }

    /// A short name for counts.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Granted { .. } => "store granted",
            Self::Asked { .. } => "store asked",
            Self::RenewalApplied { .. } => "store renewal applied",
            Self::RenewalAsked { .. } => "store renewal asked",
            Self::Refused { .. } => "store refused",
            Self::Expired { .. } => "store expired",
            Self::Deleted { .. } => "store deleted",
            Self::DeleteAsked { .. } => "store delete asked",
            Self::Held { .. } => "store held",
            Self::SessionOpened { .. } => "store session opened",
            Self::SessionExpired { .. } => "store session expired",
            Self::SessionClosed { .. } => "store session closed",
            Self::SessionInvalid { .. } => "store session invalid",
            Self::ClientSilent { .. } => "store client silent",
            Self::Moved { .. } => "store moved",
            Self::Stalled { .. } => "store stalled",
            Self::Unheard { .. } => "store unheard",
            Self::Unanswered { .. } => "store unanswered",
            Self::Persistence { .. } => "store persistence",
            Self::SlowCommand { .. } => "store slow command",
            Self::Role { .. } => "store role",
            Self::Counter { .. } => "store counter",
            Self::Time { .. } => "store time",
        }
    }
}
