//! The servers of a cluster: who has a key's slot, and being sent on.

use super::Client;
use crate::error::{Lasts, StoreError};
use crate::patience::Patience;
use crate::redis::link::unreachable;
use crate::redis::slots::{self, Redirect, Routes};
use crate::url::Place;
use crate::wire::Failed;
use redis::{Pipeline, Value, cmd, pipe};

/// How often a cluster may send us on with one question.
const REDIRECTS: usize = 5;

impl Client {
    /// Asks the server that has the key's slot; who is sent on by it goes on.
    pub(super) fn ask_cluster(
        &mut self,
        key: Option<&[u8]>,
        commands: &Pipeline,
        patience: &mut Patience,
    ) -> Result<Vec<Value>, Failed> {
        let slot = key.map(slots::slot);
        let mut asked_again = false;
        let mut on_its_way: Option<Place> = None;
        for _ in 0..REDIRECTS {
            let asking = on_its_way.is_some();
            let place = match on_its_way.take() {
                Some(place) => place,
                None => self.place_of(slot, patience).map_err(Failed::NotSent)?,
            };
            let answers = match self.exchange(&place, commands, asking, patience) {
                Ok(answers) => answers,
                // It is gone: another may have its slots by now.
                Err(Failed::NotSent(_)) if !asked_again && !asking => {
                    asked_again = true;
                    self.routes = Routes::default();
                    continue;
                }
                Err(failed) => {
                    self.routes = Routes::default();
                    return Err(failed);
                }
            };
            match Redirect::of(&answers, &place) {
                None => return Ok(answers),
                Some(Redirect::Moved(slot, place)) => self.routes.moved(slot, place),
                Some(Redirect::Ask(place)) => on_its_way = Some(place),
            }
        }
        Err(Failed::NotSent(unreachable(
            &self.url,
            &"its servers send us on and on for the key: its slots seem to be moving, try again later",
        )))
    }

    /// The server that has the slot.
    pub(super) fn place_of_slot(&mut self, slot: Option<u16>, patience: &mut Patience) -> Result<Place, StoreError> {
        if !self.routes.are_known() {
            self.find_routes(patience)?;
        }
        let why = "no server of the cluster has the key's slot: look at CLUSTER INFO";
        let place = self.routes.of(slot).cloned();
        place.ok_or_else(|| StoreError::refused(&self.url, why, Lasts::Passes))
    }

    /// Asks the servers of the URL, one after the other, for the cluster's slots.
    fn find_routes(&mut self, patience: &mut Patience) -> Result<(), StoreError> {
        let mut question = pipe();
        question.add_command(cmd("CLUSTER").arg("SLOTS").clone());
        self.check(question.cmd_iter())?;
        let mut first = None;
        for place in self.url.places.clone() {
            // One that is silent must leave some of the time for the next.
            let mut part = Patience::new(patience.left() / 2);
            let whole = part.left();
            let answers = self.exchange(&place, &question, false, &mut part);
            patience.take(whole.saturating_sub(part.left()));
            match answers.map_err(Failed::into_error) {
                Ok(answers) => {
                    let known = answers.first().and_then(|answer| Routes::parse(answer, &place));
                    // Who may not ask for the slots is told where each key is.
                    self.routes = known.unwrap_or_else(|| Routes::all_at(place));
                    return Ok(());
                }
                Err(error @ (StoreError::Unreachable { .. } | StoreError::TimedOut(_))) => {
                    first.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        // Invariant: a URL names one server at least.
        Err(first.expect("a server was asked"))
    }
}
