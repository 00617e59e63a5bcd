//! Lines in the words of owners, resources and the plan.

use super::{bytes, text};
use leaseproof_evidence::options::Options;
use leaseproof_evidence::patterns::{OwnerLine, ResourceLine};
use leaseproof_evidence::read;
use leaseproof_evidence::says::{Decision, Definite, OwnerSays, ResourceSays, Says};
use leaseproof_model::name::Token;
use std::time::Duration;

#[test]
fn expressions_of_the_plan_ok() {
    let mut options = Options {
        key: Some("orders".to_owned()),
        ..Options::default()
    };
    options
        .patterns
        .owner(
            OwnerLine::Acquired,
            "acquired",
            r"ich habe das Schloss, Marke (?P<token>\d+)",
        )
        .unwrap();
    options
        .patterns
        .resource(ResourceLine::Write, "write", r"Marke=(?P<token>\d+) -> (?P<status>\d+)")
        .unwrap();
    options.patterns.token_path("meta.fence");
    let evidence = read(
        &[bytes(
            "a",
            b"2026-11-30 02:56:54,844 INFO ich habe das Schloss, Marke 7\n2026-11-30 02:56:55,844 INFO Marke=6 -> 409\n{\"time\":\"2026-11-30T02:56:56Z\",\"msg\":\"put\",\"meta\":{\"fence\":7},\"status\":200}\n",
        )],
        &options,
    );
    let said: Vec<&Says> = evidence.records.iter().map(|record| &record.says).collect();
    assert!(
        matches!(
            said[0],
            Says::Owner(OwnerSays::Acquired {
                token: Some(Token(7)),
                ..
            })
        ),
        "{said:?}"
    );
    assert!(
        matches!(
            said[1],
            Says::Resource(ResourceSays::Write {
                token: Some(Token(6)),
                decision: Decision::Rejected,
                ..
            })
        ),
        "{said:?}"
    );
    assert!(
        matches!(
            said[2],
            Says::Resource(ResourceSays::Write {
                token: Some(Token(7)),
                decision: Decision::Accepted,
                ..
            })
        ),
        "{said:?}"
    );
}

