//! True time, and what comes next in it.

use super::mutant::Mutant;
use super::network::{Heard, Request};
use super::owner::Owner;
use super::plan::{Plan, nanos};
use super::random::Random;
use super::resource::Resource;
use super::sometimes::{Seen, Sometimes};
use super::store::Store;
use super::tally::Tally;
use super::watch::{Property, Watch};
use super::worker::Work;
use leaseproof::Token;
use leaseproof::protocol::Answer;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Adds a line to the trace, if there is one.
macro_rules! note {
    ($world:expr, $($words:tt)+) => {
        if $world.trace.is_some() {
            let line = format!($($words)+);
            $world.say(line);
        }
    };
}
pub(super) use note;

/// What can happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Keeper {
        owner: usize,
        life: u32,
        lease: usize,
        turn: u32,
    },
    Worker {
        owner: usize,
        life: u32,
        turn: u32,
    },
    Deliver(u32),
    Answer(u32, Heard),
    Timeout(u32),
    Write {
        owner: usize,
        life: u32,
        lease: usize,
        token: Token,
        number: u64,
    },
    Stale {
        owner: usize,
        life: u32,
        lease: usize,
    },
    Pause,
    Crash,
    Start(usize),
    StorePause,
    Intrude,
}

/// One schedule.
pub struct World {
    pub plan: Plan,
    pub mutant: Mutant,
    pub random: Random,
    /// Nanoseconds of true time.
    pub now: u64,
    pub owners: Vec<Owner>,
    pub store: Store,
    pub resource: Resource,
    pub requests: Vec<Request>,
    pub watch: Watch,
    pub seen: Seen,
    pub permits: u64,
    pub trace: Option<Vec<String>>,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    events: Vec<Event>,
    store_paused: u64,
}

/// A schedule in which a property does not hold.
pub struct Failure {
    pub seed: u64,
    pub property: Property,
    /// What happened, up to the failure.
    pub trace: Vec<String>,
}

/// Runs the schedule of a seed, and counts it.
///
/// # Errors
/// The property that does not hold.
pub fn run(seed: u64, mutant: Mutant, tally: &mut Tally) -> Result<(), Property> {
    let mut world = World::new(seed, mutant, &|_| {});
    world.run();
    if let Some(property) = world.watch.failed {
        return Err(property);
    }
    tally.add(world.seen, world.events.len() as u64, world.permits, world.store.grants);
    Ok(())
}

/// Runs a seed's failing schedule again, with as few kinds of faults as still make it fail so.
pub fn replay(seed: u64, mutant: Mutant, property: Property) -> Failure {
    type Less = fn(&mut Plan);
    let simpler: [(&str, Less); 15] = [
        ("two owners", |plan| plan.owners.truncate(2)),
        ("no crash", |plan| plan.crashes = 0),
        ("no pause of the store", |plan| plan.store_pauses = 0),
        ("no intruder", |plan| plan.intrusions = 0),
        ("no slow message", |plan| plan.slow = 0),
        ("no doubled message", |plan| plan.twice = 0),
        ("no reset", |plan| plan.reset = 0),
        ("somebody listens", |plan| plan.nobody = 0),
        ("no lost message", |plan| plan.lose = 0),
        ("no release", |plan| plan.release = 0),
        ("no stuck work", |plan| plan.stuck = 0),
        ("patient", |plan| plan.impatient = 0),
        ("no pause", |plan| plan.pauses = 0),
        ("no stopped thread", |plan| plan.stall = 0),
        ("no drift", |plan| {
            plan.store.fast = 0;
            plan.owners.iter_mut().for_each(|clock| clock.fast = 0);
        }),
    ];
    let mut kept: Vec<(&str, Less)> = Vec::new();
    let run = |steps: &[(&str, Less)], traced: bool| {
        let mut world = World::new(seed, mutant, &|plan| steps.iter().for_each(|(_, less)| less(plan)));
        world.trace = traced.then(Vec::new);
        world.run();
        world
    };
    for step in simpler {
        kept.push(step);
        if run(&kept, false).watch.failed != Some(property) {
            kept.pop();
        }
    }
    let world = run(&kept, true);
    let less: Vec<&str> = kept.iter().map(|(name, _)| *name).collect();
    let mut trace = vec![
        format!(
            "seed {seed}, mutant {}, still failing with: {}",
            mutant.as_str(),
            less.join(", ")
        ),
        format!("{:?}", world.plan.terms),
        format!("store {:?}, owners {:?}", world.plan.store, world.plan.owners),
    ];
    trace.extend(world.trace.unwrap_or_default());
    trace.push(format!("and so: {property}"));
    Failure { seed, property, trace }
}

