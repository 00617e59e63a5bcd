//! What several servers show beside the lease: each for itself.

use super::majority;
use super::observer::{Observer, unreachable};
use crate::Observe;
use crate::error::StoreError;
use crate::inspect::{Allowed, Hints, Inspect};
use crate::redis::allow::ALLOWED;
use crate::redis::inspector::Inspector as One;
use crate::redis::tools;
use crate::url::{Place, RedisUrl};
use leaseproof_model::event::Reading;
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::store_view::{Attribute, Form, KeyForm, StoreView};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

const EACH: &str = "look at each server: leaseproof inspect redis://HOST:PORT KEY";

/// A look at several servers.
pub(crate) struct Inspector {
    url: RedisUrl,
    observer: Observer,
    /// Each server, or why there is none.
    ones: Vec<(Place, Result<One, String>)>,
}

impl Inspector {
    pub(crate) fn open(url: &RedisUrl, timeout: Duration) -> Result<Self, StoreError> {
        let observer = Observer::open(url, timeout)?;
        let one = |place: &Place| {
            let one = One::open(&url.alone(place), timeout).map_err(|error| error.to_string());
            (place.clone(), one)
        };
        Ok(Self {
            ones: url.places.iter().map(one).collect(),
            url: url.clone(),
            observer,
        })
    }

    /// Asks each server that was there; one that ends in an error is not asked again.
    fn each<R>(&mut self, mut question: impl FnMut(&Place, &mut One) -> Result<R, StoreError>) -> Vec<(Place, R)> {
        let mut answers = Vec::new();
        for (place, one) in &mut self.ones {
            let answer = match one {
                Ok(there) => question(place, there).map_err(|error| error.to_string()),
                Err(_) => continue,
            };
            match answer {
                Ok(answer) => answers.push((place.clone(), answer)),
                Err(why) => *one = Err(why),
            }
        }
        answers
    }
}

impl Observe for Inspector {
    fn facts(&self) -> &StoreFacts {
        self.observer.facts()
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        self.observer.read(key)
    }
}

impl Inspect for Inspector {
    fn allowed(&self) -> &'static [Allowed] {
        ALLOWED
    }

    fn form(&mut self, key: &[u8]) -> Result<KeyForm, StoreError> {
        let forms = self.each(|_, one| one.form(key));
        let known = forms.len();
        if known < majority(self.ones.len()) {
            return Err(unreachable(&self.url, known, None));
        }
        // What is foreign on one server can't be read there.
        let rank = |form: &KeyForm| match form.form {
            Form::Foreign(_) => 2,
            Form::Lease => 1,
            Form::Absent => 0,
        };
        let form = forms.into_iter().map(|(_, form)| form).max_by_key(rank);
        form.ok_or_else(|| unreachable(&self.url, 0, None))
    }

    fn read_key(&mut self, key: &[u8]) -> Result<(Moment, Reading), StoreError> {
        self.observer.read_key(key)
    }

    fn look(&mut self, key: &[u8], form: &KeyForm, hints: &Hints) -> Result<StoreView, StoreError> {
        let views = self.each(|_, one| {
            let view = one.look(key, form, hints)?;
            let (at, reading) = one.read_key(key)?;
            Ok((view, one.ttl_words(reading.held.as_ref(), at.latest), reading))
        });
        let needed = majority(self.ones.len());
        let mut attributes = vec![Attribute::plain(
            "servers",
            format!("{} of {} answer, {needed} are a majority", views.len(), self.ones.len()),
        )];
        let (mut refused, mut may_be_behind) = (Vec::new(), false);
        for (place, (view, ttl, reading)) in views {
            let holder = reading.held.map_or("nobody".to_owned(), |held| held.holder.to_string());
            attributes.push(Attribute::plain(&format!("{place} shows"), format!("{holder}; {ttl}")));
            attributes.extend(view.attributes.into_iter().map(|it| Attribute {
                name: format!("{place} {}", it.name),
                ..it
            }));
            refused.extend(view.refused.into_iter().map(|what| format!("{what} ({place})")));
            may_be_behind |= view.may_be_behind;
        }
        for (place, one) in &self.ones {
            if let Err(why) = one {
                attributes.push(Attribute::withheld(&place.to_string(), why.clone()));
            }
        }
        Ok(StoreView {
            connections: Shown::Withheld(EACH.to_owned()),
            slow_log: Shown::Withheld(EACH.to_owned()),
            may_be_behind,
            refused,
            ..StoreView::plain(&self.facts().kind, attributes, form)
        })
    }

    fn by_hand(&self, key: &[u8]) -> Vec<String> {
        let places = self.url.places.iter();
        places
            .flat_map(|place| tools::commands(&self.url.alone(place), None, key).into_iter().take(5))
            .collect()
    }
}