/// What a line must be read as, or must not.
#[test]
fn lines_ok_and_bad() {
    let owner = |line: &str| {
        text(line).records.into_iter().find_map(|record| match record.says {
            Says::Owner(said) => Some((said, record.by)),
            _ => None,
        })
    };
    for (line, name, by) in [
        (
            "2026-11-30 02:56:54.844 ERROR [redisson-timer-4-1] org.redisson.renewal - Can't update lock orders expiration",
            "owner renewal failed",
            "redisson",
        ),
        (
            "I1130 02:56:54.123456    1234 leaderelection.go:260] successfully acquired lease kube-system/my-controller",
            "owner acquired",
            "client-go",
        ),
        (
            "E1130 02:56:54.123456    1234 leaderelection.go:308] failed to renew lease kube-system/my-controller: timed out waiting for the condition",
            "owner lost",
            "client-go",
        ),
        (
            "I1130 02:56:54.123456    1234 leaderelection.go:308] \"Failed to renew lease\" lock=\"ns/name\" err=\"context deadline exceeded\"",
            "owner lost",
            "client-go",
        ),
        (
            "2026-11-30 02:56:54,844 [main-EventThread] INFO  ConnectionStateManager - State change: LOST",
            "owner session lost",
            "curator",
        ),
        (
            "2026-11-30 02:56:54,844 WARNING kazoo.client Connection dropped: socket connection broken",
            "owner disconnected",
            "kazoo",
        ),
        (
            "{\"level\":\"warn\",\"ts\":\"2026-11-30T02:56:02.573Z\",\"caller\":\"app/x.go:1\",\"msg\":\"error occurred during lease keep alive loop\"}",
            "owner renewal failed",
            "etcd-client",
        ),
        (
            "2026-11-30 02:56:54,844: DEBUG/Process] beat: Extending lock...",
            "owner renew sent",
            "redbeat",
        ),
        ("2026-11-30T02:56:54Z lost lease orders", "owner lost", "words"),
        (
            "{\"lease\": \"renewed\", \"token\": 1, \"boot_ns\": 1685628692596}",
            "owner renewed",
            "leaseproof",
        ),
        (
            "{\"level\":30,\"time\":1796007276299,\"pid\":12,\"hostname\":\"a\",\"msg\":\"lock acquired\",\"key\":\"orders\",\"token\":9}",
            "owner acquired",
            "words",
        ),
    ] {
        let (said, read_by) = owner(line).unwrap_or_else(|| panic!("{line}: {:?}", text(line)));
        assert_eq!((said.name(), read_by), (name, by), "{line}");
    }
    for line in [
        "2026-11-30T02:56:54Z database lock wait",
        "2026-11-30T02:56:54Z clock is fine, token bucket refilled",
        "2026-11-30 02:56:54.844 UTC [123] LOG:  process 99 still waiting for ExclusiveLock on transaction 5 after 1000.1 ms",
        "2026-11-30T02:56:54Z acquired 12 connections",
        "2026-11-30T02:56:54Z blocked, locksmith called",
        "the lock was lost in 2019",
    ] {
        assert_eq!(owner(line), None, "{line}");
    }
    let refused = text(
        "2026-11-30 03:02:19,301 ERROR app extend failed\nTraceback (most recent call last):\n    raise LockNotOwnedError(\"Cannot extend a lock that's no longer owned\")\nredis.exceptions.LockNotOwnedError: Cannot extend a lock that's no longer owned\n",
    );
    let definite: Vec<_> = refused
        .records
        .iter()
        .filter(|record| {
            matches!(
                &record.says,
                Says::Owner(OwnerSays::RenewalFailed {
                    definite: Definite::Refused,
                    ..
                })
            )
        })
        .collect();
    assert_eq!(definite.len(), 1, "{:?}", refused.records);
    assert!(definite[0].wall.is_some(), "a line below a stamped one has its stamp");
}

/// Programs that write fields behind their words.
#[test]
fn words_with_fields_ok() {
    let text = text(
        "2026-11-30 18:20:01,123 INFO [renewer] lease acquired key=lock:orders holder=worker-a token=41 ttl=3000ms heartbeat=1000ms\n\
         2026-11-30 18:20:02,124 INFO [renewer] lease renewed key=lock:orders token=41\n\
         2026-11-30 18:20:05,124 WARNING [renewer] lease renewal refused key=lock:orders token=41: not the holder\n\
         2026-11-30 18:20:05,124 WARNING [renewer] lease renewal failed key=lock:orders token=41: timed out\n\
         2026-11-30 18:20:05,125 ERROR [renewer] lease lost key=lock:orders token=41: expired\n\
         2026-11-30 18:20:06,001 INFO [worker] write done key=lock:orders token=41\n\
         2026-11-30 18:20:06,001 INFO [renewer] lease released key=lock:orders token=41\n\
         2026-11-30T18:20:06.001Z write accepted token=41 owner=worker-a serial=17\n\
         2026-11-30T18:20:06.001Z write rejected token=41 owner=worker-a serial=18\n",
    );
    let said: Vec<&str> = text.records.iter().map(|record| record.says.name()).collect();
    assert_eq!(
        said,
        [
            "setting",
            "owner acquired",
            "owner renewed",
            "owner renewal failed",
            "owner renewal failed",
            "owner lost",
            "owner wrote",
            "owner released",
            "resource write",
            "resource write",
        ]
    );
    let Says::Owner(OwnerSays::Acquired {
        key,
        token,
        ttl,
        holder,
    }) = &text.records[1].says
    else {
        panic!()
    };
    assert_eq!(
        (key.as_deref(), *token, *ttl),
        (Some("lock:orders"), Some(Token(41)), Some(Duration::from_secs(3)))
    );
    assert_eq!(
        (holder.as_deref(), text.records[1].author.thread.as_deref()),
        (Some("worker-a"), Some("renewer"))
    );
    let definite: Vec<Definite> = text
        .records
        .iter()
        .filter_map(|record| match record.says {
            Says::Owner(OwnerSays::RenewalFailed { definite, .. }) => Some(definite),
            _ => None,
        })
        .collect();
    assert_eq!(definite, [Definite::Refused, Definite::Unknown]);
    let Says::Resource(ResourceSays::Write { decision, serial, .. }) = &text.records[9].says else {
        panic!()
    };
    assert_eq!((*decision, *serial), (Decision::Rejected, Some(18)));
}

