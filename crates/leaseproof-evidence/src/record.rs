//! One thing that a file says.

use crate::place::Place;
use crate::says::Says;
use crate::when::{Interval, StampMeans, When};
use serde::Serialize;
use std::sync::Arc;

/// Who wrote the line, as far as the line or its envelopes say.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize)]
pub struct Author {
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Arc<str>>,
    /// The process's name: a syslog tag, a unit, a logger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Arc<str>>,
    /// Its pid, in whatever namespace it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The container's name or id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<Arc<str>>,
    /// The thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<Arc<str>>,
    /// The database of the server (Redis numbers them); `None`: the first, or the line does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<u32>,
}

/// One thing that a file says. A line may say several.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Record {
    /// The line.
    pub place: Place,
    /// What kind of writer this is.
    pub source: SourceKind,
    /// Who wrote it.
    pub author: Author,
    /// The stamp as it was written, on the file's own clock.
    pub when: Option<When>,
    /// The same moment on the writer's wall clock (UTC): the stamp itself, or what the file's anchors make of it. `None`
    /// where the file has no anchor. What is not known of the host's clock is *not* in it, since lines of one host share
    /// that: compare through [`Timeline`](crate::clock::Timeline).
    pub wall: Option<Interval>,
    /// What read it: `redisson`, `jvm-unified`; `plan` for an expression of the user's; `words` where only the general
    /// words of a line were understood, which is weaker than all others.
    pub by: &'static str,
    /// What the stamp means.
    pub means: StampMeans,
    /// What it says.
    pub says: Says,
    /// The line itself, at most [`RAW_MOST`] bytes of it.
    pub raw: Box<str>,
}

/// The longest line that is kept whole.
pub const RAW_MOST: usize = 1024;

/// The kind of writer that a record came from.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// An owner's own log, or that of its lock client: what it believes.
    Owner,
    /// A store's record or log: what was so.
    Store,
    /// A runtime: a JVM, Go, Node, CPython, .NET.
    Runtime,
    /// The kernel, the init system, control groups.
    Kernel,
    /// A container engine or Kubernetes.
    Container,
    /// A clock daemon and its tools.
    Clock,
    /// A proxy, sockets, counters of the network.
    Network,
    /// The protected resource: which writes it took.
    Resource,
    /// Events of leaseproof itself.
    Leaseproof,
}
