//! A fleet on a store that answers as it is told to.

use super::*;
use crate::protocol::{Loss, Policy};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::Outcome;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_store::{Answered, Done, Grant, Operation, Refusal, Ticket, What};
use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const PATIENT: Duration = Duration::from_secs(30);

/// How the store answers about a key.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mood {
    /// As a store does.
    Sound,
    /// The connection is lost with each request: nobody knows.
    Lost,
    /// Nothing is answered, until the time-out.
    Silent,
    /// A renewal is refused.
    Refusing,
    /// The answer takes a while.
    Slow,
    /// The answer comes when the TTL is over.
    Late,
    /// Nothing is granted until somebody mends the store.
    Unmended,
    /// It panics.
    Broken,
}

#[derive(Default)]
struct World {
    moods: HashMap<String, Mood>,
    held: HashMap<String, HolderId>,
    token: u64,
    log: Vec<(&'static str, String)>,
    /// When something was asked for last.
    asked: BootNanos,
    rung: bool,
    /// How many lines there are.
    lines: usize,
}

#[derive(Clone, Default)]
struct Told(Arc<(Mutex<World>, Condvar)>);

struct Fake {
    store: Told,
    waiting: VecDeque<(Ticket, What, BootNanos)>,
}

impl Told {
    fn with<T>(&self, then: impl FnOnce(&mut World) -> T) -> T {
        then(&mut self.0.0.lock().expect("no panic"))
    }

    fn mood(&self, key: &str, mood: Mood) {
        self.with(|world| world.moods.insert(key.to_owned(), mood));
    }

    /// How many requests of this kind there were.
    fn count(&self, verb: &str, key: &str) -> usize {
        self.with(|world| world.log.iter().filter(|it| it.0 == verb && it.1 == key).count())
    }

    fn fleet(&self, ttl: Duration) -> Fleet {
        let budget = crate::Budget::new(ttl, 200 * MS, MS).with_renew_timeout(150 * MS);
        let store = "redis://127.0.0.1:1".parse().expect("a URL");
        self.with(|world| world.lines += 1);
        let line = Fake {
            store: self.clone(),
            waiting: VecDeque::new(),
        };
        Fleet::over(Box::new(line), &store, &budget.assert().expect("it holds")).expect("a thread")
    }
}

struct Ring(Told);

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.0.with(|world| world.rung = true);
        self.0.0.1.notify_all();
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = self.store.0.0.lock().map(|mut world| world.lines -= 1);
    }
}

fn done<T>(outcome: Outcome, value: Option<T>, refusal: Option<Refusal>) -> Done<T> {
    Done {
        outcome,
        value,
        refusal,
        reason: (outcome != Outcome::Applied).then(|| "as told".to_owned()),
        during: Moment::exact(BootNanos(1)),
        store_time: None,
        needs_mending: false,
    }
}

fn refused_or<T>(is: bool, value: T, refusal: Refusal) -> Done<T> {
    if is {
        done(Outcome::Applied, Some(value), None)
    } else {
        done(Outcome::NotApplied, None, Some(refusal))
    }
}

impl Pipelined for Fake {
    fn room(&self) -> usize {
        // A small one, so that what waits for room is met.
        4_usize.saturating_sub(self.waiting.len())
    }

