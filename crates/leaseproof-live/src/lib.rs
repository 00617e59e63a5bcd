//! Read-only views of leases in use: one look ([`inspect`]), and one that never ends ([`watch`]). [`mend`]: what the
//! caller has to mend before either can look; [`in_force`]: the judgement that both make of a TTL.
//!
//! Both depend on *observe* alone, so that read-only is a matter of types.

pub mod in_force;
pub mod inspect;
pub mod mend;
pub mod watch;
