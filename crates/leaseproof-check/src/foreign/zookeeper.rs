//! A ZooKeeper session: its time-out is negotiated between what the client asks for and what the server allows.
//!
//! The client pings after a third of it without traffic, and gives a server up that is silent for two thirds: a ping
//! may take a third before it has failed.

use super::reader::{MILLI, Reader, derived, own};
use crate::report::{Answer, Check};
use crate::subject::{Knob, Knobs, Number, Origin, Shares, Subject, Write, part};
use std::time::Duration;

pub(super) const MARKS: &[&str] = &[
    "tickTime",
    "minSessionTimeout",
    "maxSessionTimeout",
    "zookeeper.session.timeout",
    "zookeeper.session.timeout.ms",
];

/// What clients call it.
const SESSION: &[&str] = &[
    "sessionTimeout",
    "session_timeout",
    "sessionTimeoutMs",
    "zookeeper.session.timeout",
    "zookeeper.session.timeout.ms",
];

pub(super) fn read(reader: &Reader<'_>) -> Result<Subject, String> {
    let tick = reader.number(
        &["tickTime"],
        MILLI,
        Duration::from_secs(3),
        "ZooKeeper's tickTime, 3000 ms",
    )?;
    let bound = |name: &str, ticks: u32| {
        // -1 is the default, spelt out.
        let set = reader.set(&[name])?.filter(|it| it.value != "-1");
        match set {
            Some(setting) => reader.number_of(&setting, MILLI),
            None => Ok(derived(name, tick.span * ticks, &format!("{ticks} ticks"))),
        }
    };
    let (least, most) = (bound("minSessionTimeout", 2)?, bound("maxSessionTimeout", 20)?);
    let asked = reader.optional(SESSION, MILLI)?;
    let mut rules = vec![own(
        "session-bounds",
        least.span <= most.span,
        format!("the server grants {:?} to {:?}", least.span, most.span),
        "a minSessionTimeout below maxSessionTimeout",
        least.line.or(most.line).or(tick.line),
    )];
    let ttl = match (reader.given.ttl, asked) {
        (Some(span), _) => Number::new("session time-out", span, Origin::CommandLine),
        (None, Some(asked)) => asked,
        (None, None) => {
            let says = format!(
                "what the client asks for is not in the file; by the server it is {:?} at least, which is taken here",
                least.span
            );
            rules.push(
                Check::new("session-timeout", Answer::CannotTell, says)
                    .at(tick.line)
                    .remedy("give the client's session time-out: --ttl 10s"),
            );
            Number::new(
                "session time-out",
                least.span,
                Origin::Derived("the least that is granted".to_owned()),
            )
        }
    };
    let negotiated = ttl.span.max(least.span).min(most.span.max(least.span));
    let mut facts = (reader.facts)("zookeeper://127.0.0.1")?;
    facts.ttl_floor = Some(least.span);
    facts.ttl_ceiling = Some(most.span);
    let third = part(negotiated, 3);
    let knob = Knob {
        key: ttl.key.clone(),
        step: tick.span.max(Duration::from_millis(1)),
        least: least.span,
        most: Some(most.span),
        write: Write::YamlMillis,
        times: 1,
    };
    let heartbeat = derived(
        "a third (ping)",
        third,
        "the client pings after a third without traffic",
    );
    let timeout = derived(
        "a third (give up)",
        third,
        "the client gives a server up after two thirds of silence",
    );
    Ok(Subject {
        store: Some(facts),
        own: rules,
        knobs: Knobs {
            ttl: Some(knob),
            ..Knobs::default()
        },
        shares: Shares {
            heartbeat: Some(3),
            renew_timeout: Some(3),
        },
        ..reader.subject(ttl, heartbeat, timeout)
    })
}
