//! The lab's hands on several servers.

use super::crew::Crew;
use super::majority;
use super::observer::unreachable;
use super::owner::{Desk, TRY_TO_STEAL, grant};
use crate::clock::boot_now;
use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::patience::Patience;
use crate::redis::administrator::Administrator as One;
use crate::redis::client::Client;
use crate::url::RedisUrl;
use crate::{Administer, Grant};
use leaseproof_model::event::Outcome;
use leaseproof_model::moment::Moment;
use std::time::Duration;

impl Desk for One {
    fn client(&mut self) -> &mut Client {
        self.client_mut()
    }
}

/// The lab's access.
pub(crate) struct Administrator {
    url: RedisUrl,
    crew: Crew<One>,
    timeout: Duration,
}

impl Administrator {
    pub(crate) fn open(url: &RedisUrl, timeout: Duration) -> Result<Self, StoreError> {
        let ones = url.places.iter().map(|place| One::lazy(&url.alone(place), timeout));
        let lab = Self {
            url: url.clone(),
            crew: Crew::start(ones.collect::<Result<_, _>>()?)?,
            timeout,
        };
        lab.all(One::refuse_replica)?;
        Ok(lab)
    }

    /// What each server answers; a majority must.
    fn all<R: Send + 'static>(
        &self,
        job: impl Fn(&mut One) -> Result<R, StoreError> + Send + Sync + 'static,
    ) -> Result<Vec<R>, StoreError> {
        // A server may be asked several questions.
        let heard = self.crew.ask(&mut Patience::new(self.timeout * 2), job, |_| false);
        let (mut answers, mut first) = (Vec::new(), None);
        for answer in heard.into_iter().flatten() {
            match answer {
                Ok(answer) => answers.push(answer),
                Err(
                    error @ (StoreError::Refused { .. }
                    | StoreError::Replica { .. }
                    | StoreError::Unexpected(_)
                    | StoreError::OtherProtocol(_)),
                ) => {
                    return Err(error);
                }
                Err(error) => drop(first.get_or_insert(error)),
            }
        }
        if answers.len() < majority(self.crew.len()) {
            return Err(unreachable(&self.url, answers.len(), first));
        }
        Ok(answers)
    }
}

impl Administer for Administrator {
    fn prepare(&mut self) -> Result<(), StoreError> {
        self.all(One::prepare).map(|_| ())
    }

    fn steal(&mut self, key: &str, holder: &str, ttl: Duration) -> Done<Grant> {
        grant(&self.crew, TRY_TO_STEAL, key, holder, ttl, self.timeout)
    }

    fn delete(&mut self, key: &str) -> Done<()> {
        let asked = boot_now();
        let key = key.to_owned();
        // All are waited for: what is left on one of them would hold up the next owner.
        let job = move |one: &mut One| one.delete(&key);
        let heard = self.crew.ask(&mut Patience::new(self.timeout), job, |_| false);
        let during = Moment::between(asked, boot_now());
        let needed = majority(heard.len());
        let count = |is: fn(&Done<()>) -> bool| heard.iter().flatten().filter(|done| is(done)).count();
        let removed = count(|done| done.outcome == Outcome::Applied);
        let absent = count(|done| done.refusal == Some(Refusal::Gone));
        if removed >= needed {
            Done::applied((), during)
        } else if absent + removed >= needed {
            Done::refused(Refusal::Gone, during)
        } else {
            let reasons: Vec<String> = heard.iter().flatten().filter_map(|done| done.reason.clone()).collect();
            let words = format!("a majority did not answer: {}", reasons.join("; "));
            if count(|done| done.outcome == Outcome::NotApplied) == heard.len() {
                Done::failed(words, during)
            } else {
                Done::unknown(words, during)
            }
        }
    }

    fn clean(&mut self, keys: &[String]) -> Result<u64, StoreError> {
        let keys = keys.to_vec();
        let counts = self.all(move |one: &mut One| one.clean(&keys))?;
        // They are the same leases on each server.
        Ok(counts.into_iter().max().unwrap_or(0))
    }

    fn foreign_keys(&mut self, prefix: &str) -> Result<u64, StoreError> {
        let prefix = prefix.to_owned();
        let counts = self.all(move |one: &mut One| one.foreign_keys(&prefix))?;
        Ok(counts.into_iter().max().unwrap_or(0))
    }

    fn replica_of(&mut self) -> Result<Option<String>, StoreError> {
        Ok(self.all(One::replica_of)?.into_iter().flatten().next())
    }
}
