//! What can happen next.

use super::state::{Flight, Grant, NOW, Owner, Permits, Said, State, TTL, Wish};
use leaseproof::protocol::{Answer, Change, Step, Terms};
use leaseproof::{Loss, Token};

/// What is broken on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Broken {
    Nothing,
    /// Validity is counted from the answer.
    ValidityFromAnswer,
    /// An unknown outcome counts as applied.
    UnknownExtends,
    /// A refusal counts as applied.
    RefusalIgnored,
    /// A permit does not look a second time.
    OneLook,
    /// A release leaves before the permits end.
    ReleaseFirst,
}

/// One thing that happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    Tick,
    /// A tick that the clock of this owner loses.
    Lost(usize),
    /// The thread that asks comes to its turn.
    Turn(usize),
    /// The store gets the request with this place.
    Arrive(usize),
    /// The same, and it is to arrive once more.
    ArriveTwice(usize),
    /// The request with this place is lost.
    Lose(usize),
    /// The answer is heard.
    Hear(usize),
    /// Nothing was heard in time, whether something is under way or not.
    TimeOut(usize),
    /// Nobody was there to take the request.
    Nobody(usize),
    /// The work gives the lease up.
    GiveUp(usize),
    /// The first look of a permit.
    Look(usize),
    /// The clock and the last look of a permit.
    Permit(usize),
    /// The process ends, and another is started.
    Crash(usize),
}

/// How far a search goes: all at once would be too many states.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// At most so many requests are under way.
    pub flights: usize,
    /// A request may arrive twice.
    pub doubles: bool,
    /// A clock may lose a tick within a TTL.
    pub drift: bool,
    /// Processes end.
    pub crashes: bool,
    /// A thread may stop within a permit.
    pub looks: bool,
}

/// What became of a permit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    None,
    Refused,
    /// With this token.
    Permit(usize, Token),
}

impl State {
    /// All that can happen.
    pub fn moves(&self, bounds: Bounds) -> Vec<Move> {
        let mut moves = vec![Move::Tick];
        if bounds.drift && self.steady == 0 {
            moves.extend([Move::Lost(0), Move::Lost(1)]);
        }
        for (at, owner) in self.owners.iter().enumerate() {
            let room = self.flights.len() < bounds.flights;
            if owner.asked.is_some() {
                moves.push(Move::TimeOut(at));
                if owner.answer.is_some() {
                    moves.push(Move::Hear(at));
                }
                // Its request has not been taken by anybody yet.
                if self
                    .flights
                    .iter()
                    .any(|it| usize::from(it.owner) == at && it.awaited && it.fresh)
                {
                    moves.push(Move::Nobody(at));
                }
            } else if room && !matches!(owner.protocol.clone().next(NOW), Step::Sleep(_)) {
                moves.push(Move::Turn(at));
            }
            if owner.protocol.held().is_some() && room {
                moves.push(Move::GiveUp(at));
            }
            match (owner.look, owner.live()) {
                (Some(_), _) => moves.push(Move::Permit(at)),
                (None, Some(_)) if bounds.looks => moves.push(Move::Look(at)),
                (None, _) => {}
            }
            if bounds.crashes {
                moves.push(Move::Crash(at));
            }
        }
        for place in 0..self.flights.len() {
            moves.extend([Move::Arrive(place), Move::Lose(place)]);
            if bounds.doubles && self.flights[place].fresh {
                moves.push(Move::ArriveTwice(place));
            }
        }
        moves
    }

    /// What is so after it.
    pub fn after(&self, it: Move, terms: &Terms, broken: Broken) -> (Self, Given) {
        let mut next = self.clone();
        let mut given = Given::None;
        match it {
            Move::Tick => next.tick(None),
            Move::Lost(at) => next.tick(Some(at)),
            Move::Turn(at) => next.turn(at, terms),
            Move::Arrive(place) => next.arrive(place, false),
            Move::ArriveTwice(place) => next.arrive(place, true),
            Move::Lose(place) => {
                next.flights.remove(place);
            }
            Move::Hear(at) => {
                let said = next.owners[at].answer.expect("it is under way");
                next.hear(at, Some(said), broken);
            }
            Move::TimeOut(at) => next.hear(at, None, broken),
            Move::Nobody(at) => {
                next.flights.retain(|it| usize::from(it.owner) != at || !it.awaited);
                next.owners[at].not_applied();
            }
            Move::GiveUp(at) => next.give_up(at, broken),
            Move::Look(at) => next.owners[at].look = next.owners[at].seen(),
            Move::Permit(at) => given = next.permit(at, broken),
            Move::Crash(at) => {
                next.owners[at] = Owner::new(terms);
                next.forget(at);
            }
        }
        (next, given)
    }

    fn turn(&mut self, at: usize, terms: &Terms) {
        let owner = &mut self.owners[at];
        match owner.protocol.next(NOW) {
            Step::Acquire => self.send(at, Wish::Acquire),
            Step::Renew => {
                let (token, _) = owner.protocol.held().expect("only what is held is renewed");
                self.send(at, Wish::Renew(token));
            }
            Step::Sleep(_) => {}
            // It was given back, or is another's: the next one.
            Step::Over(_) => {
                let look = owner.look;
                *owner = Owner {
                    look,
                    ..Owner::new(terms)
                };
            }
        }
    }