    fn put(&mut self, ticket: Ticket, operation: Operation<'_>, timeout: Duration) {
        let (verb, key) = match &operation {
            Operation::Acquire { key, .. } => ("acquire", (*key).to_owned()),
            Operation::Renew { grant, .. } => ("renew", grant.key.clone()),
            Operation::Release { grant } => ("release", grant.key.clone()),
        };
        let now = boot_now();
        let (mood, what) = self.store.with(|world| {
            world.log.push((verb, key.clone()));
            world.asked = now;
            let mood = world.moods.get(&key).copied().unwrap_or(Mood::Sound);
            let lost = matches!(mood, Mood::Lost | Mood::Silent);
            let what = match operation {
                Operation::Acquire { .. } if mood == Mood::Unmended => What::Acquire(Done {
                    needs_mending: true,
                    ..done(Outcome::NotApplied, None, None)
                }),
                Operation::Acquire { .. } if lost => What::Acquire(done(Outcome::Unknown, None, None)),
                Operation::Renew { .. } if lost => What::Renew(done(Outcome::Unknown, None, None)),
                Operation::Release { .. } if lost => What::Release(done(Outcome::Unknown, None, None)),
                Operation::Acquire { holder, .. } => {
                    world.token += 1;
                    let holder = HolderId::from(format!("{holder}#{}", world.token));
                    let free = !world.held.contains_key(&key);
                    if free {
                        world.held.insert(key.clone(), holder.clone());
                    }
                    let token = Token(world.token);
                    What::Acquire(refused_or(free, Grant { key, holder, token }, Refusal::Held))
                }
                Operation::Renew { grant, .. } => {
                    let holds = world.held.get(&key) == Some(&grant.holder) && mood != Mood::Refusing;
                    What::Renew(refused_or(holds, (), Refusal::NotTheHolder))
                }
                Operation::Release { grant } => {
                    let holds = world.held.get(&key) == Some(&grant.holder);
                    if holds {
                        world.held.remove(&key);
                    }
                    What::Release(refused_or(holds, (), Refusal::Gone))
                }
            };
            (mood, what)
        });
        let at = match mood {
            Mood::Silent => now.plus(timeout),
            Mood::Slow => now.plus(100 * MS),
            Mood::Late => now.plus(1200 * MS),
            Mood::Broken => panic!("as told"),
            _ => now,
        };
        self.waiting.push_back((ticket, what, at));
    }

    fn turn(&mut self, wait: Duration, answers: &mut Vec<Answered>) {
        let (lock, changed) = &*self.store.0;
        let wait = if self.waiting.is_empty() { wait } else { MS };
        let world = lock.lock().expect("no panic");
        let (mut world, _) = changed
            .wait_timeout_while(world, wait, |world| !world.rung)
            .expect("no panic");
        world.rung = false;
        drop(world);
        let now = boot_now();
        for (ticket, what, at) in std::mem::take(&mut self.waiting) {
            if at <= now {
                answers.push(Answered { ticket, what });
            } else {
                self.waiting.push_back((ticket, what, at));
            }
        }
    }

    fn bell(&self) -> Waker {
        Waker::from(Arc::new(Ring(self.store.clone())))
    }
}

/// Waits for it, and fails where it doesn't come.
fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = boot_now().plus(PATIENT);
    while !is() {
        assert!(boot_now() < end, "it never came: {what}");
        std::thread::sleep(5 * MS);
    }
}

#[test]
fn many_leases_ok() {
    let store = Told::default();
    let fleet = store.fleet(6000 * MS);
    let keys: Vec<String> = (0..100).map(|number| format!("k{number}")).collect();
    let leases = fleet.acquire_all(&keys, |options| options);
    let leases: Vec<Lease> = leases.into_iter().map(|lease| lease.expect("granted")).collect();
    let before: Vec<BootNanos> = leases.iter().map(Lease::valid_until).collect();
    until("all renewed", || {
        leases
            .iter()
            .zip(&before)
            .all(|(lease, before)| lease.valid_until() > *before)
    });
    assert!(leases.iter().all(|lease| lease.permit().is_ok()));
    assert_eq!((fleet.tally().held, fleet.tally().lost), (100, 0));
    for lease in leases {
        lease.release().expect("released");
    }
    assert!(store.with(|world| world.held.is_empty()));
    assert_eq!((fleet.tally().held, fleet.tally().lost), (0, 0));
}

#[test]
fn a_held_lease_bad_is_not_granted() {
    let store = Told::default();
    let (fleet, other) = (store.fleet(6000 * MS), store.fleet(6000 * MS));
    let lease = fleet.acquire("a").expect("granted");
    let error = other
        .options("a")
        .wait_for(100 * MS)
        .acquire()
        .expect_err("another has it");
    assert!(matches!(&error, AcquireError::NotAcquired { .. }), "{error}");
    let token = lease.token();
    drop(lease);
    assert!(other.acquire("a").expect("it was given back").token() > token);
}

