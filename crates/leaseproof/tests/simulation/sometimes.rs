//! What must have happened in a run, or its properties were not tried.

macro_rules! sometimes {
    ($($variant:ident = $says:literal;)+) => {
        /// One thing that happens in some schedules.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Sometimes { $(#[doc = $says] $variant,)+ }

        impl Sometimes {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub fn says(self) -> &'static str {
                match self { $(Self::$variant => $says),+ }
            }
        }
    };
}

sometimes! {
    Calm = "nothing happened that the budget does not bear";
    CalmPause = "a holder was paused, for less than the margin, and lost nothing";
    Contended = "an owner was not granted what another held";
    TakenOver = "another was granted the lease after its holder had lost it";
    TakenFromPaused = "another was granted the lease while its former holder was paused";
    TakenFromDead = "another was granted the lease of a process that had ended";
    LostExpired = "lost: expired";
    LostRefused = "lost: refused";
    LostUnknown = "lost: unknown";
    LostWorkStopped = "lost: work stopped";
    LostFenced = "lost: fenced";
    LostReleased = "lost: released";
    AppliedUnanswered = "a renewal was applied and never answered in time";
    AppliedAfterTimeout = "a request was applied after nobody waited for it any more";
    AppliedTwice = "a request was applied twice";
    AppliedForTheDead = "a request was applied after its sender had ended";
    Overtaken = "a request arrived before one that was sent earlier";
    AnsweredTooLate = "a renewal was answered as applied after its own validity had passed";
    GrantedTooLate = "a grant was answered after its validity had passed, and given back";
    Orphan = "a grant was nobody's";
    TakenUpAgain = "a grant whose validity had passed was extended by the store, and valid again";
    LapsedExtended = "the store extended a grant that had lapsed there";
    ReleaseLost = "a release was lost";
    ReleaseRepeated = "a release was sent again";
    EndedWhileAsked = "the work ended the lease while a renewal was under way that was then applied";
    PermitByClock = "a permit was refused by the clock alone";
    PermitByLastLook = "a permit was refused by its last look alone";
    StoppedInPermit = "a thread was stopped between the look and the clock of a permit";
    StoppedBeforeWrite = "a write left after its permit had ended";
    StaleRefused = "the resource refused a stale write";
    Doubted = "an unknown outcome ended the belief in a lease that was valid still";
    DoubtLifted = "the store's word took a doubted lease up again";
    PermitByDoubt = "a permit was refused by a doubt alone";
    PolicyPatient = "an unknown outcome did not end a lease, and it was renewed later";
}

/// A set of them.
#[derive(Clone, Copy, Default)]
pub struct Seen(u64);

impl Seen {
    pub fn note(&mut self, it: Sometimes) {
        self.0 |= 1 << it as u64;
    }

    pub fn has(self, it: Sometimes) -> bool {
        self.0 & (1 << it as u64) != 0
    }
}
