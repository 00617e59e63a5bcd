//! redbeat: one scheduler holds the lock, and extends it each time it wakes, at the latest after
//! `beat_max_loop_interval`.

use super::reader::{Reader, SECOND, no_timeout, own, seconds};
use super::settings::Setting;
use super::time::span;
use crate::report::Check;
use crate::subject::{Knobs, Number, Origin, Rules, Subject, Write};
use std::time::Duration;

pub(super) const MARKS: &[&str] = &[
    "redbeat_lock_timeout",
    "redbeat_redis_url",
    "redbeat_lock_key",
    "redbeat_key_prefix",
];

const INTERVAL: &[&str] = &[
    "beat_max_loop_interval",
    "celery_beat_max_loop_interval",
    "celerybeat_max_loop_interval",
];

const TIMEOUT: &[&str] = &["redbeat_lock_timeout", "celery_redbeat_lock_timeout"];

pub(super) fn read(reader: &Reader<'_>) -> Result<Subject, String> {
    let read = reader.number(
        INTERVAL,
        SECOND,
        Duration::from_secs(300),
        "redbeat's beat_max_loop_interval, 300 s",
    )?;
    // The lock follows from it, so what the call says wins already here.
    let interval = match reader.given.heartbeat {
        Some(span) => Number::new(&read.key, span, Origin::CommandLine),
        None => read,
    };
    let written = match reader.set(TIMEOUT)? {
        Some(setting) => Some(product(reader, &setting, &interval)?),
        None => None,
    };
    let follows = match &written {
        Some(_) => reader
            .set(TIMEOUT)?
            .is_some_and(|it| factors(&it.value).any(is_interval)),
        None => true,
    };
    let mut ttl = written.unwrap_or_else(|| {
        let whose = "redbeat's redbeat_lock_timeout, 5 × the interval";
        Number::new(
            "redbeat_lock_timeout",
            interval.span * 5,
            Origin::Default(whose.to_owned()),
        )
    });
    if let Some(given) = reader.given.ttl {
        ttl = Number::new(&ttl.key, given, Origin::CommandLine);
    }
    let timeout = reader
        .optional(&["redbeat_redis_options.socket_timeout", "socket_timeout"], SECOND)?
        .unwrap_or_else(|| no_timeout("redis-py"));
    let mut told_of = Vec::new();
    if let Some(off) = reader
        .set(&["redbeat_lock_key"])?
        .filter(|it| it.value == "None" || it.value == "null")
    {
        let says = "redbeat_lock_key is none: no lock is taken, and two schedulers send every task twice".to_owned();
        told_of.push(own(
            "lock-key",
            false,
            says,
            "leave redbeat_lock_key out",
            Some(off.line),
        ));
    }
    Ok(Subject {
        store: Some((reader.facts)("redis://127.0.0.1")?),
        own: told_of,
        rules: Rules::new(|subject| vec![outlives(subject)]),
        knobs: Knobs {
            // Where the lock's time-out is a multiple of the interval, a shorter one takes from both.
            heartbeat: (!follows || reader.given.ttl.is_some())
                .then(|| seconds("beat_max_loop_interval", 1, Write::AssignSeconds)),
            ttl: Some(seconds("redbeat_lock_timeout", 1, Write::AssignSeconds)),
            ..Knobs::default()
        },
        ..reader.subject(ttl, interval, timeout)
    })
}

/// The lock must be there when the scheduler wakes.
fn outlives(subject: &Subject) -> Check {
    let (ttl, interval) = (&subject.ttl, &subject.heartbeat);
    own(
        "lock-over-interval",
        ttl.span > interval.span,
        format!(
            "the lock ({:?}) must outlive the longest sleep of the scheduler ({:?})",
            ttl.span, interval.span
        ),
        "a shorter beat_max_loop_interval",
        interval.line.or(ttl.line),
    )
}

fn factors(value: &str) -> impl Iterator<Item = &str> {
    value.split('*').map(str::trim)
}

fn is_interval(factor: &str) -> bool {
    INTERVAL
        .iter()
        .any(|name| factor.eq_ignore_ascii_case(name) || factor.ends_with(&format!(".{name}")))
}

/// `1500`, `5 * 60`, `beat_max_loop_interval * 5`.
fn product(reader: &Reader<'_>, setting: &Setting, interval: &Number) -> Result<Number, String> {
    let place = |says: String| format!("{}:{}: redbeat_lock_timeout: {says}", reader.file, setting.line);
    let mut seconds = 1.0;
    for factor in factors(&setting.value) {
        seconds *= match is_interval(factor) {
            true => interval.span.as_secs_f64(),
            false => span(factor, SECOND).map_err(place)?.as_secs_f64(),
        };
    }
    let span = span(&seconds.to_string(), SECOND).map_err(place)?;
    if span.is_zero() {
        return Err(place("it is zero: no lock lives that short".to_owned()));
    }
    Ok(Number {
        line: Some(setting.line),
        ..Number::new("redbeat_lock_timeout", span, Origin::Written)
    })
}
