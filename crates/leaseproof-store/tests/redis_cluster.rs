//! A Redis Cluster: keys in all slots, moves followed, and what can't be reached told.

mod redis_many;
mod redis_server;

use leaseproof_model::event::Outcome;
use leaseproof_store::{Hints, Lease, StoreUrl, open_administrator, open_inspector, open_lease, open_observer};
use redis_many::{cluster, url_of};
use redis_server::{RedisServer, skip};
use std::time::Duration;

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(600);

/// The servers, or the end of the test.
macro_rules! servers {
    ($test:expr) => {
        match cluster() {
            Ok(servers) => servers,
            Err(why) => return skip($test, &why),
        }
    };
}

fn url(text: &str) -> StoreUrl {
    text.parse().expect(text)
}

fn keys() -> Vec<String> {
    (0..20)
        .map(|n| match n % 4 {
            0 => format!("canary/{n}"),
            1 => format!("canary/{{tag}}/{n}"),
            2 => format!("canary/{{}}/{n}"),
            _ => format!("canary/}}{n}{{"),
        })
        .collect()
}

fn owner(servers: &[RedisServer]) -> Box<dyn Lease> {
    open_lease(&url(&url_of("redis+cluster", servers)), PATIENT).expect("lazy")
}

/// The number of the server that has the key's slot, by `redis-cli`.
fn home(servers: &[RedisServer], key: &str) -> usize {
    let has = |it: &RedisServer| !it.cli(&["GET", key]).starts_with("MOVED");
    servers.iter().position(has).expect("one has it")
}

#[test]
fn keys_of_every_form_and_their_counters_are_found() {
    let servers = servers!("keys_of_every_form_and_their_counters_are_found");
    let all = url(&url_of("redis+cluster", &servers));
    // One of them is enough to find the others.
    let one = url(&url_of("redis+cluster", &servers[2..]));
    let mut owner = owner(&servers);
    let mut observer = open_observer(&one, PATIENT).expect("it opens");
    assert_eq!(observer.facts().kind, "redis-cluster");
    let mut homes = std::collections::BTreeSet::new();
    for key in keys() {
        for token in [1, 2] {
            let grant = owner.acquire(&key, "a", LONG, PATIENT).value.expect("granted");
            assert_eq!(grant.token.0, token, "{key}");
            let reading = observer.read(&key).expect("a reading").1;
            assert_eq!(reading.counter, Some(grant.token), "{key}");
            assert_eq!(reading.held.expect("it is held").holder, grant.holder);
            assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
            if token == 1 {
                assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
            }
        }
        homes.insert(home(&servers, &key));
    }
    assert_eq!(homes.len(), 3, "they are on all servers");
    let names = keys();
    let many: Vec<&str> = names.iter().map(String::as_str).collect();
    let answers = observer.read_many(&many).expect("it answers");
    assert!(
        answers
            .into_iter()
            .all(|answer| answer.is_ok_and(|(_, it)| it.held.is_some()))
    );
    let mut listed = observer
        .leases_below("canary/", 100)
        .expect("it answers")
        .expect("it lists")
        .keys;
    let mut wanted = keys();
    wanted.sort();
    listed.sort();
    assert_eq!(listed, wanted);
    let mut lab = open_administrator(&all, PATIENT).expect("it opens");
    assert_eq!(lab.foreign_keys("canary/").expect("a count"), 0);
    assert_eq!(lab.clean(&keys()).expect("it cleans"), 40);
    assert!(servers.iter().all(|server| server.cli(&["DBSIZE"]) == "0"));
}

#[test]
fn who_may_not_ask_for_the_slots_is_sent_on() {
    let servers = servers!("who_may_not_ask_for_the_slots_is_sent_on");
    for server in &servers {
        let rules = ["on", ">pw", "~canary/*", "-@all", "+@read", "+@transaction", "+time"];
        server.cli(&[&["ACL", "SETUSER", "eye"][..], &rules].concat());
    }
    let mut owner = owner(&servers);
    let text = url_of("redis+cluster", &servers).replace("://", "://eye:pw@");
    let mut observer = open_observer(&url(&text), PATIENT).expect("it opens");
    for key in ["canary/{a}", "canary/{b}", "canary/{c}", "canary/{d}"] {
        owner.acquire(key, "a", LONG, PATIENT).value.expect("granted");
        for _ in 0..2 {
            assert!(observer.read(key).expect("a reading").1.held.is_some(), "{key}");
        }
    }
}

