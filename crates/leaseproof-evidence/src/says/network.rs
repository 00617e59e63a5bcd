//! What is said about connections.

use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// Who ended a connection, by a proxy's word.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhoEnded {
    /// The client, by closing or resetting.
    Client,
    /// The server, by closing, resetting or refusing.
    Server,
    /// The client's silence, by the proxy's time-out.
    ClientSilence,
    /// The server's silence in an open exchange of data, by the proxy's time-out.
    ServerSilence,
    /// The proxy's time-out, before the server was connected or answered: the server was slow, or did not run.
    ServerLate,
    /// The proxy itself.
    Proxy,
    /// Nobody: a normal end.
    Normal,
}

/// The timer that a socket runs.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimerKind {
    /// It sends again what was not acknowledged.
    Retransmit,
    /// It probes an idle connection.
    Keepalive,
    /// It probes a window of zero: the peer does not read.
    ZeroWindow,
    /// It waits out a closed connection.
    TimeWait,
}

/// What is said about connections.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkSays {
    /// A connection or request through a proxy ended.
    Ended {
        /// By whom.
        who: WhoEnded,
        /// The proxy's flags: `cD`, `UC`.
        flags: Arc<str>,
        /// How long it had lived; the stamp says whether it is the begin or the end.
        took: Option<Duration>,
        /// The client's address.
        client: Option<Arc<str>>,
        /// The server's name or address.
        server: Option<Arc<str>>,
        /// The status that was answered.
        status: Option<u16>,
    },
    /// A connection was reset.
    Reset {
        /// In the source's words.
        what: Arc<str>,
    },
    /// A connection was cut since it was idle.
    IdleCut {
        /// In the source's words.
        what: Arc<str>,
    },
    /// Something took too long.
    TimedOut {
        /// In the source's words.
        what: Arc<str>,
    },
    /// A connection between two members of the store: no owner's way.
    PeerLost {
        /// In the source's words.
        what: Arc<str>,
    },
    /// A connection was refused.
    Refused {
        /// In the source's words.
        what: Arc<str>,
    },
    /// A socket, at this moment.
    Socket {
        /// Its state: `ESTAB`.
        state: Arc<str>,
        /// This end.
        local: Arc<str>,
        /// The other end.
        peer: Arc<str>,
        /// Its timer: kind, what is left, tries.
        timer: Option<(TimerKind, Duration, u32)>,
        /// Bytes not yet acknowledged or read: receive, send.
        queued: (u64, u64),
        /// Last sent, this long ago.
        last_sent: Option<Duration>,
        /// Last received, this long ago.
        last_received: Option<Duration>,
        /// Segments sent again over its life.
        retransmits: Option<u64>,
        /// Held back by the peer's window for this long.
        window_limited: Option<Duration>,
    },
    /// A connection that a firewall tracks, at this moment.
    Tracked {
        /// Its state.
        state: Arc<str>,
        /// It will be forgotten after this long.
        left: Duration,
        /// From, to.
        from_to: (Arc<str>, Arc<str>),
    },
    /// A counter at this moment (or, where `delta`, since the last look of the same tool).
    Counter {
        /// Its name.
        name: Arc<str>,
        /// Its value.
        value: u64,
        /// Whether it is a difference.
        delta: bool,
    },
}

impl NetworkSays {
    /// A short name for counts.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ended { .. } => "network ended",
            Self::Reset { .. } => "network reset",
            Self::IdleCut { .. } => "network idle cut",
            Self::TimedOut { .. } => "network timed out",
            Self::PeerLost { .. } => "network peer lost",
            Self::Refused { .. } => "network refused",
            Self::Socket { .. } => "network socket",
            Self::Tracked { .. } => "network tracked",
            Self::Counter { .. } => "network counter",
        }
    }
}