/// What no waiting mends is said at once, as it is of one lease that keeps itself.
#[test]
fn a_store_that_must_be_mended_bad_is_not_waited_for() {
    let store = Told::default();
    let fleet = store.fleet(6000 * MS);
    store.mood("a", Mood::Unmended);
    let error = fleet.options("a").wait_for(PATIENT).acquire().expect_err("refused");
    assert!(matches!(&error, AcquireError::Refused { .. }), "{error}");
    assert_eq!(store.count("acquire", "a"), 1);
    assert!(fleet.acquire("b").is_ok(), "the other is granted");
}

#[test]
fn a_refusal_bad_ends_one_and_gives_nothing_back() {
    let store = Told::default();
    let fleet = store.fleet(6000 * MS);
    let (a, b) = (
        fleet.acquire("a").expect("granted"),
        fleet.acquire("b").expect("granted"),
    );
    store.mood("a", Mood::Refusing);
    assert_eq!(a.wait_lost(PATIENT), Some(Loss::Refused));
    assert_eq!(
        a.permit().map(|it| it.token()).map_err(|error| error.loss),
        Err(Loss::Refused)
    );
    assert!(b.permit().is_ok(), "the other is held");
    drop(a);
    b.release().expect("released");
    assert_eq!(store.count("release", "a"), 0, "it is another's");
    assert_eq!(fleet.tally().lost, 1);
}

/// What is silent for one ends nobody else's belief, and its own ends by the clock.
#[test]
fn silence_bad_ends_one_and_ok_not_the_other() {
    let store = Told::default();
    let fleet = store.fleet(1500 * MS);
    for policy in [Policy::Strict, Policy::Patient] {
        let a = fleet.options("a").policy(policy).acquire().expect("granted");
        let b = fleet.options("b").policy(policy).acquire().expect("granted");
        store.mood("a", Mood::Silent);
        until("no permit", || a.permit().is_err());
        let loss = a.wait_lost(PATIENT);
        assert!(
            matches!(loss, Some(Loss::Unknown | Loss::Expired)),
            "{policy:?}: {loss:?}"
        );
        assert!(b.permit().is_ok(), "{policy:?}: the other is held");
        store.mood("a", Mood::Sound);
        drop(a);
        b.release().expect("released");
        store.with(|world| world.held.clear());
    }
}

/// Validity counts from before the request left, however long the answer took.
#[test]
fn validity_ok_counts_from_before_the_request() {
    let store = Told::default();
    store.mood("a", Mood::Slow);
    let fleet = store.fleet(6000 * MS);
    let lease = fleet.acquire("a").expect("granted");
    let mut last = BootNanos(0);
    for _ in 0..4 {
        let now = lease.valid_until();
        let asked = store.with(|world| world.asked);
        assert!(
            now <= asked.plus(6000 * MS).minus(50 * MS),
            "{now:?}, and it was asked at {asked:?}"
        );
        assert!(now > last, "it was renewed");
        last = now;
        until("renewed", || lease.valid_until() > last);
    }
}

/// An outcome that nobody knows extends nothing; with the strict policy nothing is permitted until the store has said
/// that this very grant holds.
#[test]
fn unknown_ok_is_taken_up_again_by_the_stores_word() {
    let store = Told::default();
    let fleet = store.fleet(9000 * MS);
    let lease = fleet.acquire("a").expect("granted");
    let token = lease.token();
    store.mood("a", Mood::Lost);
    until("a doubt", || lease.permit().is_err());
    let until_then = lease.valid_until();
    std::thread::sleep(300 * MS);
    assert_eq!(lease.valid_until(), until_then, "nothing was extended");
    assert_eq!(lease.wait_lost(Duration::ZERO), None, "it is not lost");
    store.mood("a", Mood::Sound);
    until("held again", || lease.permit().is_ok());
    assert_eq!(lease.token(), token);
}

