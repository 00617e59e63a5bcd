//! An etcd session (`concurrency.NewSession`, `etcdctl lock`): a lease that the client keeps alive each third of its TTL.

use super::reader::{Reader, SECOND, derived, no_timeout, seconds};
use crate::subject::{Knobs, Shares, Subject, Write, part};
use std::time::Duration;

pub(super) const MARKS: &[&str] = &["etcd-session-ttl", "etcd.session.ttl", "etcd-lease-ttl"];

pub(super) fn read(reader: &Reader<'_>) -> Result<Subject, String> {
    let (default, whose) = match reader.text.contains("etcdctl") {
        true => (10, "etcdctl lock --ttl, 10 s"),
        false => (60, "concurrency.NewSession, 60 s"),
    };
    let names = [
        "ttl",
        "session-ttl",
        "etcd-session-ttl",
        "lease-ttl",
        "etcd-lease-ttl",
        "WithTTL",
    ];
    let ttl = reader.ttl(&names, SECOND, Duration::from_secs(default), whose)?;
    let heartbeat = derived(
        "a third of it",
        part(ttl.span, 3),
        "clientv3 keeps a lease alive each TTL / 3",
    );
    Ok(Subject {
        store: Some((reader.facts)("etcd://127.0.0.1")?),
        knobs: Knobs {
            ttl: Some(seconds(&ttl.key, 2, Write::AssignSeconds)),
            ..Knobs::default()
        },
        shares: Shares {
            heartbeat: Some(3),
            renew_timeout: None,
        },
        ..reader.subject(ttl, heartbeat, no_timeout("clientv3"))
    })
}