impl World {
    fn new(seed: u64, mutant: Mutant, less: &dyn Fn(&mut Plan)) -> Self {
        let mut random = Random::new(seed);
        let mut plan = Plan::new(&mut random, mutant);
        less(&mut plan);
        let store = Store {
            clock: plan.store,
            grant: None,
            counter: 0,
            grants: 0,
            lazy: plan.lazy,
        };
        let mut world = Self {
            mutant,
            now: 0,
            owners: plan.owners.iter().map(|&clock| Owner::new(clock)).collect(),
            store,
            resource: Resource::new(mutant == Mutant::NoFence),
            requests: Vec::new(),
            watch: Watch::default(),
            seen: Seen::default(),
            permits: 0,
            trace: None,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            store_paused: 0,
            random,
            plan,
        };
        for owner in 0..world.owners.len() {
            let after = world.random.span(nanos(world.plan.terms.heartbeat));
            world.push(after, Event::Start(owner));
        }
        let faults = [
            (world.plan.pauses, Event::Pause),
            (world.plan.crashes, Event::Crash),
            (world.plan.store_pauses, Event::StorePause),
            (world.plan.intrusions, Event::Intrude),
        ];
        for (often, event) in faults.into_iter().filter(|(often, _)| *often > 0) {
            let after = world.random.below(2 * often);
            world.push(after, event);
        }
        world
    }

    fn run(&mut self) {
        if self.plan.calm {
            self.seen.note(Sometimes::Calm);
        }
        while let Some(Reverse((at, tie))) = self.queue.pop() {
            if at >= self.plan.ends || self.watch.failed.is_some() {
                break;
            }
            self.now = at;
            let event = self.events[usize::try_from(tie & u64::from(u32::MAX)).expect("32 bits")];
            self.happen(event);
        }
        if self.plan.calm && self.store.grants == 0 {
            self.watch.fail(Property::Availability);
        }
    }

    fn happen(&mut self, event: Event) {
        // What is to happen in a process that stands still happens when it goes on.
        let whose = match event {
            Event::Keeper { owner, life, .. }
            | Event::Worker { owner, life, .. }
            | Event::Stale { owner, life, .. } => Some((owner, life)),
            Event::Answer(request, _) | Event::Timeout(request) => {
                let request = &self.requests[request as usize];
                Some((request.owner, request.life))
            }
            _ => None,
        };
        if let Some((owner, life)) = whose {
            let it = &self.owners[owner];
            if it.life != life {
                return;
            }
            if it.paused > self.now {
                let mut at = it.paused;
                if let Event::Timeout(_) = event {
                    // It counts running time, and an answer that waits is read before.
                    at += 1 + self.random.below(nanos(self.plan.terms.renew_timeout));
                }
                self.push_at(at, event);
                return;
            }
        }
        match event {
            Event::Keeper { owner, lease, turn, .. } => {
                if self.owners[owner].leases[lease].turn == turn {
                    self.keep(owner, lease);
                }
            }
            Event::Worker { owner, turn, .. } => {
                if self.owners[owner].turn == turn {
                    self.work(owner);
                }
            }
            Event::Deliver(request) if self.store_paused > self.now => {
                self.push_at(self.store_paused, Event::Deliver(request));
            }
            Event::Deliver(request) => self.deliver(request),
            Event::Answer(request, heard) => self.answer(request, heard, false),
            Event::Timeout(request) => self.answer(request, Heard::Answer(Answer::Unknown), true),
            Event::Write {
                owner,
                life,
                lease,
                token,
                number,
            } => self.write(owner, life, lease, token, number),
            Event::Stale { owner, lease, .. } => self.fenced(owner, lease),
            Event::Pause => self.pause_one(),
            Event::Crash => self.crash_one(),
            Event::Start(owner) => {
                let it = &mut self.owners[owner];
                it.alive = true;
                it.work = Work::Begin;
                self.work(owner);
            }
            Event::Intrude => {
                note!(self, "resource: a write with a token of nobody here");
                self.resource.intrude(Token(self.store.counter + 1));
                let after = self.random.below(2 * self.plan.intrusions);
                self.push(after, event);
            }
            Event::StorePause => {
                self.store_paused = self.now + self.random.span(nanos(self.plan.terms.ttl));
                note!(self, "the store is paused until {}", self.store_paused);
                let after = self.random.below(2 * self.plan.store_pauses);
                self.push(after, event);
            }
        }
    }

