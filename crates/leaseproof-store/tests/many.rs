//! Many keys at once, and the leases below a prefix: the same on every store, from the same commands as one
//! reading.

#[path = "redis_server/mod.rs"]
mod redis_server;

use leaseproof_store::{StoreError, StoreUrl, open_administrator, open_lease, open_observer};
use redis_server::RedisServer;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(5);
const TTL: Duration = Duration::from_secs(60);

fn on_each_store(test: &str, run: impl Fn(&StoreUrl, Option<&mut RedisServer>)) {
    let dir = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", dir.path().join("locks.db").display());
    run(&url.parse().expect("a URL"), None);
    match RedisServer::start() {
        Ok(mut server) => run(&server.url().parse().expect("a URL"), Some(&mut server)),
        Err(why) => redis_server::skip(test, &why),
    }
}

fn acquire(url: &StoreUrl, key: &str) {
    open_administrator(url, TIMEOUT)
        .expect("the store")
        .prepare()
        .expect("ready");
    let done = open_lease(url, TIMEOUT)
        .expect("the store")
        .acquire(key, "me", TTL, TIMEOUT);
    done.value.expect("it is free");
}

#[test]
fn many_keys_read_as_one_by_one() {
    on_each_store("many_keys_read_as_one_by_one", |url, _| {
        let keys: Vec<String> = (0..300).map(|n| format!("many/{n}")).collect();
        acquire(url, "many/7");
        acquire(url, "many/299");
        let names: Vec<&str> = keys.iter().map(String::as_str).collect();
        let mut observer = open_observer(url, TIMEOUT).expect("the store");
        let many = observer.read_many(&names).expect("it answers");
        assert_eq!(many.len(), keys.len());
        for (key, answer) in keys.iter().zip(many) {
            let (at, reading) = answer.expect("a reading");
            assert!(at.earliest <= at.latest);
            let (_, one) = observer.read(key).expect("it answers");
            assert_eq!(reading.counter, one.counter, "{key}");
            assert_eq!(reading.epoch, one.epoch, "{key}");
            match (reading.held, one.held) {
                (None, None) => {}
                (Some(many), Some(one)) => {
                    assert_eq!((many.holder, many.token), (one.holder, one.token), "{key}");
                    let (many, one) = (many.expires.expect("a TTL"), one.expires.expect("a TTL"));
                    assert!(many.latest >= one.earliest && one.latest >= many.earliest, "{key}");
                }
                (many, one) => panic!("{key}: {many:?} is not {one:?}"),
            }
        }
    });
}

#[test]
fn leases_below_a_prefix() {
    on_each_store("leases_below_a_prefix", |url, server| {
        for key in ["a*/1", "a*/2", "ab/3", "b/4"] {
            acquire(url, key);
        }
        if let Some(server) = &server {
            server.cli(&["SET", "a*/gone:token", "7"]);
            server.cli(&["EVAL", "return redis.call('SET', 'a*/\\255', 'x')", "0"]);
        }
        let mut observer = open_observer(url, TIMEOUT).expect("the store");
        let listing = observer
            .leases_below("a*/", 100)
            .expect("it answers")
            .expect("it can list");
        let mut expected = vec!["a*/1", "a*/2"];
        if server.is_some() {
            expected.push("a*/gone");
        }
        assert_eq!(listing.keys, expected);
        assert_eq!((listing.more, listing.not_text), (false, u64::from(server.is_some())));
        let listing = observer
            .leases_below("a*/", 1)
            .expect("it answers")
            .expect("it can list");
        assert_eq!((listing.keys.len(), listing.more), (1, true));
    });
}

