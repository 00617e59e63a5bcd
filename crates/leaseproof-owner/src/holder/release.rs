//! The end: the work first, then the lease.

use super::Holder;
use crate::flaw::Flaw;
use crate::say::Say;
use leaseproof_model::event::{Outcome, OwnerEvent};
use leaseproof_store::Grant;

/// A release that nobody answered is asked for again, since it may not have arrived.
const RELEASE_TRIES: u32 = 3;

impl Holder {
    /// Asked to end: the work first, then the lease.
    pub(super) fn end(&mut self) {
        self.stop_worker();
        let Some(belief) = self.belief.take().filter(|belief| !belief.ghost) else {
            if self.held_before {
                self.release_blindly();
            }
            return;
        };
        let token = self.said_token(belief.grant.token);
        let grant = belief.grant;
        let said = |event| {
            Say::now(event)
                .token(token)
                .with("grant", Some(grant.holder.as_str()))
                .with("thread", Some("holder"))
        };
        let timeout = self.settings.renew_timeout;
        let mut reason = None;
        for _ in 0..RELEASE_TRIES {
            let done = match (&self.flawed, self.settings.flaw) {
                (Some(flawed), Some(Flaw::BlindRelease)) => flawed.release_blindly(&grant.key, timeout),
                _ => self.lease.release(&grant, timeout),
            };
            if done.outcome == Outcome::Applied {
                said(OwnerEvent::Released).out();
                self.renew_like_a_zombie(&grant);
                return;
            }
            let refused = done.is_refused();
            reason = done.reason;
            if refused {
                break;
            }
            self.lease.reconnect();
        }
        said(OwnerEvent::Lost).reason(reason.unwrap_or_default()).out();
    }

    pub(super) fn release_blindly(&self) {
        if let (Some(flawed), Some(Flaw::BlindRelease)) = (&self.flawed, self.settings.flaw) {
            // Whatever it comes to: this owner doesn't look.
            let _ = flawed.release_blindly(&self.settings.key, self.settings.renew_timeout);
        }
    }

    /// The flaw of a renewal that nobody ended.
    fn renew_like_a_zombie(&mut self, grant: &Grant) {
        if !self.has(Flaw::ZombieRenewer) {
            return;
        }
        for _ in 0..2 {
            std::thread::sleep(self.settings.heartbeat);
            self.attempt += 1;
            let said = |event| {
                Say::now(event)
                    .token(Some(grant.token))
                    .with("attempt", Some(self.attempt))
                    .with("thread", Some("renewer"))
            };
            said(OwnerEvent::RenewSent).out();
            let _ = self.lease.renew(grant, self.settings.ttl, self.settings.renew_timeout);
            said(OwnerEvent::Renewed).out();
        }
    }

    pub(super) fn stop_worker(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.stop();
        }
    }
}
