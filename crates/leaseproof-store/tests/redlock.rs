//! Several independent Redis servers: the majority counts, whoever of the others is silent.

mod redis_many;
mod redis_server;

use leaseproof_model::event::Outcome;
use leaseproof_store::{
    Hints, Lease, Observe, Refusal, StoreError, StoreUrl, open_administrator, open_inspector, open_lease, open_observer,
};
use redis_many::{independent, url_of};
use redis_server::{RedisServer, skip};
use std::time::Duration;

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(400);
const LONG: Duration = Duration::from_secs(600);
const KEY: &str = "canary/redlock";

/// The servers, or the end of the test.
macro_rules! servers {
    ($test:expr) => {
        match independent() {
            Ok(servers) => servers,
            Err(why) => return skip($test, &why),
        }
    };
}

fn url(text: &str) -> StoreUrl {
    text.parse().expect(text)
}

fn clients(servers: &[RedisServer], timeout: Duration) -> (Box<dyn Lease>, Box<dyn Observe>) {
    let url = url(&url_of("redlock", servers));
    let owner = open_lease(&url, PATIENT).expect("lazy");
    (owner, open_observer(&url, timeout).expect("it opens"))
}

fn holder(observer: &mut dyn Observe) -> Option<String> {
    let reading = observer.read(KEY).expect("a reading").1;
    reading.held.map(|held| held.holder.to_string())
}

#[test]
fn a_silent_server_is_borne() {
    let mut servers = servers!("a_silent_server_is_borne");
    let (mut owner, mut observer) = clients(&servers, PATIENT);
    for silenced in ["frozen", "dead"] {
        match silenced {
            "frozen" => servers[2].freeze(),
            _ => servers[2].kill(),
        }
        let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
        assert_eq!(holder(&mut *observer), Some(grant.holder.to_string()), "{silenced}");
        assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
        let done = owner.acquire(KEY, "b", LONG, PATIENT);
        assert_eq!(done.refusal, Some(Refusal::Held), "{silenced}: {done:?}");
        // A late comer finds the same.
        let (mut other, mut late) = clients(&servers, BRIEF);
        assert_eq!(holder(&mut *late), Some(grant.holder.to_string()));
        assert_eq!(other.release(&grant, PATIENT).outcome, Outcome::Applied);
        assert_eq!(holder(&mut *observer), None);
        if silenced == "frozen" {
            servers[2].thaw();
        }
    }
    // Two are silent: nobody holds it, and nobody knows.
    let (mut owner, mut observer) = clients(&servers, BRIEF);
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    servers[1].freeze();
    let done = owner.renew(&grant, LONG, BRIEF);
    assert_eq!((done.outcome, done.refusal), (Outcome::Unknown, None), "{done:?}");
    assert!(matches!(
        observer.read(KEY),
        Err(StoreError::TimedOut(_) | StoreError::Unreachable { .. })
    ));
    let done = owner.acquire("canary/other", "a", LONG, BRIEF);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(done.reason.expect("a reason").contains("no majority"));
    servers[1].thaw();
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
    assert_eq!(holder(&mut *observer), Some(grant.holder.to_string()));
    // What came to nothing is left on no server.
    redis_many::wait_until("it is removed", || {
        servers[..2]
            .iter()
            .all(|server| server.cli(&["EXISTS", "canary/other"]) == "0")
    });
}

#[test]
fn tokens_rise_whichever_majority_grants() {
    let servers = servers!("tokens_rise_whichever_majority_grants");
    let (mut owner, _) = clients(&servers, PATIENT);
    // One server has counted far more than the others.
    servers[0].cli(&["SET", &format!("{KEY}:token"), "40"]);
    let mut last = 0;
    for silent in [2, 0, 1, 0, 2, 1, 0] {
        servers[silent].freeze();
        let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
        assert!(grant.token.0 > last, "{} after {last} without {silent}", grant.token);
        last = grant.token.0;
        assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
        servers[silent].thaw();
    }
    assert!(last > 41);
}

