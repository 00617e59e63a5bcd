//! The known ways in which an owner is broken.

use std::fmt;

macro_rules! flaws {
    ($($(#[$doc:meta])* $variant:ident = $name:literal $says:literal;)+) => {
        /// One known way in which an owner is broken, and sound in every other.
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Flaw {
            $(#[doc = $says] $variant),+
        }

        impl Flaw {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name that people type.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// What is broken, in one sentence.
            #[must_use]
            pub fn describe(self) -> &'static str {
                match self { $(Self::$variant => $says),+ }
            }
        }
    };
}

flaws! {
    SwallowFailure = "swallow-failure" "a renewal that failed is noted, and then treated as if it had succeeded";
    SilentRetain = "silent-retain" "once acquired, the lease is believed for ever, and no failure is ever told";
    NoDeadline = "no-deadline" "no clock of its own: only a refusal by the store ends the belief";
    ValidityFromAnswer = "validity-from-answer" "validity is counted from the answer, not from the request";
    LateNotice = "late-notice" "a loss is noticed, and told to the work, only at 2 x TTL";
    BlindRenew = "blind-renew" "the renewal extends the key, whoever holds it";
    Revive = "revive" "the renewal puts the lease back when the key is gone";
    BlindRelease = "blind-release" "the release deletes the key, whoever holds it";
    NoTtl = "no-ttl" "acquires without a TTL";
    TwoStepAcquire = "two-step-acquire" "acquires in one step and sets the TTL in another, 100 ms later";
    WallClock = "wall-clock" "times its lease by the wall clock";
    ZombieRenewer = "zombie-renewer" "goes on renewing for two heartbeats after it released";
    FalseLoss = "false-loss" "gives up after any pause without asking the store";
    NoToken = "no-token" "writes without a fencing token";
    TokenReused = "token-reused" "acquires without raising the fencing token";
    ClaimsUnrenewed = "claims-unrenewed" "claims each renewal and sends none";
    GhostGrant = "ghost-grant" "a waiter that was paused claims a grant that the store never gave";
    OrphanWorker = "orphan-worker" "the worker has no deadline of its own and works on when its parent is stopped";
    FillUnversioned = "fill-unversioned" "fills a cache with the value that it read, and does not say the value's version";
}

impl Flaw {
    /// The one with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.as_str() == name)
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