    fn pause_one(&mut self) {
        let owner = self.random.below(self.owners.len() as u64) as usize;
        let span = if self.random.chance(500) {
            self.plan.pause
        } else {
            self.random.span(self.plan.pause)
        };
        self.pause(owner, span);
        let rest = if self.plan.calm {
            self.plan.pauses
        } else {
            self.random.below(2 * self.plan.pauses)
        };
        self.push(span + rest, Event::Pause);
    }

    fn pause(&mut self, owner: usize, span: u64) {
        let until = self.now + span;
        let now = self.owners[owner].clock.read(self.now);
        let it = &mut self.owners[owner];
        it.paused = it.paused.max(until);
        if self.plan.calm && it.leases.iter().any(|lease| now < lease.validity.until()) {
            self.seen.note(Sometimes::CalmPause);
        }
        note!(self, "owner {owner} is paused until {until}");
    }

    fn crash_one(&mut self) {
        let owner = self.random.below(self.owners.len() as u64) as usize;
        let it = &mut self.owners[owner];
        if it.alive {
            it.alive = false;
            it.life += 1;
            it.paused = 0;
            it.leases.clear();
            note!(self, "owner {owner} crashes");
            let after = self.random.span(nanos(self.plan.terms.ttl));
            self.push(after, Event::Start(owner));
        }
        let after = self.random.below(2 * self.plan.crashes);
        self.push(after, Event::Crash);
    }

    /// When a thread goes on with its next step: at once, or after it, or its process, was stopped.
    pub fn stop(&mut self, owner: usize) -> u64 {
        if !self.random.chance(self.plan.stall) {
            return self.now;
        }
        let span = self.random.span(nanos(self.plan.terms.ttl));
        if self.random.chance(300) {
            self.pause(owner, span);
        }
        self.now + span
    }

    /// Calls for a turn of a keeper that sleeps; one that is asking, or is stopped, comes to it by itself.
    pub fn call_keeper(&mut self, owner: usize, lease: usize, at: u64) {
        let life = self.owners[owner].life;
        let turn = self.owners[owner].leases[lease].turn;
        let event = Event::Keeper {
            owner,
            life,
            lease,
            turn,
        };
        self.push_at(at, event);
    }

    /// Calls for a turn of the thread that works, if it waits for news.
    pub fn wake(&mut self, owner: usize) {
        let it = &self.owners[owner];
        if matches!(it.work, Work::Await(_) | Work::Settle) {
            let (life, turn) = (it.life, it.turn);
            self.push(1, Event::Worker { owner, life, turn });
        }
    }

    pub fn push(&mut self, after: u64, event: Event) {
        self.push_at(self.now + after, event);
    }

    /// Of what happens at the same instant anything may be first.
    pub fn push_at(&mut self, at: u64, event: Event) {
        let tie = (self.random.next() << 32) | self.events.len() as u64;
        self.events.push(event);
        self.queue.push(Reverse((at, tie)));
    }

    pub fn say(&mut self, line: String) {
        let now = self.now;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{now:>14} {line}"));
        }
    }
}