#[test]
fn unknown_bad_ends_by_the_clock() {
    let store = Told::default();
    let fleet = store.fleet(1500 * MS);
    let lease = fleet.acquire("a").expect("granted");
    store.mood("a", Mood::Lost);
    assert_eq!(lease.wait_lost(PATIENT), Some(Loss::Unknown));
    store.mood("a", Mood::Sound);
    std::thread::sleep(300 * MS);
    assert!(lease.permit().is_err(), "what is lost stays lost");
}

/// Renewals end with the guard, and with the work.
#[test]
fn zombies_bad_renew_nothing() {
    let store = Told::default();
    let fleet = store.fleet(6000 * MS);
    let lease = fleet.acquire("a").expect("granted");
    until("renewed", || store.count("renew", "a") > 0);
    drop(lease);
    until("given back", || store.with(|world| world.held.is_empty()));
    let renewals = store.count("renew", "a");
    std::thread::sleep(500 * MS);
    assert_eq!(store.count("renew", "a"), renewals);

    let silent = fleet.options("b").work_limit(MS).acquire().expect("granted");
    assert_eq!(silent.wait_lost(PATIENT), Some(Loss::WorkStopped));
    until("given back", || store.with(|world| world.held.is_empty()));
    let working = fleet.options("b").work_limit(PATIENT).acquire().expect("granted");
    until("renewed", || store.count("renew", "b") > 0);
    assert!(working.permit().is_ok());
}

#[test]
fn release_by_guard_ok() {
    let store = Told::default();
    let fleet = store.fleet(6000 * MS);
    let lease = fleet
        .options("a")
        .work_limit(MS)
        .release_by_guard()
        .acquire()
        .expect("granted");
    assert_eq!(lease.wait_lost(PATIENT), Some(Loss::WorkStopped));
    std::thread::sleep(300 * MS);
    assert_eq!(store.count("release", "a"), 0, "its guard is there");
    lease.release().expect("released");
    assert_eq!(store.count("release", "a"), 1);
}

/// A grant whose TTL is over when its answer comes is nobody's.
#[test]
fn a_late_grant_bad_is_given_back() {
    let store = Told::default();
    let fleet = store.fleet(1100 * MS);
    store.mood("a", Mood::Late);
    let waiting = fleet.options("a").start().expect("it is asked for");
    until("asked", || store.count("acquire", "a") == 1);
    store.mood("a", Mood::Sound);
    until("granted", || waiting.permit().is_ok());
    assert_eq!(store.count("release", "a"), 1, "the first was given back");
    assert_eq!(waiting.token(), Token(2));
}

#[test]
fn a_thread_that_panics_bad() {
    let store = Told::default();
    let fleet = store.fleet(6000 * MS);
    let a = fleet.acquire("a").expect("granted");
    store.mood("b", Mood::Broken);
    let b = fleet.options("b").start().expect("it is asked for");
    assert!(a.wait_lost(PATIENT).is_some() && b.wait_lost(PATIENT).is_some());
    assert!(a.permit().is_err());
    let error = fleet.acquire("c").expect_err("nobody would renew it");
    assert!(error.to_string().contains("the fleet's thread has ended"), "{error}");
}

#[test]
fn the_thread_ok_ends_with_the_last_lease() {
    let store = Told::default();
    let fleet = store.fleet(6000 * MS);
    let lease = fleet.acquire("a").expect("granted");
    drop(fleet);
    until("renewed", || store.count("renew", "a") > 1);
    assert!(lease.permit().is_ok());
    lease.release().expect("released");
    until("the thread has ended", || store.with(|world| world.lines == 0));
}

#[test]
fn stores_that_take_one_after_the_other_bad() {
    let budget = crate::Budget::new(6000 * MS, 200 * MS, MS).assert().expect("it holds");
    for url in ["sqlite:/tmp/locks.db", "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"] {
        let store: Store = url.parse().expect("a URL");
        let error = Fleet::new(&store, &budget).expect_err(url).to_string();
        assert!(error.contains("one Redis server"), "{error}");
    }
}
