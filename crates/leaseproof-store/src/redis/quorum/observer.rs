//! Looking at a lease on several servers.

use super::combine::{Together, combine};
use super::crew::Crew;
use super::majority;
use crate::clock::boot_now;
use crate::error::StoreError;
use crate::patience::Patience;
use crate::redis::observer::{Observer as One, State};
use crate::seen::Seen;
use crate::url::RedisUrl;
use crate::{Listing, Observe, OneOfMany, one_by_one};
use leaseproof_model::event::Reading;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_model::store::StoreFacts;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often the servers are read until two readings in a row agree.
const ROUNDS: usize = 5;

/// Redlock's own bound on the drift of the servers' clocks: a hundredth of a TTL of three seconds, and 2 ms.
pub(crate) const DRIFT: Duration = Duration::from_millis(32);

/// The servers run at their own pace, and the last of a majority frees the lease.
const LATE: Duration = Duration::from_millis(50);

/// Opens one server's observer when it is needed.
struct Seat {
    url: RedisUrl,
    timeout: Duration,
    one: Option<One>,
}

/// What one server showed.
type Shown = (Moment, Reading, State);

/// One server's answer.
type Answer = Result<Shown, StoreError>;

impl Seat {
    fn one(&mut self) -> Result<&mut One, StoreError> {
        let one = match self.one.take() {
            Some(one) => one,
            None => One::open(&self.url, self.timeout)?,
        };
        Ok(self.one.insert(one))
    }

    fn read(&mut self, key: &[u8]) -> Answer {
        let one = self.one()?;
        let (moment, reading) = one.read_key(key)?;
        let state = one.state(key).ok_or(StoreError::Blocked)?;
        Ok((moment, reading, state))
    }
}

/// An observer.
pub(crate) struct Observer {
    url: RedisUrl,
    /// Started by the thread that reads: its threads are scheduled as that one is, which may be raised.
    crew: Option<Crew<Seat>>,
    timeout: Duration,
    facts: StoreFacts,
    seen: Seen<Vec<Option<State>>>,
    /// What each server showed last of a key.
    known: HashMap<String, Vec<Option<State>>>,
    /// Who held it last.
    last: HashMap<String, (HolderId, Option<Token>)>,
    epochs: Vec<Option<String>>,
    /// A question that was overtaken is not asked any more.
    newest: Arc<AtomicU64>,
}

/// The semantics of several servers, by those of one.
pub(crate) fn facts_of(kind: &str, of_one: StoreFacts) -> StoreFacts {
    StoreFacts {
        kind: kind.to_owned(),
        early_slack: DRIFT,
        late_bound: LATE,
        expired_means: "fewer than a majority of the servers show the holder: on the others the key is gone, or \
                        another's, by their own wall clocks"
            .to_owned(),
        grants_in_steps: true,
        may_lose_grants: Some(true),
        ..of_one
    }
}

impl Observer {
    pub(crate) fn open(url: &RedisUrl, timeout: Duration) -> Result<Self, StoreError> {
        let crew = start(url, timeout)?;
        let mut patience = Patience::new(timeout);
        let opened = crew.ask(
            &mut patience,
            |seat: &mut Seat| seat.one().map(|one| one.facts().clone()),
            |_| false,
        );
        let mut facts = Vec::new();
        let mut first = None;
        for answer in opened {
            match answer {
                Some(Ok(of_one)) => facts.push(of_one),
                // Not to be cured by waiting: a wrong password, a cluster.
                Some(Err(
                    error @ (StoreError::Refused { .. } | StoreError::Unexpected(_) | StoreError::OtherProtocol(_)),
                )) => return Err(error),
                Some(Err(error)) => drop(first.get_or_insert(error)),
                None => drop(first.get_or_insert(StoreError::TimedOut(timeout))),
            }
        }
        if facts.len() < majority(crew.len()) {
            return Err(unreachable(url, facts.len(), first));
        }
        // Invariant: a majority is one server at least.
        let of_one = facts.swap_remove(0);
        Ok(Self {
            epochs: vec![None; crew.len()],
            url: url.clone(),
            crew: None,
            timeout,
            facts: facts_of(url.kind(), of_one),
            seen: Seen::new(),
            known: HashMap::new(),
            last: HashMap::new(),
            newest: Arc::new(AtomicU64::new(0)),
        })
    }

    /// A reading of a key that may be no UTF-8.
    pub(crate) fn read_key(&mut self, key: &[u8]) -> Result<(Moment, Reading), StoreError> {
        let name = crate::inspect::shown_key(key);
        let mut patience = Patience::new(self.timeout);
        let mut before = self.last.remove(&name);
        for _ in 0..ROUNDS {
            let (moment, answers) = self.round(key, &mut patience)?;
            let readings: Vec<Option<&Reading>> = answers.iter().map(|it| it.as_ref().map(|(_, it, _)| it)).collect();
            let together = combine(&readings);
            let now = together.holder().map(|(holder, token)| (holder.clone(), token));
            if let Together::Open = together {
                return Err(StoreError::TimedOut(self.timeout));
            }
            // Two readings in a row that show a holder at the same servers leave a moment between them at which it had
            // all of these. One alone might have seen it arrive at one server after it had left another.
            if now.is_some() && now != before {
                before = now;
                continue;
            }
            if let Some(now) = now {
                self.last.insert(name.clone(), now);
            }
            return Ok((moment, self.reading(&name, moment, together, &answers)));
        }
        Err(StoreError::Unexpected(format!(
            "the servers changed in each of {ROUNDS} readings of {name}"
        )))
    }

