//! One list of what a store must do, run on each store against the real thing. Owner and observer
//! share an adapter, so each promise is also read back by the store's own tools.

#[cfg(feature = "consul")]
mod consul_server;
#[cfg(feature = "etcd")]
mod etcd_server;
#[cfg(feature = "postgres")]
mod postgres_server;
mod redis_many;
mod redis_server;
mod rig;
#[cfg(feature = "zookeeper")]
mod zookeeper_server;

use leaseproof_model::event::Outcome;
use leaseproof_store::{Administer, Done, Grant, Refusal};
use redis_many::{Ensemble, Watched};
use redis_server::RedisServer;
use rig::{PATIENT, Plain, Rig, is_free};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Longer than any test: such a lease does not end by itself.
const LONG: Duration = Duration::from_secs(600);

type Case = (&'static str, fn(&Rig, &str));

const CASES: &[Case] = &[
    ("a grant shows holder, token and expiry", grant),
    ("a held lease is refused", refuse),
    ("only this very grant renews", renew),
    ("a lease ends by itself and a late holder is refused", expire),
    ("a late holder does not touch its successor", late),
    ("a released lease is free at once", release),
    ("tokens rise across release, expiry, removal and theft", tokens),
    ("a theft replaces the holder", steal),
    ("a removal leaves the counter", delete),
    ("a lease without TTL is seen as such", endless),
    ("a change is bracketed by the reading before", bracket),
    ("two clients race and never both win", race),
    ("clean-up removes only what it names", clean),
    ("foreign keys are counted", foreign),
    ("a store that does not answer is an outcome", unknown),
    ("a new connection holds the old grant", reconnect),
    ("names are text, whatever they hold", hostile),
];

fn run(store: &str, rig: &Rig) {
    for (number, (name, case)) in CASES.iter().enumerate() {
        println!("{store}: {name}");
        case(rig, &format!("canary/{number}"));
    }
}

#[test]
fn sqlite() {
    run("sqlite", &Rig::sqlite());
}

#[test]
fn redis() {
    match RedisServer::start() {
        Ok(server) => run("redis", &Rig::redis(server)),
        Err(why) => redis_server::skip("redis", &why),
    }
}

#[test]
fn redis_other() {
    match RedisServer::start_other() {
        Some(Ok(server)) => run("redis (other)", &Rig::redis(server)),
        Some(Err(why)) => redis_server::skip("redis_other", &why),
        None => redis_server::skip("redis_other", "LEASEPROOF_REDIS_OTHER names no other version"),
    }
}

#[test]
fn redis_sentinel() {
    // Longer than the list freezes a server: no failover is meant here.
    match Watched::start(Duration::from_secs(30)) {
        Ok(watched) => run("redis-sentinel", &Rig::redis_many(Ensemble::Watched(watched))),
        Err(why) => redis_server::skip("redis_sentinel", &why),
    }
}

#[test]
fn redis_cluster() {
    match redis_many::cluster() {
        Ok(servers) => run("redis-cluster", &Rig::redis_many(Ensemble::Cluster(servers))),
        Err(why) => redis_server::skip("redis_cluster", &why),
    }
}

#[test]
fn redlock() {
    match redis_many::independent() {
        Ok(servers) => run("redlock", &Rig::redis_many(Ensemble::Quorum(servers))),
        Err(why) => redis_server::skip("redlock", &why),
    }
}

#[cfg(feature = "zookeeper")]
#[test]
fn zookeeper() {
    match zookeeper_server::ZooKeeperServer::start() {
        Ok(server) => run("zookeeper", &Rig::zookeeper(server)),
        Err(why) => redis_server::skip("zookeeper", &why),
    }
}

#[cfg(feature = "consul")]
#[test]
fn consul() {
    match consul_server::ConsulServer::start() {
        Ok(server) => run("consul", &Rig::consul(server)),
        Err(why) => redis_server::skip("consul", &why),
    }
}

#[cfg(feature = "etcd")]
#[test]
fn etcd() {
    match etcd_server::EtcdServer::start() {
        Ok(server) => run("etcd", &Rig::etcd(server)),
        Err(why) => redis_server::skip("etcd", &why),
    }
}

#[cfg(feature = "etcd")]
#[test]
fn etcd_current() {
    match etcd_server::EtcdServer::start_version(etcd_server::Version::Current, &[]) {
        Ok(server) => run("etcd (current)", &Rig::etcd(server)),
        Err(why) => redis_server::skip("etcd_current", &why),
    }
}

/// Says that a store has no such thing, so that nobody takes the silence for a pass.
fn not_expressible(rig: &Rig, case: &str, why: &str) {
    println!("{}: {case}: not expressible: {why}", rig.url.kind());
}

/// The counter is at `count`, by the store's own tools; a store whose tokens are no counter has none.
#[track_caller]
fn plainly_counted(rig: &Rig, key: &str, count: u64) {
    assert_eq!(rig.plain_counter(key), rig.can.counts_tokens.then_some(count));
}

#[cfg(feature = "postgres")]
#[test]
fn postgres() {
    match Rig::postgres() {
        Ok(rig) => run("postgres", &rig),
        Err(why) => postgres_server::skip("postgres", &why),
    }
}

fn granted(done: Done<Grant>) -> Grant {
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    done.value.expect("a grant comes with applied")
}

#[track_caller]
fn applied<T: std::fmt::Debug>(done: &Done<T>) {
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    assert!(done.value.is_some() && done.refusal.is_none() && done.reason.is_none());
}

#[track_caller]
fn refused<T: std::fmt::Debug>(done: &Done<T>, why: Refusal) {
    assert_eq!(done.outcome, Outcome::NotApplied, "{done:?}");
    assert_eq!(done.refusal, Some(why), "{done:?}");
    assert!(done.value.is_none() && done.reason.is_some());
}

#[track_caller]
fn plainly_held_by(rig: &Rig, grant: &Grant) {
    let plain = Plain {
        holder: grant.holder.to_string(),
        token: grant.token.0,
    };
    assert_eq!(rig.plain(&grant.key), Some(plain));
}

fn grant(rig: &Rig, key: &str) {
    let mut observer = rig.observer();
    let facts = observer.facts().clone();
    let (_, before) = observer.read(key).expect("a reading");
    assert_eq!((before.held, before.previous), (None, None));
    let done = rig.owner().acquire(key, "a1", LONG, PATIENT);
    let during = done.during;
    let grant = granted(done);
    if rig.can.counts_tokens {
        assert_eq!(grant.token.0, 1);
    } else {
        not_expressible(
            rig,
            "the first token is 1",
            "tokens are numbers of the whole store's log, or the greatest of several counters",
        );
    }
    assert!(grant.holder.as_str().starts_with("a1#"));
    plainly_held_by(rig, &grant);
    let (at, reading) = observer.read(key).expect("a reading");
    assert!(at.earliest <= at.latest);
    assert_eq!(reading.counter, rig.can.counts_tokens.then_some(grant.token));
    assert!(reading.epoch.is_some());
    assert_eq!(reading.server_ns.is_some(), rig.can.shows_clock);
    let held = reading.held.expect("it is held");
    assert_eq!((held.holder, held.token), (grant.holder, Some(grant.token)));
    assert!(!held.expired);
    if facts.shows_expiry {
        assert_eq!(held.bound, None);
        // The two intervals for the one expiry must meet: counted from the grant, read from the store.
        let expires = held.expires.expect("it has a TTL");
        assert!(expires.latest >= during.earliest.plus(LONG).minus(facts.early_slack));
        assert!(expires.earliest <= during.latest.plus(LONG).plus(facts.late_bound));
    } else {
        not_expressible(rig, "when a grant will expire", "only the TTL that was granted shows");
        assert_eq!((held.expires, held.bound), (None, Some(LONG)));
    }
    assert_eq!(held.granted.is_some(), facts.exact_moments);
    if let Some(granted) = held.granted {
        assert!(during.earliest <= granted && granted <= during.latest);
        assert_eq!(held.renewed, Some(granted));
    }
}

fn refuse(rig: &Rig, key: &str) {
    let grant = granted(rig.owner().acquire(key, "a", LONG, PATIENT));
    refused(&rig.owner().acquire(key, "b", LONG, PATIENT), Refusal::Held);
    // The same name is another grant.
    refused(&rig.owner().acquire(key, "a", LONG, PATIENT), Refusal::Held);
    plainly_held_by(rig, &grant);
    plainly_counted(rig, key, 1);
}

fn renew(rig: &Rig, key: &str) {
    let (mut owner, mut observer) = (rig.owner(), rig.observer());
    let grant = granted(owner.acquire(key, "a", LONG, PATIENT));
    let expiry = |reading: leaseproof_model::event::Reading| reading.held.and_then(|held| held.expires);
    let before = expiry(observer.read(key).expect("a reading").1);
    let mut other = grant.clone();
    other.holder = format!("{}0", grant.holder).into();
    refused(&owner.renew(&other, LONG, PATIENT), Refusal::NotTheHolder);
    let mut other = grant.clone();
    other.token.0 += 1;
    refused(&owner.renew(&other, LONG, PATIENT), Refusal::NotTheHolder);
    refused(&owner.release(&other, PATIENT), Refusal::NotTheHolder);
    plainly_counted(rig, key, 1);
    if rig.can.renews_to_another_ttl {
        applied(&owner.renew(&grant, 2 * LONG, PATIENT));
        let after = expiry(observer.read(key).expect("a reading").1).expect("a TTL");
        assert!(after.earliest > before.expect("a TTL").latest.plus(LONG / 2));
    } else {
        not_expressible(rig, "a renewal to another TTL", "a lease keeps the TTL of its grant");
        // It was extended, and not to what was asked: nobody may believe in that.
        let done = owner.renew(&grant, 2 * LONG, PATIENT);
        assert_eq!((done.outcome, done.refusal), (Outcome::Unknown, None), "{done:?}");
    }
    plainly_held_by(rig, &grant);
    let mut absent = grant;
    absent.key += "/absent";
    refused(&owner.renew(&absent, LONG, PATIENT), Refusal::Gone);
}

fn expire(rig: &Rig, key: &str) {
    let (mut owner, mut observer) = (rig.owner(), rig.observer());
    let grant = granted(owner.acquire(key, "a", rig.can.short, PATIENT));
    let (at, reading) = rig.wait_for(&mut *observer, key, is_free);
    let counter = rig.can.counts_tokens.then_some(grant.token);
    assert_eq!(reading.counter, counter, "the counter outlives the lease");
    if let Some(held) = reading.held {
        assert!(held.write_lock, "an expiry is proven under the write lock");
        assert!(held.expires.expect("a TTL").earliest <= at.latest);
    }
    refused(&owner.renew(&grant, LONG, PATIENT), Refusal::Gone);
    refused(&owner.release(&grant, PATIENT), Refusal::Gone);
    assert!(is_free(&observer.read(key).expect("a reading").1), "nothing revived it");
}

fn late(rig: &Rig, key: &str) {
    let (mut owner, mut observer) = (rig.owner(), rig.observer());
    let old = granted(owner.acquire(key, "a", rig.can.short, PATIENT));
    rig.wait_for(&mut *observer, key, is_free);
    let new = granted(rig.owner().acquire(key, "a", LONG, PATIENT));
    assert_ne!(old.holder, new.holder);
    refused(&owner.renew(&old, LONG, PATIENT), Refusal::NotTheHolder);
    refused(&owner.release(&old, PATIENT), Refusal::NotTheHolder);
    plainly_held_by(rig, &new);
}

fn release(rig: &Rig, key: &str) {
    let mut owner = rig.owner();
    let grant = granted(owner.acquire(key, "a", LONG, PATIENT));
    applied(&owner.release(&grant, PATIENT));
    assert_eq!(rig.plain(key), None);
    refused(&owner.release(&grant, PATIENT), Refusal::Gone);
    granted(rig.owner().acquire(key, "b", LONG, PATIENT));
}

fn tokens(rig: &Rig, key: &str) {
    let (mut owner, mut observer, mut lab) = (rig.owner(), rig.observer(), rig.lab());
    let mut seen = Vec::new();
    let first = granted(owner.acquire(key, "a", LONG, PATIENT));
    seen.push(first.token);
    applied(&owner.release(&first, PATIENT));
    seen.push(granted(owner.acquire(key, "a", rig.can.short, PATIENT)).token);
    rig.wait_for(&mut *observer, key, is_free);
    seen.push(granted(owner.acquire(key, "b", LONG, PATIENT)).token);
    applied(&lab.delete(key));
    seen.push(granted(owner.acquire(key, "c", LONG, PATIENT)).token);
    seen.push(granted(lab.steal(key, "lab", LONG)).token);
    applied(&lab.delete(key));
    owner.reconnect();
    seen.push(granted(owner.acquire(key, "d", LONG, PATIENT)).token);
    let numbers: Vec<u64> = seen.iter().map(|token| token.0).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    if rig.can.counts_tokens {
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    }
    plainly_counted(rig, key, 6);
}

fn steal(rig: &Rig, key: &str) {
    let (mut owner, mut lab) = (rig.owner(), rig.lab());
    let victim = granted(owner.acquire(key, "a", LONG, PATIENT));
    let thief = granted(lab.steal(key, "lab", LONG));
    plainly_held_by(rig, &thief);
    assert!(thief.token > victim.token);
    refused(&owner.renew(&victim, LONG, PATIENT), Refusal::NotTheHolder);
    refused(&owner.release(&victim, PATIENT), Refusal::NotTheHolder);
    // The thief is a holder like any other.
    if rig.anyone_renews() {
        applied(&owner.renew(&thief, LONG, PATIENT));
    } else {
        not_expressible(
            rig,
            "a renewal by another client",
            "only a session's own client can extend it",
        );
        let done = owner.renew(&thief, LONG, PATIENT);
        assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    }
    applied(&owner.release(&thief, PATIENT));
    granted(lab.steal(key, "lab", LONG));
}

fn delete(rig: &Rig, key: &str) {
    let (mut owner, mut lab) = (rig.owner(), rig.lab());
    refused(&lab.delete(key), Refusal::Gone);
    let grant = granted(owner.acquire(key, "a", LONG, PATIENT));
    applied(&lab.delete(key));
    assert_eq!(rig.plain(key), None);
    plainly_counted(rig, key, 1);
    refused(&owner.renew(&grant, LONG, PATIENT), Refusal::Gone);
    assert_eq!(rig.plain(key), None, "a renewal does not bring it back");
}

fn endless(rig: &Rig, key: &str) {
    let (mut owner, mut observer) = (rig.owner(), rig.observer());
    // The store's own tools take their time to start.
    let ttl = rig.can.short.max(Duration::from_secs(1));
    let grant = granted(owner.acquire(key, "a", ttl, PATIENT));
    rig.plain_persist(key);
    std::thread::sleep(2 * ttl);
    let held = observer.read(key).expect("a reading").1.held.expect("it is held");
    assert_eq!((held.expires, held.bound, held.expired), (None, None, false));
    assert_eq!(held.holder, grant.holder);
    refused(&owner.acquire(key, "b", LONG, PATIENT), Refusal::Held);
}

fn bracket(rig: &Rig, key: &str) {
    let (mut owner, mut observer) = (rig.owner(), rig.observer());
    let (first, reading) = observer.read(key).expect("a reading");
    assert_eq!(reading.previous, None, "nothing was seen before");
    let grant = granted(owner.acquire(key, "a", LONG, PATIENT));
    let (_, reading) = observer.read(key).expect("a reading");
    assert_eq!(reading.previous, Some(first.earliest), "it appeared since");
    let (third, reading) = observer.read(key).expect("a reading");
    assert_eq!(reading.previous, None, "the round trip is no change");
    // The expiry is a whole millisecond on Redis, a whole second on etcd: a renewal within it may move
    // nothing that is shown.
    let third = rig.look_on(&mut *observer, key, third);
    applied(&owner.renew(&grant, LONG, PATIENT));
    let (_, reading) = observer.read(key).expect("a reading");
    if observer.facts().shows_renewals {
        assert_eq!(reading.previous, Some(third.earliest), "the expiry moved");
    } else {
        not_expressible(rig, "a renewal that is seen", "nothing of a session's time shows");
        assert_eq!(reading.previous, None);
        applied(&owner.release(&grant, PATIENT));
        assert!(observer.read(key).expect("a reading").1.previous.is_some(), "it went");
    }
}

fn race(rig: &Rig, key: &str) {
    const ROUNDS: u32 = 1000;
    let (inside, wins) = (AtomicU32::new(0), AtomicU32::new(0));
    let start = Barrier::new(2);
    let mut tokens: Vec<u64> = std::thread::scope(|scope| {
        let racers: Vec<_> = ["a", "b"]
            .into_iter()
            .map(|name| {
                let mut owner = rig.owner();
                let (inside, wins, start) = (&inside, &wins, &start);
                scope.spawn(move || {
                    let mut tokens = Vec::new();
                    // No assertion in the loop: a racer that ended would leave the other waiting.
                    let mut wrong = Vec::new();
                    for _ in 0..ROUNDS {
                        start.wait();
                        let done = owner.acquire(key, name, LONG, PATIENT);
                        let Some(grant) = done.value else {
                            if done.refusal != Some(Refusal::Held) {
                                wrong.push(format!("{done:?}"));
                            }
                            continue;
                        };
                        if inside.fetch_add(1, Ordering::SeqCst) != 0 {
                            wrong.push(format!("two holders: {grant:?}"));
                        }
                        wins.fetch_add(1, Ordering::SeqCst);
                        tokens.push(grant.token.0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        let done = owner.release(&grant, PATIENT);
                        if done.outcome != Outcome::Applied {
                            wrong.push(format!("{done:?}"));
                        }
                    }
                    assert!(wrong.is_empty(), "{wrong:#?}");
                    assert!(tokens.is_sorted());
                    tokens
                })
            })
            .collect();
        racers
            .into_iter()
            .flat_map(|racer| racer.join().expect("a racer failed"))
            .collect()
    });
    // Somebody wins each round; both may, one after the other.
    let wins = wins.into_inner();
    assert!(wins >= ROUNDS, "{wins} of {ROUNDS}");
    tokens.sort_unstable();
    assert!(tokens.is_sorted_by(|a, b| a < b), "each token once");
    if rig.can.counts_tokens {
        assert_eq!(tokens, (1..=u64::from(wins)).collect::<Vec<_>>());
    }
}

fn clean(rig: &Rig, key: &str) {
    let mut owner = rig.owner();
    let keys = [format!("{key}/mine"), format!("{key}/never-used")];
    let other = if rig.nests_keys() {
        format!("{key}/mine/other")
    } else {
        not_expressible(rig, "a key below another", "the node of a lease can have no children");
        format!("{key}/mine-other")
    };
    granted(owner.acquire(&keys[0], "a", LONG, PATIENT));
    let kept = granted(owner.acquire(&other, "a", LONG, PATIENT));
    assert!(rig.lab().clean(&keys).expect("it cleans") > 0);
    assert_eq!((rig.plain(&keys[0]), rig.plain_counter(&keys[0])), (None, None));
    plainly_held_by(rig, &kept);
    plainly_counted(rig, &other, 1);
    assert_eq!(rig.lab().clean(&keys).expect("it cleans"), 0);
    assert_eq!(rig.lab().clean(&[]).expect("it cleans"), 0);
}

fn foreign(rig: &Rig, key: &str) {
    let mut lab: Box<dyn Administer> = rig.lab();
    assert_eq!(lab.foreign_keys("canary/").expect("a count"), 0);
    assert_eq!(lab.foreign_keys("").expect("a count"), 0);
    let foreign = format!("{key}/x").replace("canary/", "production_");
    granted(rig.owner().acquire(&foreign, "a", LONG, PATIENT));
    assert!(lab.foreign_keys("canary/").expect("a count") > 0);
    lab.clean(&[foreign]).expect("it cleans");
    assert_eq!(lab.foreign_keys("canary/").expect("a count"), 0);
    assert!(!lab.is_replica().expect("an answer"));
}

fn unknown(rig: &Rig, key: &str) {
    let brief = rig.can.brief;
    let mut owner = rig.owner();
    let grant = granted(owner.acquire(key, "a", LONG, PATIENT));
    let mut observer = leaseproof_store::open_observer(&rig.url, brief).expect("an observer");
    rig.freeze();
    let done = owner.renew(&grant, 2 * LONG, brief);
    let (read, proof) = (observer.read(key), observer.read_proving_expiry(key));
    rig.thaw();
    // On SQLite it certainly did not happen, over a network nobody knows; nobody was refused.
    let expected = if rig.can.networked {
        Outcome::Unknown
    } else {
        Outcome::NotApplied
    };
    assert_eq!((done.outcome, done.refusal), (expected, None), "{done:?}");
    assert!(done.during.uncertainty() >= brief);
    assert_eq!(read.is_ok(), !rig.can.networked, "a frozen writer blocks no reader");
    assert!(proof.is_err(), "nothing is proven while the store is frozen");
    // The same connection goes on, and answers to forgotten requests are not mixed up.
    applied(&owner.renew(&grant, LONG, PATIENT));
    applied(&owner.release(&grant, PATIENT));
    assert_eq!(rig.plain(key), None);
}

fn reconnect(rig: &Rig, key: &str) {
    let mut owner = rig.owner();
    owner.reconnect();
    let grant = granted(owner.acquire(key, "a", LONG, PATIENT));
    owner.reconnect();
    applied(&owner.renew(&grant, LONG, PATIENT));
    // Whoever has the grant is its holder, in whatever process.
    applied(&rig.owner().release(&grant, PATIENT));
}

fn hostile(rig: &Rig, key: &str) {
    let key = format!("{key}/it's \"two words\"; DROP TABLE lease; -- #1# %s {{}}\n</script>");
    let holder = "a#b #1' \u{1f512}";
    let mut owner = rig.owner();
    let grant = granted(owner.acquire(&key, holder, LONG, PATIENT));
    let held = rig
        .observer()
        .read(&key)
        .expect("a reading")
        .1
        .held
        .expect("it is held");
    assert_eq!((&held.holder, held.token), (&grant.holder, Some(grant.token)));
    applied(&owner.renew(&grant, LONG, PATIENT));
    applied(&owner.release(&grant, PATIENT));
}
