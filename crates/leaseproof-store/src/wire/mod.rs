//! The way to a server: bytes behind a gate, TLS, and how a request on it fails. Shared by every
//! adapter whose store is reached by a network.

mod failed;
mod stream;
mod tls;

pub(crate) use failed::Failed;
pub(crate) use stream::{Gate, Gated};
#[cfg(feature = "postgres")]
pub(crate) use stream::{secured, tcp};
pub(crate) use tls::Tls;
