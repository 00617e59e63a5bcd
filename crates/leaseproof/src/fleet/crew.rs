//! The thread of a fleet: it looks at the leases whose moment has come, puts what they want on its way, and hands them
//! their answers. It never waits for one of them.

use crate::duty::abandon;
use crate::event::Event;
use crate::keeper::LATE;
use crate::shared::SLICE;
use leaseproof_model::clock::BootNanos;
use leaseproof_store::boot_now;
use leaseproof_store::{Answered, Pipelined};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::office::{Mail, Office};
use super::seat::{Next, Seat};

/// The shortest sleep: what is due within it leaves together.
const TICK: Duration = Duration::from_millis(1);

/// See the module.
pub(super) struct Crew {
    store: Box<dyn Pipelined>,
    office: Arc<Office>,
    seats: HashMap<u64, Box<Seat>>,
    /// When a seat is to be looked at.
    agenda: BinaryHeap<Reverse<(BootNanos, u64)>>,
    /// Who waits for room. What is held goes before what is wanted.
    keep: VecDeque<u64>,
    get: VecDeque<u64>,
    mail: Vec<Mail>,
    answers: Vec<Answered>,
}

impl Crew {
    pub(super) fn new(store: Box<dyn Pipelined>, office: Arc<Office>) -> Self {
        Self {
            store,
            office,
            seats: HashMap::new(),
            agenda: BinaryHeap::new(),
            keep: VecDeque::new(),
            get: VecDeque::new(),
            mail: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Until nobody has a lease of it, or could get one.
    pub(super) fn run(mut self) {
        loop {
            let closed = self.read_mail();
            self.look_at_agenda();
            self.put();
            if closed && self.seats.is_empty() {
                return;
            }
            self.turn();
        }
    }

    fn read_mail(&mut self) -> bool {
        let closed = self.office.take(&mut self.mail);
        let now = boot_now();
        for mail in std::mem::take(&mut self.mail) {
            let id = match mail {
                Mail::Join(id, duty) => {
                    self.seats.insert(id, Box::new(Seat::new(*duty)));
                    id
                }
                Mail::Stir(id) => id,
            };
            self.look_at(id, now);
        }
        closed
    }

    fn look_at_agenda(&mut self) {
        let now = boot_now();
        while let Some(&Reverse((at, id))) = self.agenda.peek()
            && at <= now
        {
            self.agenda.pop();
            if self.seats.get(&id).is_some_and(|seat| seat.wake == Some(at)) {
                self.look_at(id, now);
            }
        }
    }

    /// Does what a seat wants, as far as that is to wait.
    fn look_at(&mut self, id: u64, now: BootNanos) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        let next = seat.next(now, &self.office.counts);
        let before = seat.wake.take();
        let queue = match next {
            Next::Sleep(at) => {
                seat.wake = Some(at);
                if before != Some(at) {
                    self.agenda.push(Reverse((at, id)));
                }
                return;
            }
            Next::Wait => return,
            Next::Gone => {
                self.seats.remove(&id);
                return;
            }
            Next::Keep => &mut self.keep,
            Next::Get => &mut self.get,
        };
        if !std::mem::replace(&mut seat.queued, true) {
            queue.push_back(id);
        }
    }

    /// Puts on its way whatever there is room for.
    fn put(&mut self) {
        while self.store.room() > 0 {
            let Some(id) = self.keep.pop_front().or_else(|| self.get.pop_front()) else {
                return;
            };
            let Some(seat) = self.seats.get_mut(&id) else { continue };
            seat.queued = false;
            // It may want something else by now.
            let now = boot_now();
            match seat.next(now, &self.office.counts) {
                Next::Keep | Next::Get => {
                    seat.put(id, &mut *self.store, &self.office.counts);
                    self.look_at(id, now);
                }
                _ => self.look_at(id, now),
            }
        }
    }

    fn turn(&mut self) {
        let began = boot_now();
        let wait = match self.agenda.peek() {
            Some(Reverse((at, _))) => at.since(began).clamp(TICK, SLICE),
            None => SLICE,
        };
        self.store.turn(wait, &mut self.answers);
        let by = boot_now().since(began).saturating_sub(wait);
        if by > LATE {
            Event::Paused { by }.trace("(fleet)");
            self.seats.values().for_each(|seat| seat.paused(by));
        }
        for Answered { ticket, what } in std::mem::take(&mut self.answers) {
            if let Some(seat) = self.seats.get_mut(&ticket.whose) {
                seat.answered(ticket.number, what, &self.office.counts);
                self.look_at(ticket.whose, boot_now());
            }
        }
    }
}

impl Drop for Crew {
    /// Should it panic, nobody waits for it for ever.
    fn drop(&mut self) {
        self.office.end();
        for seat in self.seats.values() {
            abandon(&seat.duty.shared);
        }
    }
}
