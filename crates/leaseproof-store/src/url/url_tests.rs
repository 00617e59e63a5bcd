//! URLs that are understood, and what errors show of those that are not.

use super::*;

fn url(text: &str) -> StoreUrl {
    text.parse().expect(text)
}

#[test]
fn urls_ok() {
    // Text, shown.
    for (text, shown) in [
        ("sqlite:.leaseproof/locks.db", "sqlite:.leaseproof/locks.db"),
        ("sqlite:///tmp/a b.db", "sqlite:/tmp/a b.db"),
    ] {
        let parsed = url(text);
        assert_eq!(parsed.to_string(), shown);
        assert_eq!(format!("{parsed:?}"), shown);
        assert!(parsed.is_loopback(), "{text}");
        assert_eq!(parsed.host_port(), None);
        assert_eq!(url(&parsed.with_secrets()), parsed);
    }
}

#[test]
fn urls_bad() {
    for (text, part) in [
        ("", "no scheme"),
        ("/tmp/locks.db", "no scheme"),
        ("sqlite:", "path is missing"),
        ("sqlite::memory:", "in memory"),
        ("unix:///run/redis.sock", "unix socket"),
        ("valkey://h", "redis://"),
        ("http://h", "no store"),
    ] {
        let error = text.parse::<StoreUrl>().expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn no_error_shows_a_password() {
    for text in [
        "redis://me:hunter2@h/x",
        "redis://me:hunter2@h:99999",
        "redis://me:hun@ter2@h?bad=1",
        "http://me:hunter2@h",
    ] {
        let error = text.parse::<StoreUrl>().expect_err(text).to_string();
        assert!(!error.contains("hunter2") && !error.contains("ter2"), "{error}");
    }
}

/// Whatever form it is given in, whole or not.
#[test]
fn no_error_shows_a_password_of_a_malformed_url() {
    // Text, as the error shows it.
    for (text, shown) in [
        ("redis:/u:s3cret@127.0.0.1:7461", "redis:/u:***@127.0.0.1:7461"),
        ("redis:u:s3cret@127.0.0.1:7461", "redis:***@127.0.0.1:7461"),
        ("u:s3cret@127.0.0.1:7461", "u:***@127.0.0.1:7461"),
        ("u:p://s3cret@h", "u:***@h"),
        (":s3cret@h", ":***@h"),
        (
            "redis://127.0.0.1:7461/0?password=s3cret",
            "redis://127.0.0.1:7461/0?password=***",
        ),
        ("redis://h/0?Auth_Token=s3cret&x=1", "redis://h/0?Auth_Token=***&x=***"),
        ("redis://h/0?apikey=s3cret&ca=a.pem", "redis://h/0?apikey=***&ca=a.pem"),
        (
            "redis+sentinel://h:1/m?sentinel_pasword=s3cret",
            "redis+sentinel://h:1/m?sentinel_pasword=***",
        ),
        ("redis://h:1/0?password=s3@cret", "redis://h:***"),
        ("redis://me:s3/cret@h", "redis://me:***@h"),
        ("redis://me:1/s3cret@h", "redis://me:***@h"),
        ("redis://me:1?s3cret@h", "redis://me:***@h"),
        ("redis://me:s3:cret@h/x", "redis://me:***@h/x"),
        ("host=localhost password=s3cret", "host=localhost password=***"),
        (
            "host=h password = 's3cret s3cret' user=me",
            "host=h password = *** user=me",
        ),
        #[cfg(feature = "postgres")]
        (
            "postgres://u:x@h/db?sslmode=weird&password=s3cret2",
            "postgres://u:***@h/db?sslmode=weird&password=***",
        ),
        #[cfg(feature = "postgres")]
        (
            "postgres://h/db?sslmode=a password=s3cret",
            "postgres://h/db?sslmode=a password=***",
        ),
        #[cfg(feature = "postgres")]
        ("postgres://u:1/s3cret/x@h", "postgres://u:***@h"),
    ] {
        let error = text.parse::<StoreUrl>().expect_err(text);
        let StoreError::Url { url, .. } = &error else {
            panic!("{text}: {error}");
        };
        assert_eq!(url, shown);
        let says = format!("{error} {error:?}");
        assert!(!says.contains("s3") && !says.contains("cret"), "{says}");
    }
}

/// A server alone behind its one relay: once it was left where it was, and no fault of the network met its owner.
#[cfg(feature = "redis")]
#[test]
fn one_redis_server_moves_to_its_relay() {
    let url: StoreUrl = "redis://:pw@127.0.0.1:7001/3".parse().expect("a URL");
    let moved = url.with_places(&[("127.0.0.1".to_owned(), 9)]);
    assert_eq!(moved.with_secrets(), "redis://:pw@127.0.0.1:9/3");
}
