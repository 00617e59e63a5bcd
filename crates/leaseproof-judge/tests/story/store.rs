//! What the store shows.

use super::{LOOK, Ms, Story, TTL, about, at};
use leaseproof_model::event::{Held, Reading, Source, What};
use leaseproof_model::name::Token;

impl Story {
    fn look(&mut self, ms: Ms) -> &mut Self {
        let reading = Reading {
            previous: Some(at((ms - LOOK).max(0.0))),
            held: self.lease.clone(),
            counter: Some(Token(self.counter)),
            server_ns: None,
            epoch: Some("run".to_owned()),
        };
        self.last_look = ms;
        self.push(Source::Store, None, about(ms), What::Reading(reading))
    }

    /// A reading of a grant that began just before `ms`.
    pub fn granted(&mut self, ms: Ms, holder: &str, token: u64) -> &mut Self {
        self.granted_for(ms, holder, token, TTL)
    }

    pub fn granted_for(&mut self, ms: Ms, holder: &str, token: u64, ttl: Ms) -> &mut Self {
        self.granted_stating(ms, holder, token, ttl, None)
    }

    /// A grant of which the store states the TTL: what is left of it when it is first seen may be less.
    pub fn granted_stating(&mut self, ms: Ms, holder: &str, token: u64, ttl: Ms, stated: Option<Ms>) -> &mut Self {
        self.counter = self.counter.max(token);
        let expires = Some(about(ms - 2.0 + ttl));
        self.lease = Some(Held {
            holder: holder.into(),
            token: Some(Token(token)),
            expires,
            bound: None,
            ttl: stated.map(|ms| std::time::Duration::from_secs_f64(ms / 1000.0)),
            expired: false,
            granted: None,
            renewed: None,
            write_lock: false,
        });
        self.look(ms)
    }

    /// Changes the lease as the next reading shows it.
    pub fn shown(&mut self, ms: Ms, change: impl FnOnce(&mut Held)) -> &mut Self {
        change(self.lease.as_mut().expect("the story has a lease"));
        self.look(ms)
    }

    pub fn renewed(&mut self, ms: Ms) -> &mut Self {
        self.shown(ms, |held| held.expires = Some(about(ms - 2.0 + TTL)))
    }

    /// A lease of the past is seen renewed, whoever has it at the end of the story.
    pub fn renewed_at(&mut self, ms: Ms, holder: &str, token: u64) -> &mut Self {
        let (lease, counter) = (self.lease.clone(), self.counter);
        self.counter = token;
        self.granted(ms, holder, token);
        (self.lease, self.counter) = (lease, counter);
        self
    }

    /// The key is seen free.
    pub fn free(&mut self, ms: Ms) -> &mut Self {
        self.lease = None;
        self.look(ms)
    }

    /// The key was seen free at a time of the past, and the counter stood at 1, whatever is there at the end of the
    /// story.
    pub fn free_then(&mut self, ms: Ms) -> &mut Self {
        let (lease, counter) = (self.lease.take(), self.counter);
        self.counter = 1;
        self.look(ms);
        (self.lease, self.counter) = (lease, counter);
        self
    }

    /// The key is seen free, and the counter has moved on: a grant came and went between two looks.
    pub fn counted(&mut self, ms: Ms, counter: u64) -> &mut Self {
        self.counter = self.counter.max(counter);
        self.free(ms)
    }
}