/// Writes without a token are read where they name the key, and what nobody answered is no refusal.
#[test]
fn writes_without_a_token_ok_and_bad() {
    let options = Options {
        key: Some("locks/orders".to_owned()),
        ..Options::default()
    };
    let said = |text: &str| -> Vec<&'static str> {
        let evidence = read(&[bytes("m", text.as_bytes())], &options);
        evidence.records.iter().map(|record| record.says.name()).collect()
    };
    for (line, wanted) in [
        (
            "2026-11-30T18:20:06.001Z INFO storage: write accepted key=locks/orders client=worker-a\n",
            vec!["resource write"],
        ),
        (
            "2026-11-30T18:20:06.001Z INFO storage: write accepted client=worker-a\n",
            vec![],
        ),
        (
            "10.0.0.7 - worker-a [30/Nov/2026:18:20:06 +0000] \"POST /locks/orders HTTP/1.1\" 200 17 \"-\" \"w/1\"\n",
            vec!["resource write"],
        ),
        (
            "10.0.0.7 - worker-a [30/Nov/2026:18:20:06 +0000] \"POST /carts/7 HTTP/1.1\" 200 17 \"-\" \"w/1\"\n",
            vec![],
        ),
        (
            "{\"time\":\"2026-11-30T18:20:06.001Z\",\"method\":\"POST\",\"path\":\"/locks/orders\",\"status\":200,\"client\":\"worker-a\"}\n",
            vec!["resource write"],
        ),
        (
            "{\"time\":\"2026-11-30T18:20:06.001Z\",\"method\":\"GET\",\"path\":\"/locks/orders\",\"status\":200,\"client\":\"worker-a\"}\n",
            vec![],
        ),
    ] {
        assert_eq!(said(line), wanted, "{line}");
    }
    let failed = read(
        &[bytes(
            "m",
            b"2026-11-30T18:20:05.124Z WARN lease renewal failed key=locks/orders: Connection refused\n",
        )],
        &options,
    );
    assert!(matches!(
        failed.records[0].says,
        Says::Owner(OwnerSays::RenewalFailed {
            definite: Definite::Unknown,
            ..
        })
    ));
}

/// What a renewal's failure is taken for, by the line.
fn failed(line: &str) -> Option<Definite> {
    let line = format!("{{\"ts\":\"2026-12-01T02:17:00.745Z\",\"level\":\"warn\",{line},\"key\":\"locks/orders\"}}\n");
    let evidence = read(&[bytes("a", line.as_bytes())], &Options::default());
    evidence.records.iter().find_map(|record| match &record.says {
        Says::Owner(OwnerSays::RenewalFailed { definite, .. }) => Some(*definite),
        _ => None,
    })
}

#[test]
fn a_reason_beside_the_message_ok() {
    let line = r#""msg":"lease renewal failed","reason":"not the holder""#;
    assert_eq!(failed(line), Some(Definite::Refused));
    let line = r#""msg":"lease renewal failed","error":"lock is no longer owned""#;
    assert_eq!(failed(line), Some(Definite::Refused));
}

#[test]
fn a_reason_that_is_no_refusal_bad() {
    let line = r#""msg":"lease renewal failed","reason":"the store did not answer within 200ms""#;
    assert_eq!(failed(line), Some(Definite::Unknown));
    let line = r#""msg":"lease renewal failed","error":"connection refused""#;
    assert_eq!(failed(line), Some(Definite::Unknown));
}
