//! Read-only views of leases in use: one look ([`inspect`]), and one that never ends ([`watch`]).
//!
//! Both depend on *observe* alone, so that read-only is a matter of types.

pub mod inspect;
pub mod watch;
