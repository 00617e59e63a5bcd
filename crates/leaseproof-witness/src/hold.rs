//! A request held: a write in flight, or the answer to a read.

use crate::lab::Shared;
use crate::message::Order;
use crate::witness::WitnessError;
use leaseproof_model::moment::Moment;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A hold on an owner's next write, or read; dropping it lets that go.
#[must_use = "dropping it lets the request go"]
pub struct HoldHandle {
    pub(crate) hold: u64,
    pub(crate) shared: Arc<Shared>,
    pub(crate) released: bool,
}

impl fmt::Debug for HoldHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HoldHandle")
            .field("hold", &self.hold)
            .finish_non_exhaustive()
    }
}

impl HoldHandle {
    /// When the held request arrived, if one is held already.
    #[must_use]
    pub fn held(&self) -> Option<Moment> {
        self.shared.lock().held.get(&self.hold).copied()
    }

    /// Waits until one is held.
    ///
    /// # Errors
    /// When none came within `timeout`, or the server ended.
    pub fn wait_held(&self, timeout: Duration) -> Result<Moment, WitnessError> {
        self.shared
            .wait(self.shared.lock(), timeout, |state| state.held.get(&self.hold).copied())
    }

    /// Lets it go: a write is decided now, a read answered. Without one, waits for it no longer.
    ///
    /// # Errors
    /// When the server has ended.
    pub fn release(mut self) -> Result<(), WitnessError> {
        self.released = true;
        self.shared.order(Order::Release { hold: self.hold })
    }
}

impl Drop for HoldHandle {
    fn drop(&mut self) {
        if !self.released {
            let _ = self.shared.order(Order::Release { hold: self.hold });
        }
    }
}
