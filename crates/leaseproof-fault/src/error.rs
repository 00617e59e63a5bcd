//! Why a fault was not applied.

use crate::warden::WardenError;
use std::io;
use thiserror::Error;

/// Why a fault was not applied. Whatever had been done of it is undone.
#[derive(Debug, Error)]
pub enum FaultError {
    /// This host or this owner can't offer it.
    #[error("not offered here: {0}")]
    NotOffered(String),
    /// The warden doesn't know of it, so it was not begun (or taken back).
    #[error("the warden did not take the fault into its care: {0}")]
    Warden(#[from] WardenError),
    /// The kernel did not confirm it in time; it was undone.
    #[error("the kernel did not confirm the fault: {0}")]
    NotConfirmed(String),
    /// The owner ended before or meanwhile.
    #[error("the process that the fault was for is gone")]
    Gone,
    /// A system call failed; it was undone.
    #[error("failed to apply the fault: {0}")]
    Io(#[from] io::Error),
}
