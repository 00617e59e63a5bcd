//! The lab itself as a silent successor, through the adapter's own acquire, a token included.

use super::{Halt, Stage, Step};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Deed, LabDeed, Outcome, Source, What};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, OwnerName, Token};
use leaseproof_proc::clock::boot_now;
use leaseproof_store::{Done, Grant};
use std::time::Duration;

/// How long one use of the store by the lab may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often a release is asked for that nobody answered, or that could not be sent.
const RELEASE_TRIES: u32 = 4;

impl Stage<'_> {
    fn did(&mut self, deed: Deed, at: Moment, holder: Option<HolderId>, token: Option<Token>, outcome: Outcome) {
        let deed = LabDeed {
            deed,
            holder,
            token,
            outcome,
        };
        self.record(Source::Lab, Some(&OwnerName::lab()), at, What::LabDid(deed));
    }

    fn granted(&mut self, deed: Deed, done: Done<Grant>) -> Step {
        let grant = done.value;
        let (holder, token) = grant
            .as_ref()
            .map_or((None, None), |grant| (Some(grant.holder.clone()), Some(grant.token)));
        self.did(deed, done.during, holder, token, done.outcome);
        if grant.is_none() {
            let why = done.reason.unwrap_or_else(|| "no reason given".to_owned());
            return Err(Halt::Abandoned(format!(
                "leaseproof itself could not take the key {}: {why}",
                self.key
            )));
        }
        self.lab_grant = grant;
        // What ends again between two looks would have been seen by nobody.
        self.until_looked()
    }

    /// Takes the lease, waiting for it if need be.
    pub fn lab_takes(&mut self, ttl: Duration) -> Step {
        self.say("the lab takes the lease");
        let bound = boot_now().plus(self.takeover_bound());
        loop {
            let done = self.lease.acquire(&self.key, "lab", ttl, PATIENCE);
            if done.outcome == Outcome::Applied || boot_now() >= bound {
                return self.granted(Deed::Acquired, done);
            }
            self.pass(Duration::from_millis(10))?;
        }
    }

    /// Takes it for ten times the plan's TTL and never renews: any jump of it is the owner's. Since when it
    /// has it: a store may refuse the next holder for long (a lock-delay), and what waits for that is not late.
    pub fn lab_takes_long(&mut self) -> Step<BootNanos> {
        let ttl = self.long_ttl();
        self.lab_takes(ttl)?;
        Ok(boot_now())
    }

    /// Ten times the plan's TTL, or the most that the store grants.
    fn long_ttl(&self) -> Duration {
        let ttl = self.budget().ttl * 10;
        self.ask.store.ttl_ceiling.map_or(ttl, |ceiling| ttl.min(ceiling))
    }

    /// Frees what the lab holds; a grant that was taken from it is left alone.
    pub fn lab_frees(&mut self) -> Step<BootNanos> {
        let Some(grant) = self.lab_grant.take() else {
            return Ok(boot_now());
        };
        // What the lab keeps for want of an answer, nobody else gets for ten TTLs.
        for _ in 0..RELEASE_TRIES {
            let done = self.lease.release(&grant, PATIENCE);
            let (holder, token) = (Some(grant.holder.clone()), Some(grant.token));
            self.did(Deed::Released, done.during, holder, token, done.outcome);
            if done.outcome == Outcome::Applied || done.is_refused() {
                break;
            }
            self.lease.reconnect();
        }
        Ok(boot_now())
    }

    /// The fault `key-deleted`.
    pub fn lab_deletes(&mut self) -> Step {
        self.say("the lease is removed");
        let done = self.admin.delete(&self.key);
        self.did(Deed::Deleted, done.during, None, None, done.outcome);
        match done.outcome {
            Outcome::Applied => Ok(()),
            _ => Err(Halt::Abandoned("leaseproof could not remove the lease".to_owned())),
        }
    }

    /// The fault `key-stolen`.
    pub fn lab_steals(&mut self) -> Step {
        self.say("the lease is given to another");
        let ttl = self.long_ttl();
        let done = self.admin.steal(&self.key, "lab", ttl);
        self.granted(Deed::Stole, done)
    }

    /// Acquires and frees the lease for its token alone.
    pub fn lab_token(&mut self) -> Step<Token> {
        let ttl = self.budget().ttl;
        self.lab_takes(ttl)?;
        let token = self.lab_grant.as_ref().map(|grant| grant.token);
        self.lab_frees()?;
        token.ok_or_else(|| Halt::Abandoned("the store gave no token".to_owned()))
    }

    /// A write by the lab with this token.
    pub fn lab_writes(&mut self, token: Token) -> Step {
        self.witness
            .replay(token)
            .map(drop)
            .map_err(|error| Halt::Abandoned(error.to_string()))
    }

    /// Replays an old token.
    pub fn replay(&mut self, token: Token) -> Step {
        self.say("an old token is replayed");
        self.lab_writes(token)
    }

    /// Kills the witness with SIGKILL and starts it again on its own journal.
    pub fn restart_witness(&mut self) -> Step {
        self.witness
            .kill_and_restart()
            .map(drop)
            .map_err(|error| Halt::Abandoned(error.to_string()))
    }
}