    /// Asks all servers once.
    fn round(&mut self, key: &[u8], patience: &mut Patience) -> Result<(Moment, Vec<Option<Shown>>), StoreError> {
        if self.crew.is_none() {
            self.crew = Some(start(&self.url, self.timeout)?);
        }
        // Invariant: set above.
        let crew = self.crew.as_ref().expect("the crew was just started");
        let asked = boot_now();
        let mine = self.newest.fetch_add(1, Ordering::SeqCst) + 1;
        let (key, newest) = (key.to_vec(), Arc::clone(&self.newest));
        let job = move |seat: &mut Seat| (newest.load(Ordering::SeqCst) == mine).then(|| seat.read(&key));
        let heard = crew.ask(patience, job, |heard: &[Option<Option<Answer>>]| {
            let readings: Vec<Option<&Reading>> = heard
                .iter()
                .map(|it| it.as_ref()?.as_ref()?.as_ref().ok().map(|(_, reading, _)| reading))
                .collect();
            combine(&readings) != Together::Open
        });
        let moment = Moment::between(asked, boot_now());
        let mut answers = Vec::with_capacity(heard.len());
        let mut errors = Vec::new();
        for answer in heard {
            answers.push(match answer.flatten() {
                Some(Ok(answer)) => Some(answer),
                Some(Err(error)) => {
                    errors.push(error);
                    None
                }
                None => None,
            });
        }
        let known = answers.iter().flatten().count();
        if known < majority(answers.len()) && !errors.is_empty() {
            // What is wrong with the key or with our rights is the same everywhere.
            let worst = errors
                .iter()
                .position(|error| !matches!(error, StoreError::Unreachable { .. }));
            let error = errors.swap_remove(worst.unwrap_or(0));
            return Err(match error {
                error @ (StoreError::Refused { .. } | StoreError::Unexpected(_) | StoreError::OtherProtocol(_)) => {
                    error
                }
                error => unreachable(&self.url, known, Some(error)),
            });
        }
        Ok((moment, answers))
    }

    fn reading(&mut self, name: &str, moment: Moment, together: Together, answers: &[Option<Shown>]) -> Reading {
        let known = self
            .known
            .entry(name.to_owned())
            .or_insert_with(|| vec![None; answers.len()]);
        for (number, answer) in answers.iter().enumerate() {
            if let Some((_, reading, state)) = answer {
                known[number] = Some(state.clone());
                if reading.epoch.is_some() {
                    self.epochs[number].clone_from(&reading.epoch);
                }
            }
        }
        Reading {
            previous: self.seen.note(name, moment.earliest, known.clone()),
            held: match together {
                Together::Held(held) => Some(held),
                Together::Free | Together::Open => None,
            },
            // Counters run ahead: an attempt that got no majority has counted, too.
            counter: None,
            // Each has a clock of its own.
            server_ns: None,
            epoch: epoch(&self.epochs),
        }
    }
}

fn start(url: &RedisUrl, timeout: Duration) -> Result<Crew<Seat>, StoreError> {
    let seats = url.places.iter().map(|place| Seat {
        url: url.alone(place),
        timeout,
        one: None,
    });
    Crew::start(seats.collect())
}

/// The epochs of all servers, shortened; one that was never heard is left open.
fn epoch(epochs: &[Option<String>]) -> Option<String> {
    epochs.iter().flatten().next()?;
    let short = |epoch: &Option<String>| {
        epoch
            .as_deref()
            .map_or("?".to_owned(), |it| it.chars().take(8).collect())
    };
    Some(epochs.iter().map(short).collect::<Vec<String>>().join("+"))
}

pub(super) fn unreachable(url: &RedisUrl, known: usize, first: Option<StoreError>) -> StoreError {
    let why = match first {
        Some(StoreError::Unreachable { url, why }) => format!(": {url}: {why}"),
        Some(error) => format!(": {error}"),
        None => String::new(),
    };
    StoreError::Unreachable {
        url: url.to_string(),
        why: format!(
            "{known} of {} servers answer, and that is no majority{why}",
            url.places.len()
        ),
    }
}

impl Observe for Observer {
    fn facts(&self) -> &StoreFacts {
        &self.facts
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        self.read_key(key.as_bytes())
    }

    fn read_keys(&mut self, keys: &[&[u8]]) -> Result<Vec<OneOfMany>, StoreError> {
        one_by_one(keys, |key| self.read_key(key))
    }

    fn leases_below(&mut self, prefix: &str, most: usize) -> Result<Option<Listing>, StoreError> {
        let prefix = prefix.to_owned();
        let job = move |seat: &mut Seat| seat.one()?.leases_below(&prefix, most);
        // Each step of a server has a time-out of its own.
        let crew = start(&self.url, self.timeout)?;
        let heard = crew.ask(&mut Patience::new(self.timeout * 10), job, |_| false);
        let (mut all, mut keys, mut errors) = (Listing::default(), BTreeSet::new(), Vec::new());
        let mut known = 0;
        for answer in heard.into_iter().flatten() {
            match answer {
                Ok(listing) => {
                    let listing = listing.unwrap_or_default();
                    keys.extend(listing.keys);
                    all.more |= listing.more;
                    all.not_text = all.not_text.max(listing.not_text);
                    known += 1;
                }
                Err(error) => errors.push(error),
            }
        }
        if known < majority(crew.len()) {
            return Err(unreachable(&self.url, known, errors.into_iter().next()));
        }
        all.more |= keys.len() > most;
        all.keys = keys.into_iter().take(most).collect();
        Ok(Some(all))
    }
}