#[test]
fn a_slot_that_moves_is_followed() {
    let servers = servers!("a_slot_that_moves_is_followed");
    let key = "canary/{moves}";
    let mut owner = owner(&servers);
    let mut observer = open_observer(&url(&url_of("redis+cluster", &servers)), PATIENT).expect("it opens");
    let grant = owner.acquire(key, "a", LONG, PATIENT).value.expect("granted");
    observer.read(key).expect("a reading");
    let from = &servers[home(&servers, key)];
    let to = servers.iter().find(|it| it.port() != from.port()).expect("another");
    let slot = from.cli(&["CLUSTER", "KEYSLOT", key]);
    let (from_id, to_id) = (from.cli(&["CLUSTER", "MYID"]), to.cli(&["CLUSTER", "MYID"]));
    to.cli(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]);
    from.cli(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]);
    // It is still there.
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
    let port = to.port().to_string();
    let counter = format!("{key}:token");
    from.cli(&["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS", key, &counter]);
    // It is on its way: the old server sends on with ASK, one question at a time.
    let reading = observer.read(key).expect("a reading").1;
    assert_eq!(reading.held.expect("it is held").holder, grant.holder);
    assert_eq!(reading.counter.map(|token| token.0), Some(1));
    assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
    for server in [to, from] {
        server.cli(&["CLUSTER", "SETSLOT", &slot, "NODE", &to_id]);
    }
    // It has arrived: MOVED.
    let reading = observer.read(key).expect("a reading").1;
    assert_eq!(reading.held.expect("it is held").holder, grant.holder);
    assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
    assert_eq!(
        owner.acquire(key, "a", LONG, PATIENT).value.expect("granted").token.0,
        2
    );
}

#[test]
fn a_server_that_is_gone_is_told() {
    let mut servers = servers!("a_server_that_is_gone_is_told");
    let mut owner = owner(&servers);
    let mut observer = open_observer(&url(&url_of("redis+cluster", &servers)), PATIENT).expect("it opens");
    let (here, there) = ("canary/{a}", "canary/{b}");
    let grant = owner.acquire(here, "a", LONG, PATIENT).value.expect("granted");
    let other = owner.acquire(there, "a", LONG, PATIENT).value.expect("granted");
    let at = home(&servers, here);
    assert_ne!(at, home(&servers, there), "the tags were chosen so");
    servers[at].kill();
    let done = owner.renew(&grant, LONG, BRIEF);
    assert_ne!(done.outcome, Outcome::Applied, "{done:?}");
    assert_eq!(done.refusal, None);
    assert!(observer.read(here).is_err());
    // The other slots are served.
    assert_eq!(owner.renew(&other, LONG, PATIENT).outcome, Outcome::Applied);
    assert!(observer.read(there).expect("a reading").1.held.is_some());
}

#[test]
fn a_look_and_bad_input() {
    let servers = servers!("a_look_and_bad_input");
    let all = url(&url_of("redis+cluster", &servers));
    let mut inspector = open_inspector(&all, PATIENT).expect("it opens");
    for key in ["canary/{a}", "canary/{b}"] {
        owner(&servers).acquire(key, "a", LONG, PATIENT).value.expect("granted");
        let form = inspector.form(key.as_bytes()).expect("a form");
        let view = inspector
            .look(key.as_bytes(), &form, &Hints::default())
            .expect("a look");
        let place = format!("127.0.0.1:{}", servers[home(&servers, key)].port());
        assert!(
            format!("{:?}", view.attributes[0]).contains(&place),
            "{:?}",
            view.attributes
        );
        assert!(inspector.by_hand(key.as_bytes())[0].contains(" -c PTTL"));
    }
    let plain = match RedisServer::start() {
        Ok(plain) => plain,
        Err(why) => return skip("a_look_and_bad_input", &why),
    };
    for (text, part) in [
        (servers[0].url(), "give redis+cluster://"),
        (plain.url().replace("redis://", "redis+cluster://"), "give redis://"),
        ("redis+cluster://127.0.0.1:1,127.0.0.1:2".to_owned(), "127.0.0.1:1"),
        (
            url_of("redis+cluster", &servers).replace("://", "://:falsch@"),
            "password of the URL are wrong",
        ),
    ] {
        let error = open_observer(&url(&text), PATIENT).err().expect(&text).to_string();
        assert!(error.contains(part) && !error.contains("falsch"), "{text}: {error}");
    }
}
