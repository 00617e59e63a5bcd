//! Many keys at once, and the leases below a prefix, on the stores that are servers: the same as one by
//! one, and what is wrong with one key spoils no other.

#[path = "consul_server/mod.rs"]
mod consul_server;
#[path = "etcd_server/mod.rs"]
mod etcd_server;
#[path = "postgres_server/mod.rs"]
mod postgres_server;
#[path = "zookeeper_server/mod.rs"]
mod zookeeper_server;

use consul_server::ConsulServer;
use etcd_server::EtcdServer;
use leaseproof_store::{Lease, Observe, StoreError, StoreUrl, open_administrator, open_lease, open_observer};
use postgres_server::{PostgresServer, skip};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use zookeeper_server::ZooKeeperServer;

const TIMEOUT: Duration = Duration::from_secs(10);
const TTL: Duration = Duration::from_secs(60);

fn url(text: &str) -> StoreUrl {
    text.parse().expect("a URL")
}

/// The server, or the end of the test.
macro_rules! server {
    ($test:expr, $start:expr) => {
        match $start {
            Ok(server) => server,
            Err(why) => return skip($test, &why),
        }
    };
}

/// The leases last for as long as what this gives.
fn acquire(url: &StoreUrl, keys: &[&str]) -> Vec<Box<dyn Lease>> {
    open_administrator(url, TIMEOUT)
        .expect("the store")
        .prepare()
        .expect("ready");
    let owners = |key: &&str| {
        let mut owner = open_lease(url, TIMEOUT).expect("the store");
        owner.acquire(key, "me", TTL, TIMEOUT).value.expect("it is free");
        owner
    };
    keys.iter().map(owners).collect()
}

/// 700 keys, four of them held, read as one by one; twice, since the second time some is known already.
fn reads_as_one_by_one(url: &StoreUrl) -> Box<dyn Observe> {
    let keys: Vec<String> = (0..700).map(|n| format!("many/{n}")).collect();
    let _owners = acquire(url, &["many/7", "many/255", "many/256", "many/699"]);
    let names: Vec<&str> = keys.iter().map(String::as_str).collect();
    let mut observer = open_observer(url, TIMEOUT).expect("the store");
    let mut one = open_observer(url, TIMEOUT).expect("the store");
    for round in 0..2 {
        let many = observer.read_many(&names).expect("it answers");
        assert_eq!(many.len(), keys.len());
        let mut held = 0;
        for (key, answer) in keys.iter().zip(many) {
            let (at, reading) = answer.expect("a reading");
            assert!(at.earliest <= at.latest);
            let Some(many) = &reading.held else { continue };
            held += 1;
            let (_, single) = one.read(key).expect("it answers");
            assert_eq!(reading.counter, single.counter, "{key}, {round}");
            let single = single.held.expect("it is held");
            assert_eq!(
                (&many.holder, many.token),
                (&single.holder, single.token),
                "{key}, {round}"
            );
            assert_eq!(many.bound, single.bound, "{key}, {round}");
            match (many.expires, single.expires) {
                (None, None) => assert!(many.bound.is_some(), "{key}"),
                (Some(many), Some(single)) => assert!(
                    many.latest >= single.earliest && single.latest >= many.earliest,
                    "{key}, {round}: {many:?} {single:?}"
                ),
                other => panic!("{key}, {round}: {other:?}"),
            }
        }
        assert_eq!(held, 4, "{round}");
    }
    observer
}

/// What is below a prefix, whole and cut.
fn lists(url: &StoreUrl, expected: &[&str], not_text: u64) {
    let mut observer = open_observer(url, TIMEOUT).expect("the store");
    let listing = observer
        .leases_below("a*/", 100)
        .expect("it answers")
        .expect("it lists");
    assert_eq!(listing.keys, expected);
    assert_eq!((listing.more, listing.not_text), (false, not_text));
    let listing = observer.leases_below("a*/", 1).expect("it answers").expect("it lists");
    assert_eq!((listing.keys.len(), listing.more), (1, true));
    let listing = observer
        .leases_below("none/", 9)
        .expect("it answers")
        .expect("it lists");
    assert_eq!((listing.keys.len(), listing.more), (0, false));
}

const LISTED: [&str; 4] = ["a*/1", "a*/2", "a*/deep/3", "ab/4"];

