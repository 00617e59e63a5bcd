//! What this library can promise, and what only the resource can.
//!
//! # Promised
//!
//! **No two permits of one key are valid at the same time**, under these assumptions:
//!
//! - *A1.* The owner's boot clock runs whenever the store's clock does. CLOCK_BOOTTIME runs while the machine is
//!   suspended. It may stand still in a paused virtual machine, and in one that was restored from a snapshot.
//! - *A2.* Within one TTL the two clocks move apart by no more than `max_clock_drift`. A store whose wall clock is
//!   stepped breaks this (Redis and PostgreSQL expire by the wall clock).
//! - *A3.* The store ends a grant no earlier than TTL − `early_slack` after it applied the last extension, and never
//!   grants a key twice before. A store that loses data, fails over with asynchronous replication, or evicts breaks
//!   this.
//!
//! *Why.* Let a request be sent at `s` by the owner's clock, and be applied. The store applied it at `a ≥ s`, and by
//! A3 grants the key to nobody else before `a + TTL − early_slack`. By A1 and A2 the owner's clock shows at least
//! `s + TTL − early_slack − max_clock_drift` then, and that is the moment up to which permits are given
//! ([`Terms::valid_until`](crate::protocol::Terms::valid_until)). Only an answer that says "applied" moves that moment,
//! and each by its own `s`; an answer that never came moves nothing. A permit is one comparison of that moment with
//! the clock, which is read after the moment: a pause anywhere before makes it refuse, a pause after it is the
//! resource's matter (below). A permit's deadline is that same moment.
//!
//! A release forbids permits before it is sent, for good: a renewal that is answered later brings none back, and a
//! permit that was being given meanwhile sees it ([`Validity`](crate::protocol::Validity)). What was permitted before
//! a release is to be done before it, too: a permit that is kept over it is over, whatever its deadline says. A later
//! grant has a greater token, since each store gives the next token in the same step in which it grants.
//!
//! The simulation and the exhaustive model in this crate's tests run the same [`protocol`](crate::protocol), not a
//! copy of it. They count validity from the answer, let unknown outcomes extend, ask no clock for a permit, release
//! before the permits end, and more, and find each. What a run of `leaseproof verify` can show of it is in
//! `cargo xtask truth`: owners built with the feature `flaws` are violated, and the sound one is proven.
//!
//! **Nothing outlives the work.** Renewals end when the guard is dropped, and, with
//! [`Options::work_limit`](crate::Options::work_limit), when the work shows no sign of life. A guard that is leaked
//! without a limit is renewed as long as the process lives.
//!
//! # Not promised
//!
//! **A pause between the check and the write.** A process can be stopped after a permit was given and before the
//! bytes leave, or the bytes can be late on the way. No owner can see that. Send [`Permit::token`](crate::Permit::token)
//! with each write and let the resource refuse a token below the highest that it has seen.
//!
//! **Where A1 to A3 do not hold** only that fence protects. It does so fully: of two writers the one with the smaller
//! token is refused once the other has written.
//!
//! **Availability.** With the strict policy a lost answer ends the lease. A pause beyond the margin always does.