#[test]
fn what_the_servers_show_together() {
    let servers = servers!("what_the_servers_show_together");
    let (mut owner, mut observer) = clients(&servers, PATIENT);
    let set = |values: [&str; 3]| {
        for (server, value) in servers.iter().zip(values) {
            match value {
                "" => server.cli(&["DEL", KEY]),
                value => server.cli(&["SET", KEY, value, "PX", "600000"]),
            };
        }
    };
    // Values, and whether somebody holds it.
    for (values, is_held) in [
        (["secret", "secret", "secret"], true),
        (["secret", "", "secret"], true),
        (["secret", "other", ""], false),
        (["secret", "", ""], false),
        (["one", "two", "three"], false),
        (["a#1#7", "a#1#7", ""], true),
        // It still wants its majority: no grant yet.
        (["a#1#0", "a#1#0", "a#1#0"], false),
        (["a#1#7", "a#1#0", "a#1#0"], false),
    ] {
        set(values);
        let holder = holder(&mut *observer);
        assert_eq!(holder.is_some(), is_held, "{values:?}: {holder:?}");
        assert!(!holder.unwrap_or_default().contains("secret"));
        let done = owner.acquire(KEY, "b", LONG, PATIENT);
        if is_held {
            assert_eq!(done.refusal, Some(Refusal::Held), "{values:?}");
        }
        if let Some(grant) = done.value {
            assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
        }
    }
    // The majority lapses with the second of three.
    set(["secret", "secret", "secret"]);
    for (server, left) in servers.iter().zip(["100000", "300000", "200000"]) {
        server.cli(&["PEXPIRE", KEY, left]);
    }
    let (at, reading) = observer.read(KEY).expect("a reading");
    let expires = reading.held.and_then(|held| held.expires).expect("a TTL");
    let left = expires.latest.since(at.earliest);
    assert!(
        left > Duration::from_secs(150) && left < Duration::from_secs(201),
        "{left:?}"
    );
    // One without a TTL is outvoted, two are not.
    servers[0].cli(&["PERSIST", KEY]);
    assert!(
        observer
            .read(KEY)
            .expect("a reading")
            .1
            .held
            .expect("held")
            .expires
            .is_some()
    );
    servers[1].cli(&["PERSIST", KEY]);
    assert_eq!(
        observer.read(KEY).expect("a reading").1.held.expect("held").expires,
        None
    );
}

#[test]
fn a_server_that_lost_its_data_is_another_epoch() {
    let mut servers = servers!("a_server_that_lost_its_data_is_another_epoch");
    let (mut owner, mut observer) = clients(&servers, PATIENT);
    let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let before = observer.read(KEY).expect("a reading").1;
    servers[0].kill();
    servers[0].start_again();
    let after = observer.read(KEY).expect("a reading").1;
    assert_ne!(after.epoch, before.epoch);
    assert_eq!(after.held.expect("two still have it").holder, grant.holder);
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
    // The next to lose it takes the majority along.
    servers[1].kill();
    servers[1].start_again();
    assert_eq!(holder(&mut *observer), None);
    assert_eq!(owner.renew(&grant, LONG, PATIENT).refusal, Some(Refusal::Gone));
}

#[test]
fn a_look_and_bad_input() {
    let servers = servers!("a_look_and_bad_input");
    let all = url(&url_of("redlock", &servers));
    let (mut owner, _) = clients(&servers, PATIENT);
    owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
    let mut inspector = open_inspector(&all, PATIENT).expect("it opens");
    let form = inspector.form(KEY.as_bytes()).expect("a form");
    let view = inspector
        .look(KEY.as_bytes(), &form, &Hints::default())
        .expect("a look");
    let shown = format!("{:?}", view.attributes);
    for part in ["3 of 3 answer", "a#", "persistence"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(inspector.read(KEY).expect("a reading").1.held.is_some());
    let replica = match RedisServer::start_with(&["--replicaof", "127.0.0.1 1"]) {
        Ok(replica) => replica,
        Err(why) => return skip("a_look_and_bad_input", &why),
    };
    let two = url_of("redlock", &servers[..2]);
    let replica = format!("{two},127.0.0.1:{}", replica.port());
    let error = open_administrator(&url(&replica), PATIENT)
        .err()
        .expect("a replica")
        .to_string();
    assert!(error.contains("a replica of 127.0.0.1:1"), "{error}");
    for (text, part) in [
        (
            "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3".to_owned(),
            "0 of 3 servers answer, and that is no majority",
        ),
        (
            format!("redlock://127.0.0.1:{},127.0.0.1:2,127.0.0.1:3", servers[0].port()),
            "1 of 3 servers answer",
        ),
        (
            url_of("redlock", &servers).replace("://", "://:falsch@"),
            "password of the URL are wrong",
        ),
    ] {
        let error = open_observer(&url(&text), PATIENT).err().expect(&text).to_string();
        assert!(error.contains(part) && !error.contains("falsch"), "{text}: {error}");
        assert!(open_administrator(&url(&text), PATIENT).is_err());
    }
    // A majority is enough.
    open_observer(&url(&format!("{two},127.0.0.1:1")), PATIENT).expect("it opens");
    open_administrator(&url(&format!("{two},127.0.0.1:1")), PATIENT).expect("it opens");
}

#[test]
fn tokens_rise_beyond_2_to_the_53() {
    let servers = servers!("tokens_rise_beyond_2_to_the_53");
    let (mut owner, _) = clients(&servers, PATIENT);
    let counter = format!("{KEY}:token");
    for (server, count) in servers.iter().zip(["1", "9007199254740991", "9007199254740990"]) {
        server.cli(&["SET", &counter, count]);
    }
    let mut last = 0;
    for _ in 0..6 {
        // Whichever majority answers first.
        let grant = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted");
        assert!(
            grant.token.0 > last.max(9_007_199_254_740_990),
            "{grant:?} after {last}"
        );
        last = grant.token.0;
        assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
    }
    for server in &servers {
        server.cli(&["SET", &counter, "-3"]);
    }
    let done = owner.acquire(KEY, "a", LONG, PATIENT);
    assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
    assert!(done.reason.expect("a reason").contains("holds -3"));
    for server in &servers {
        assert_eq!(server.cli(&["EXISTS", KEY]), "0", "no ghost");
    }
}
