//! A Consul session: `PUT /v1/session/create`. The clients renew at half of its TTL; the server lets it live for up to
//! twice that, and keeps the key from others for the lock-delay after it.

use super::reader::{Reader, derived, no_timeout, own, seconds, told};
use crate::report::{Answer, Check};
use crate::subject::{Knob, Knobs, Rules, Shares, Subject, Write, part};
use std::time::Duration;

pub(super) const MARKS: &[&str] = &["LockDelay", "lock_delay", "session_ttl"];

const TTL: &[&str] = &["TTL", "session_ttl"];

pub(super) fn read(reader: &Reader<'_>) -> Result<Subject, String> {
    let none = reader.set(TTL)?.is_none_or(|it| it.value.is_empty());
    let ttl = reader.ttl(
        if none { &[] } else { TTL },
        None,
        Duration::from_secs(15),
        "api.DefaultLockSessionTTL, 15s",
    )?;
    // Go's time.Duration as JSON: a bare number is nanoseconds; below 1000 the server takes it for seconds.
    let delay = match reader.set(&["LockDelay", "lock_delay"])? {
        Some(setting) if setting.value.parse::<f64>().is_ok_and(|number| number >= 1000.0) => {
            reader.number_of(&setting, Some(Duration::from_nanos(1)))?
        }
        Some(setting) => reader.number_of(&setting, Some(Duration::from_secs(1)))?,
        None => reader.number(&["LockDelay"], None, Duration::from_secs(15), "Consul's LockDelay, 15s")?,
    };
    let (least, most) = (Duration::from_secs(10), Duration::from_secs(86_400));
    let mut told_of = Vec::new();
    if none && reader.given.ttl.is_none() && reader.set(MARKS)?.is_some() {
        let says = "the session has no TTL: it ends when a health check of its node fails, whenever that is; judged here is the \
                    TTL that the clients' own locks have";
        told_of.push(Check::new("session-ttl", Answer::CannotTell, says).remedy("give the session a TTL"));
    }
    told_of.push(match delay.span.is_zero() {
        true => told(
            "lock-delay",
            "without a lock-delay the next holder begins at the moment at which the session ends: a holder that wakes then \
             meets it at once",
            delay.line,
        ),
        false => told(
            "lock-delay",
            format!(
                "for {:?} after the session's end nobody gets the key: so long a holder that wakes late is alone",
                delay.span
            ),
            delay.line,
        ),
    });
    let heartbeat = derived(
        "half of it",
        part(ttl.span, 2),
        "the clients renew each TTL / 2 (api.RenewPeriodic)",
    );
    let facts = (reader.facts)(&format!(
        "consul://127.0.0.1?lock_delay={}ms",
        delay.span.as_millis().min(60_000)
    ))?;
    Ok(Subject {
        store: Some(facts),
        own: told_of,
        rules: Rules::new(move |subject| vec![bounds(subject, least, most)]),
        knobs: Knobs {
            ttl: Some(Knob {
                most: Some(most),
                ..seconds(&ttl.key, 10, Write::YamlUnits)
            }),
            ..Knobs::default()
        },
        shares: Shares {
            heartbeat: Some(2),
            renew_timeout: None,
        },
        ..reader.subject(ttl, heartbeat, no_timeout("the Go client"))
    })
}

fn bounds(subject: &Subject, least: Duration, most: Duration) -> Check {
    let ttl = subject.ttl.span;
    own(
        "session-ttl",
        (least..=most).contains(&ttl),
        format!("Consul takes session TTLs from 10 s to 24 h, and this is {ttl:?}"),
        match ttl > most {
            true => "a TTL of at most 24h",
            false => "a TTL of at least 10s; a faster takeover needs another store",
        },
        subject.ttl.line,
    )
}
