//! Processes: identity, pidfd, trees, threads, cgroups, /proc readings, clocks.
//!
//! Nothing here acts on a process that it wasn't given: a process is named by [`ProcessId`]
//! (pid and start tick), never by its command's name, and signalled through a [`pidfd::PidFd`].
//!
//! [`ProcessId`]: leaseproof_model::name::ProcessId

pub mod cgroup;
pub mod clock;
pub mod cpu;
pub mod family;
pub mod identity;
pub mod limits;
pub mod maps;
pub mod pidfd;
pub mod ports;
pub mod priority;
pub mod schedule;
mod sock_diag;
pub mod sockets;
pub mod stat;
pub mod threads;