#[test]
fn a_key_that_is_no_string_spoils_no_other() {
    let mut server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return redis_server::skip("a_key_that_is_no_string_spoils_no_other", &why),
    };
    let url: StoreUrl = server.url().parse().expect("a URL");
    acquire(&url, "one");
    server.cli(&["LPUSH", "list", "x"]);
    server.cli(&["SETRANGE", "long", "100000", "x"]);
    server.cli(&["SET", "forever", "secret"]);
    let mut observer = open_observer(&url, TIMEOUT).expect("the store");
    let keys = ["list", "one", "long", "forever", "none"];
    for _ in 0..2 {
        let answers = observer.read_many(&keys).expect("it answers");
        let [list, one, long, forever, none] = <[_; 5]>::try_from(answers).expect("five");
        assert!(list.expect_err("a list").to_string().contains("WRONGTYPE"));
        assert!(one.expect("a reading").1.held.is_some());
        assert!(long.expect_err("too long").to_string().contains("no plain lease"));
        let forever = forever.expect("a reading").1.held.expect("it is held");
        assert_eq!(
            (forever.expires, forever.holder.as_str().contains("secret")),
            (None, false)
        );
        assert_eq!(none.expect("a reading").1.held, None);
        // A restarted server is seen at once, and is another epoch.
        server.kill();
        server.start_again();
        server.cli(&["LPUSH", "list", "x"]);
        server.cli(&["SETRANGE", "long", "100000", "x"]);
        server.cli(&["SET", "forever", "secret"]);
        acquire(&url, "one");
    }
    server.kill();
    assert!(matches!(observer.read_many(&keys), Err(StoreError::Unreachable { .. })));
}

#[test]
fn a_paused_server_times_out_and_no_answer_is_taken_for_another() {
    let server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return redis_server::skip("a_paused_server_times_out", &why),
    };
    let url: StoreUrl = server.url().parse().expect("a URL");
    acquire(&url, "one");
    let mut observer = open_observer(&url, Duration::from_millis(300)).expect("the store");
    observer.read_many(&["one"]).expect("it answers");
    server.freeze();
    assert!(matches!(observer.read_many(&["one"]), Err(StoreError::TimedOut(_))));
    server.thaw();
    let answers = observer.read_many(&["none", "one"]).expect("it answers");
    assert_eq!(answers[0].as_ref().expect("a reading").1.held, None);
    assert!(answers[1].as_ref().expect("a reading").1.held.is_some());
}

#[test]
fn a_user_that_may_only_read_can_read_many() {
    let server = match RedisServer::start() {
        Ok(server) => server,
        Err(why) => return redis_server::skip("a_user_that_may_only_read", &why),
    };
    let url: StoreUrl = server.url().parse().expect("a URL");
    acquire(&url, "one");
    let rules = "ACL SETUSER eye on >geheim ~* -@all +getrange +pexpiretime +time +multi +exec +scan +auth";
    server.cli(&rules.split(' ').collect::<Vec<_>>());
    let url: StoreUrl = format!("redis://eye:geheim@127.0.0.1:{}", server.port())
        .parse()
        .expect("a URL");
    let mut observer = open_observer(&url, TIMEOUT).expect("the store");
    let answers = observer.read_many(&["one"]).expect("it answers");
    assert!(answers[0].as_ref().expect("a reading").1.held.is_some());
    assert!(observer.leases_below("o", 10).expect("it answers").is_some());
    server.cli(&["ACL", "SETUSER", "eye", "-getrange"]);
    let refused = observer.read_many(&["one"]).expect_err("it may not").to_string();
    assert!(refused.contains("NOPERM") && !refused.contains("geheim"), "{refused}");
}

/// A server keeps the connections of those that read when it becomes a replica, and when it is none any more.
#[test]
fn a_role_that_changes_is_seen_on_an_open_connection() {
    let test = "a_role_that_changes_is_seen_on_an_open_connection";
    let (server, primary) = match (RedisServer::start(), RedisServer::start()) {
        (Ok(server), Ok(primary)) => (server, primary),
        (Err(why), _) | (_, Err(why)) => return redis_server::skip(test, &why),
    };
    let url: StoreUrl = server.url().parse().expect("a URL");
    let mut observer = open_observer(&url, TIMEOUT).expect("the store");
    let mut epochs = Vec::new();
    for (role, behind) in [
        (vec!["REPLICAOF", "NO", "ONE"], false),
        (vec!["REPLICAOF", "127.0.0.1", &primary.port().to_string()], true),
        (vec!["REPLICAOF", "NO", "ONE"], false),
    ] {
        server.cli(&role);
        let end = Instant::now() + 6 * TIMEOUT;
        loop {
            // While it takes over the primary's data it may refuse.
            let answers = observer.read_many(&["any"]).unwrap_or_default();
            if let Some(Ok((_, reading))) = answers.into_iter().next()
                && observer.may_be_behind() == behind
            {
                epochs.push(reading.epoch.expect("it is told"));
                break;
            }
            assert!(Instant::now() < end, "{role:?} is not seen");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    assert!(epochs[0] != epochs[1] && epochs[0] == epochs[2], "{epochs:?}");
}