#[test]
fn etcd() {
    let mut server = server!("etcd", EtcdServer::start());
    let url = url(&server.url());
    let mut observer = reads_as_one_by_one(&url);
    let _owners = acquire(&url, &LISTED);
    // A key that no text can name: `a*/` and a byte.
    let body = r#"{"key":"YSov/w==","value":"eA=="}"#;
    let request = format!(
        "POST /v3/kv/put HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).expect("it listens");
    stream.write_all(request.as_bytes()).expect("it is sent");
    assert!(stream.read(&mut [0; 1024]).expect("an answer") > 0);
    lists(&url, &["a*/1", "a*/2", "a*/deep/3"], 1);
    // One that has no lease, one that is too large, one that is not there.
    server.cli(&["put", "forever", "secret"]);
    large(&server, "large");
    let answers = observer
        .read_many(&["forever", "large", "many/7", "none"])
        .expect("it answers");
    let [forever, large, seven, none] = <[_; 4]>::try_from(answers).expect("four");
    let forever = forever.expect("a reading").1.held.expect("it is held");
    assert_eq!((forever.expires, forever.bound), (None, None));
    assert!(large.expect_err("too large").to_string().contains("more than 1 MiB"));
    assert!(seven.expect("a reading").1.held.is_some());
    assert_eq!(none.expect("a reading").1.held, None);
    // A restarted server is seen at once, and is another epoch.
    let epoch = |observer: &mut Box<dyn Observe>| {
        let answers = observer.read_many(&["many/7"]).expect("it answers");
        answers[0].as_ref().expect("a reading").1.epoch.clone()
    };
    let before = epoch(&mut observer);
    server.kill();
    assert!(matches!(
        observer.read_many(&["many/7"]),
        Err(StoreError::Unreachable { .. })
    ));
    server.start_again();
    assert_ne!(epoch(&mut observer), before);
    // One that stands still, and goes on.
    let mut brief = open_observer(&url, Duration::from_millis(300)).expect("the store");
    brief.read_many(&["many/7"]).expect("it answers");
    server.freeze();
    assert!(matches!(brief.read_many(&["many/7"]), Err(StoreError::TimedOut(_))));
    server.thaw();
    let answers = brief.read_many(&["none", "many/7"]).expect("it answers");
    assert_eq!(answers[0].as_ref().expect("a reading").1.held, None);
    assert!(answers[1].as_ref().expect("a reading").1.held.is_some());
}

/// A value of 1.2 MiB, which no command line takes.
fn large(server: &EtcdServer, key: &str) {
    use base64_of as base64;
    let body = format!(
        r#"{{"key":"{}","value":"{}"}}"#,
        base64(key.as_bytes()),
        "QUFB".repeat(400_000)
    );
    let request = format!(
        "POST /v3/kv/put HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).expect("it listens");
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = [0; 1024];
    let count = stream.read(&mut answer).expect("an answer");
    assert!(
        answer[..count].starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&answer[..count])
    );
}

/// Base64, for names of ours: whole groups of three bytes, filled up.
fn base64_of(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let three = [part[0], *part.get(1).unwrap_or(&0), *part.get(2).unwrap_or(&0)];
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for place in 0..4 {
            if place > part.len() {
                text.push('=');
            } else {
                text.push(char::from(SIGNS[(bits >> (18 - 6 * place) & 63) as usize]));
            }
        }
    }
    text
}

#[test]
fn etcd_by_a_user_who_may_only_read() {
    let server = server!("etcd_by_a_user_who_may_only_read", EtcdServer::start());
    let open = url(&server.url());
    let _owners = acquire(&open, &["canary/a", "other/b"]);
    for command in [
        &["user", "add", "root:root"][..],
        &["user", "grant-role", "root", "root"],
        &["role", "add", "looks"],
        &["role", "grant-permission", "looks", "read", "--prefix=true", "canary/"],
        &["user", "add", "reader:geheim"],
        &["user", "grant-role", "reader", "looks"],
        &["auth", "enable"],
    ] {
        server.cli(command);
    }
    let guarded = url(&format!("etcd://reader:geheim@127.0.0.1:{}", server.port()));
    let mut observer = open_observer(&guarded, TIMEOUT).expect("the store");
    // The second round finds its login stale: the rights were changed.
    for round in 0..2 {
        let answers = observer.read_many(&["canary/a", "other/b"]).expect("it answers");
        assert!(answers[0].as_ref().expect("a reading").1.held.is_some(), "{round}");
        let refused = answers[1].as_ref().expect_err("it is closed").to_string();
        assert!(refused.contains("permission denied"), "{refused}");
        server.cli(&["--user", "root:root", "role", "add", &format!("more{round}")]);
    }
    assert!(observer.leases_below("canary/", 9).expect("it answers").is_some());
    let refused = observer.leases_below("", 9).expect_err("it is closed").to_string();
    assert!(
        refused.contains("permission denied") && !refused.contains("geheim"),
        "{refused}"
    );
}