    fn send(&mut self, at: usize, wish: Wish) {
        self.owners[at].asked = Some(NOW);
        self.put(at, wish, true);
    }

    fn put(&mut self, at: usize, wish: Wish, awaited: bool) {
        self.flights.push(Flight {
            owner: u8::from(at == 1),
            wish,
            awaited,
            fresh: true,
        });
    }

    /// The store gets a request, perhaps not for the last time.
    fn arrive(&mut self, place: usize, again: bool) {
        let flight = self.flights[place];
        if again {
            self.flights[place].fresh = false;
            self.flights[place].awaited = false;
        } else {
            self.flights.remove(place);
        }
        let ours = |token: Token| {
            self.store
                .is_some_and(|it| it.owner == flight.owner && it.token == token)
        };
        let said = match flight.wish {
            Wish::Acquire if self.store.is_some() => Said::Refused,
            Wish::Acquire => {
                self.counter = Token(self.counter.0 + 1);
                self.store = Some(Grant {
                    owner: flight.owner,
                    token: self.counter,
                    left: TTL,
                });
                Said::Granted(self.counter)
            }
            Wish::Renew(token) | Wish::Release(token) if !ours(token) => Said::Refused,
            Wish::Renew(token) => {
                self.store = Some(Grant {
                    owner: flight.owner,
                    token,
                    left: TTL,
                });
                Said::Applied
            }
            Wish::Release(_) => {
                self.store = None;
                Said::Applied
            }
        };
        // Of two answers the first counts.
        let owner = &mut self.owners[usize::from(flight.owner)];
        if flight.awaited && owner.answer.is_none() {
            owner.answer = Some(said);
        }
    }

    fn hear(&mut self, at: usize, said: Option<Said>, broken: Broken) {
        self.forget(at);
        let owner = &mut self.owners[at];
        let sent = owner.asked.expect("it waits");
        let sent = if broken == Broken::ValidityFromAnswer {
            NOW
        } else {
            sent
        };
        owner.asked = None;
        owner.answer = None;
        if owner.protocol.held().is_none() {
            match said {
                Some(Said::Granted(token)) => {
                    let change = owner.protocol.granted(sent, NOW, token);
                    owner.follow(change);
                    if change == Change::None {
                        // It is nobody's, or came after the end: given back.
                        self.put(at, Wish::Release(token), false);
                    }
                }
                _ => owner.protocol.not_granted(NOW),
            }
            return;
        }
        let answer = match said {
            Some(Said::Granted(_) | Said::Applied) => Answer::Applied,
            Some(Said::Refused) if broken == Broken::RefusalIgnored => Answer::Applied,
            Some(Said::Refused) => Answer::Refused,
            None if broken == Broken::UnknownExtends => Answer::Applied,
            None => Answer::Unknown,
        };
        let (token, _) = owner.protocol.held().expect("it is held");
        let change = owner.protocol.renewed(sent, NOW, answer);
        owner.follow(change);
        if let Step::Over(loss) = owner.protocol.next(NOW) {
            owner.permits = Permits::None;
            if loss.gives_back() {
                self.put(at, Wish::Release(token), false);
            }
        }
    }

    fn give_up(&mut self, at: usize, broken: Broken) {
        let owner = &mut self.owners[at];
        let (token, _) = owner.protocol.held().expect("it is held");
        owner.protocol.end(Loss::Released);
        if broken != Broken::ReleaseFirst {
            owner.permits = Permits::None;
        }
        owner.asked = None;
        owner.answer = None;
        self.forget(at);
        self.put(at, Wish::Release(token), false);
    }

    fn permit(&mut self, at: usize, broken: Broken) -> Given {
        let owner = &mut self.owners[at];
        let look = owner.look.take();
        match (look, owner.permits) {
            // A look at one grant is not a look at the next.
            (Some((token, until)), Permits::Until(still, _)) if NOW < until && still == token => {
                Given::Permit(at, token)
            }
            (Some((token, until)), _) if NOW < until && broken == Broken::OneLook => Given::Permit(at, token),
            _ => Given::Refused,
        }
    }

    /// Nobody waits for the answers to what is under way.
    fn forget(&mut self, at: usize) {
        for flight in self.flights.iter_mut().filter(|it| usize::from(it.owner) == at) {
            flight.awaited = false;
        }
    }
}

impl Owner {
    fn follow(&mut self, change: Change) {
        match change {
            Change::None => {}
            Change::Extend { token, until } => self.permits = Permits::Until(token, until),
            Change::Doubt => self.permits = Permits::Doubted,
            Change::End => self.permits = Permits::None,
        }
    }

    fn seen(&self) -> Option<(Token, leaseproof::BootNanos)> {
        match self.permits {
            Permits::Until(token, until) => Some((token, until)),
            Permits::None | Permits::Doubted => None,
        }
    }

    fn not_applied(&mut self) {
        let sent = self.asked.take().expect("it waits");
        self.answer = None;
        if self.protocol.held().is_some() {
            let change = self.protocol.renewed(sent, NOW, Answer::NotApplied);
            self.follow(change);
        } else {
            self.protocol.not_granted(NOW);
        }
    }
}
