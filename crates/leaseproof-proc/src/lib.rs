//! Processes: identity, pidfd, trees, threads, cgroups, /proc readings, clocks.

pub mod clock;
