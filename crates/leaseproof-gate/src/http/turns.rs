//! The lanes of all keys, and the tasks that wait for their turn in them.

use super::refusal::Refusal;
use crate::lane::{Ended, Lane, Offer, Start};
use crate::marks::{Found, Wishes};
use leaseproof_model::name::Token;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::timeout_at;

/// All keys.
#[derive(Debug)]
pub struct Turns {
    turns: Mutex<HashMap<Vec<u8>, Arc<Turn>>>,
    most: usize,
    flights: Arc<AtomicUsize>,
}

/// One key: its lane, and whoever waits for a change of it.
#[derive(Debug)]
pub struct Turn {
    lane: Mutex<Lane>,
    changed: Notify,
}

/// A write that is under way. When it is dropped without a word, nobody knows what became of it.
#[derive(Debug)]
pub struct Flight {
    turn: Arc<Turn>,
    token: Token,
    settle: Duration,
    answered: bool,
    flights: Arc<AtomicUsize>,
}

impl Turns {
    /// The lanes of these marks. After an unclean end each of them waits for `settle` first.
    #[must_use]
    pub fn new(found: Found, settle: Duration, most: usize) -> Self {
        let doubt = (!found.clean).then(|| Instant::now() + settle);
        let turns = found
            .marks
            .into_iter()
            .map(|(key, mark)| (key, Arc::new(Turn::new(Lane::remembered(mark, doubt)))))
            .collect();
        Self {
            turns: Mutex::new(turns),
            most,
            flights: Arc::default(),
        }
    }

    fn of(&self, key: &[u8]) -> Result<Arc<Turn>, Refusal> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(key) {
            return Ok(Arc::clone(turn));
        }
        if turns.len() >= self.most {
            return Err(Refusal::TooManyKeys(self.most));
        }
        let turn = Arc::new(Turn::new(Lane::default()));
        turns.insert(key.to_vec(), Arc::clone(&turn));
        Ok(turn)
    }

    /// Returns once a write may go on; by then its mark is on disk and nothing with a smaller token is under way.
    ///
    /// # Errors
    /// When it must not go on.
    pub async fn admit(
        &self,
        marks: &Wishes,
        key: &[u8],
        token: Token,
        (patience, settle): (Duration, Duration),
    ) -> Result<Flight, Refusal> {
        let until = tokio::time::Instant::now() + patience;
        let turn = self.of(key)?;
        let offer = turn.lane().offer(token);
        match offer {
            Offer::Stale(highest) => return Err(Refusal::Stale { token, highest }),
            Offer::Known => {}
            Offer::WriteDown => {
                // Whoever is under way with a smaller token, or waits with one, may want to know.
                turn.changed.notify_waiters();
                marks.raise(key, token).await.map_err(Refusal::NotWritten)?;
                turn.lane().written_down(token);
            }
        }
        loop {
            let changed = turn.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            let now = Instant::now();
            let start = turn.lane().start(token, now);
            let (wake, by) = match start {
                Start::Go => {
                    self.flights.fetch_add(1, Ordering::SeqCst);
                    return Ok(Flight {
                        turn: Arc::clone(&turn),
                        token,
                        settle,
                        answered: false,
                        flights: Arc::clone(&self.flights),
                    });
                }
                Start::Stale(highest) => return Err(Refusal::Stale { token, highest }),
                Start::After(by) => (until, Some(by)),
                Start::Settling(settled) => (until.min(settled.into()), None),
                Start::NotDurable => return Err(Refusal::Blocked { by: None }),
            };
            // Nobody is under way while it settles: only time ends that.
            if timeout_at(wake, changed).await.is_err() && tokio::time::Instant::now() >= until {
                return Err(Refusal::Blocked { by });
            }
        }
    }

    /// How many writes are under way.
    pub fn flights(&self) -> usize {
        self.flights.load(Ordering::SeqCst)
    }

    /// Whether nothing is under way, and nothing in doubt, at any key.
    pub fn are_at_rest(&self) -> bool {
        let now = Instant::now();
        let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.values().all(|turn| turn.lane().is_at_rest(now))
    }
}

impl Turn {
    fn new(lane: Lane) -> Self {
        Self {
            lane: Mutex::new(lane),
            changed: Notify::new(),
        }
    }

    fn lane(&self) -> MutexGuard<'_, Lane> {
        self.lane.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// The write's token.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Returns the greatest token once one that is greater than this write's was offered.
    pub async fn surpassed(&self) -> Token {
        loop {
            let changed = self.turn.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let highest = self.turn.lane().highest();
            if let Some(highest) = highest.filter(|it| *it > self.token) {
                return highest;
            }
            changed.await;
        }
    }

    /// The upstream answered, or was never sent anything.
    pub fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let how = if self.answered {
            Ended::Answered
        } else {
            Ended::Unknown(Instant::now() + self.settle)
        };
        self.turn.lane().end(self.token, how);
        self.turn.changed.notify_waiters();
        self.flights.fetch_sub(1, Ordering::SeqCst);
    }
}
