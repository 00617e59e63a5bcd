//! URLs of one Redis server, of Sentinels, of a cluster, and of a quorum.

use super::*;
use crate::url::StoreUrl;

fn url(text: &str) -> StoreUrl {
    text.parse().expect(text)
}

fn redis(text: &str) -> RedisUrl {
    match url(text) {
        StoreUrl::Redis(url) => *url,
        other => panic!("{other} is no Redis"),
    }
}

#[test]
fn urls_ok() {
    // Text, shown, loopback, host and port.
    for (text, shown, loopback, place) in [
        (
            "redis://127.0.0.1:7000",
            "redis://127.0.0.1:7000",
            true,
            Some(("127.0.0.1", 7000)),
        ),
        (
            "redis://localhost/2",
            "redis://localhost/2",
            true,
            Some(("localhost", 6379)),
        ),
        ("redis://[::1]:1/", "redis://[::1]:1/", true, Some(("::1", 1))),
        (
            "redis://:p%40ss@10.0.0.1",
            "redis://:***@10.0.0.1",
            false,
            Some(("10.0.0.1", 6379)),
        ),
        (
            "rediss://me:secret@db.example:1?ca=/ca.pem",
            "rediss://me:***@db.example:1?ca=/ca.pem",
            false,
            Some(("db.example", 1)),
        ),
        (
            "redis+sentinel://127.0.0.1/mymaster",
            "redis+sentinel://127.0.0.1:26379/mymaster",
            true,
            None,
        ),
        (
            "redis+sentinel://me:p%40ss@127.0.0.1:1,[::1]:2/my%20master/3?sentinel_user=s&sentinel_password=hun%26ter2",
            "redis+sentinel://me:***@127.0.0.1:1,[::1]:2/my%20master/3?sentinel_user=s&sentinel_password=***",
            true,
            None,
        ),
        (
            "rediss+cluster://:secret@localhost:1,db.example:2?ca=/ca.pem",
            "rediss+cluster://:***@localhost:1,db.example:2?ca=/ca.pem",
            false,
            None,
        ),
        (
            "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/4",
            "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/4",
            true,
            Some(("127.0.0.1", 1)),
        ),
        ("redlocks://h:1,g:2,f:3", "redlocks://h:1,g:2,f:3", false, None),
    ] {
        let parsed = url(text);
        assert_eq!(parsed.to_string(), shown);
        assert_eq!(format!("{parsed:?}"), shown);
        assert_eq!(parsed.is_loopback(), loopback, "{text}");
        assert_eq!(parsed.host_port(), place);
        assert_eq!(redis(&parsed.with_secrets()).with_secrets(), parsed.with_secrets());
    }
}

#[test]
fn urls_bad() {
    for (text, part) in [
        ("redis://", "host"),
        ("redis://h/x", "no number"),
        ("redis://h/-1", "no number"),
        ("redis://h:99999", "port"),
        ("redis://me@h", "no password"),
        ("redis://h?ca=/x", "rediss"),
        ("redis://h?timeout=1", "not known"),
        ("redis://h:1,g:2", "several servers"),
        ("redis+sentinel://h:1", "service is missing"),
        ("redis+sentinel://h:1/s/x", "no number"),
        ("redis+sentinel://h:1/s/1/2", "service is missing"),
        ("redis+sentinel://h:1,/s", "host"),
        ("redis+sentinel://h:1,h:1/s", "twice"),
        ("redis+sentinel://h:1,g:x/s", "port"),
        ("redis+sentinel://h/s?sentinel_user=me", "no sentinel_password"),
        ("redis+sentinel://h/s?password=hunter2", "sentinel_password are"),
        ("redis+cluster://h:1/3", "no databases"),
        ("redis+cluster://h:1?sentinel_password=hunter2", "not known"),
        ("redlock://h:1,g:1", "3 servers at least"),
        ("redlock://h:1,g:1,f:1/x", "no number"),
        ("redlock://h:1,g:1,f:1?ca=/x", "redlocks"),
    ] {
        let error = text.parse::<StoreUrl>().expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
        assert!(!error.contains("hunter2"), "{text}: {error}");
    }
}

#[test]
fn what_a_url_of_many_says() {
    let many = redis("redis+sentinel://me:p%40ss@h:1,g:2/m%2Fm/3?sentinel_password=hun%26ter2");
    let Way::Sentinel {
        service,
        user,
        password,
    } = &many.way
    else {
        panic!("it is a Sentinel's");
    };
    assert_eq!((service.as_str(), user.as_deref()), ("m/m", None));
    assert_eq!(password.as_deref(), Some("hun&ter2"));
    assert_eq!((many.db, many.password.as_deref()), (3, Some("p@ss")));
    assert_eq!(many.secrets(), ["p%40ss", "hun&ter2", "hun%26ter2"]);
    let quorum = redis("redlock://:x@h:1,g:2,f:3/4");
    let relays: Vec<(String, u16)> = (7..10).map(|port| ("127.0.0.1".to_owned(), port)).collect();
    let behind = quorum.behind(&relays);
    assert_eq!(
        behind.with_secrets(),
        "redlock://:x@127.0.0.1:7,127.0.0.1:8,127.0.0.1:9/4"
    );
    assert_eq!(redis(&behind.with_secrets()).places, behind.places);
    let cluster = redis("redis+cluster://h:1,g:2,f:3");
    assert_eq!(cluster.behind(&relays), cluster);
    let quorum = redis("redlocks://:x@h:1,[::1]:2,f:3/4?server_name=n");
    let alone = quorum.alone(&quorum.places[1]);
    assert_eq!(alone.with_secrets(), "rediss://:x@[::1]:2/4?server_name=n");
    assert_eq!(redis(&alone.with_secrets()), alone);
}

#[test]
fn a_relay_in_front_keeps_the_rest() {
    let moved = url("rediss://me:s%23@db.example:1/3?ca=/ca.pem").with_host_port("127.0.0.1", 9);
    assert_eq!(
        moved.with_secrets(),
        "rediss://me:s%23@127.0.0.1:9/3?ca=/ca.pem&server_name=db.example"
    );
    assert_eq!(url(&moved.with_secrets()), moved);
    let server = redis(&moved.with_secrets());
    assert_eq!(server.tls_name(server.place()), "db.example");
    assert_eq!(server.password.as_deref(), Some("s#"));
    let plain = url("redis://localhost:1").with_host_port("::1", 9);
    assert_eq!(plain.with_secrets(), "redis://[::1]:9");
    assert_eq!(plain.host_port(), Some(("::1", 9)));
}