#[test]
fn postgres() {
    let mut server = server!("postgres", PostgresServer::start());
    let url = url(&server.url());
    let mut observer = reads_as_one_by_one(&url);
    let _owners = acquire(&url, &LISTED);
    lists(&url, &["a*/1", "a*/2", "a*/deep/3"], 0);
    server.psql(
        "INSERT INTO leaseproof_lease (key, holder, token) VALUES ('forever', 'secret', 7), ('over', 'x', 8); \
         UPDATE leaseproof_lease SET expires_at = now() - interval '1 hour' WHERE key = 'over'",
    );
    for _ in 0..2 {
        let answers = observer.read_many(&["forever", "over", "none"]).expect("it answers");
        let held = |at: usize| answers[at].as_ref().expect("a reading").1.held.clone();
        assert_eq!(held(0).expect("it is held").expires, None);
        assert!(held(1).expect("a row").expired, "nobody is in the middle");
        assert_eq!(held(2), None);
    }
    // Somebody is: then it is not proven to be over.
    let mut other = open_observer(&url, TIMEOUT).expect("the store");
    let mut session = server.session(
        &[],
        "BEGIN; LOCK TABLE leaseproof_lease IN ROW EXCLUSIVE MODE;\n\\! sleep 600\n",
    );
    server.wait_until(
        "SELECT count(*) = 1 FROM pg_locks WHERE relation = 'leaseproof_lease'::regclass AND mode = 'RowExclusiveLock'",
    );
    let answers = other.read_many(&["over"]).expect("it answers");
    assert!(
        !answers[0]
            .as_ref()
            .expect("a reading")
            .1
            .held
            .as_ref()
            .expect("a row")
            .expired
    );
    let _ = session.kill();
    let _ = session.wait();
    server.kill();
    assert!(matches!(
        observer.read_many(&["forever"]),
        Err(StoreError::Unreachable { .. })
    ));
    server.start_again();
    assert!(observer.read_many(&["forever"]).expect("it answers")[0].is_ok());
}

#[test]
fn zookeeper() {
    let mut server = server!("zookeeper", ZooKeeperServer::start());
    let url = url(&server.url());
    let mut observer = reads_as_one_by_one(&url);
    let _owners = acquire(&url, &LISTED);
    server.cli("create /forever secret");
    server.cli("create /closed secret digest:other:kXw4u0Ck3iN8Nw4Fq6h1mHkYp3w=:cdrwa");
    lists(&url, &["a*/1", "a*/2", "a*/deep/3"], 0);
    let answers = observer
        .read_many(&["forever", "closed", "many/7", "none"])
        .expect("it answers");
    let [forever, closed, seven, none] = <[_; 4]>::try_from(answers).expect("four");
    let forever = forever.expect("a reading").1.held.expect("it is held");
    assert_eq!((forever.expires, forever.bound), (None, None));
    assert!(closed.expect_err("it is closed").to_string().contains("may not use"));
    assert!(seven.expect("a reading").1.held.is_some());
    assert_eq!(none.expect("a reading").1.held, None);
    server.kill();
    assert!(matches!(
        observer.read_many(&["forever"]),
        Err(StoreError::Unreachable { .. })
    ));
    server.start_again();
    assert!(observer.read_many(&["forever"]).expect("it answers")[0].is_ok());
}

#[test]
fn consul() {
    let mut server = server!("consul", ConsulServer::start());
    let url = url(&server.url());
    let mut observer = reads_as_one_by_one(&url);
    let _owners = acquire(&url, &LISTED);
    lists(&url, &["a*/1", "a*/2", "a*/deep/3"], 0);
    let session = server.endless_session();
    server.http("PUT", &format!("/v1/kv/endless?acquire={session}"), "secret");
    server.http("PUT", "/v1/kv/free", "x");
    let answers = observer
        .read_many(&["endless", "free", "many/7", "none"])
        .expect("it answers");
    let [endless, free, seven, none] = <[_; 4]>::try_from(answers).expect("four");
    let endless = endless.expect("a reading").1.held.expect("it is held");
    assert_eq!((endless.expires, endless.bound), (None, None));
    assert_eq!(free.expect("a reading").1.held, None);
    assert_eq!(seven.expect("a reading").1.held.expect("it is held").bound, Some(TTL));
    assert_eq!(none.expect("a reading").1.held, None);
    server.kill();
    assert!(matches!(
        observer.read_many(&["free"]),
        Err(StoreError::Unreachable { .. })
    ));
    server.start_again();
    assert!(observer.read_many(&["free"]).expect("it answers")[0].is_ok());
}
