//! Patroni: the leader key lives for `ttl`, and its leader renews it once a loop.
//!
//! Before the renewal the loop reads the cluster; each of the two may be retried for `retry_timeout`. That is Patroni's
//! own rule, `loop_wait + 2 * retry_timeout <= ttl`, and leaves the pause what is left.

use super::reader::{Reader, SECOND, own, seconds, told};
use crate::report::Check;
use crate::subject::{Knob, Knobs, Number, Origin, Rules, Subject, Write};
use std::time::Duration;

pub(super) const MARKS: &[&str] = &["loop_wait", "retry_timeout", "bootstrap.dcs.ttl"];

pub(super) fn read(reader: &Reader<'_>) -> Result<Subject, String> {
    let ttl = reader.ttl(&["ttl"], SECOND, Duration::from_secs(30), "Patroni's ttl, 30 s")?;
    let loop_wait = reader.number(
        &["loop_wait"],
        SECOND,
        Duration::from_secs(10),
        "Patroni's loop_wait, 10 s",
    )?;
    let retry = reader.number(
        &["retry_timeout"],
        SECOND,
        Duration::from_secs(10),
        "Patroni's retry_timeout, 10 s",
    )?;
    let twice = Number {
        span: retry.span * 2,
        key: "2 × retry_timeout".to_owned(),
        origin: match &retry.origin {
            Origin::Default(whose) => Origin::Default(format!("twice {whose}")),
            written => written.clone(),
        },
        ..retry.clone()
    };
    let mut told_of = Vec::new();
    if reader
        .settings
        .find(&["consul.host", "consul.url", "consul.port"])
        .next()
        .is_some()
    {
        let says = "Patroni asks Consul for a session of half the ttl, since Consul may let it live for twice as long";
        told_of.push(told("consul-ttl", says, ttl.line));
    }
    Ok(Subject {
        own: told_of,
        rules: Rules::new(rules),
        knobs: Knobs {
            heartbeat: Some(seconds("loop_wait", 1, Write::YamlSeconds)),
            renew_timeout: Some(Knob {
                step: Duration::from_secs(2),
                times: 2,
                ..seconds("retry_timeout", 6, Write::YamlSeconds)
            }),
            ttl: Some(seconds("ttl", 20, Write::YamlSeconds)),
            ..Knobs::default()
        },
        ..reader.subject(ttl, loop_wait, twice)
    })
}

/// What Patroni itself demands.
fn rules(subject: &Subject) -> Vec<Check> {
    let (ttl, loop_wait, twice) = (&subject.ttl, &subject.heartbeat, &subject.renew_timeout);
    let retry = twice.span / 2;
    let mut rules = vec![own(
        "patroni-rule",
        loop_wait.span + twice.span <= ttl.span,
        format!(
            "Patroni demands loop_wait ({:?}) + 2 × retry_timeout ({retry:?}) ≤ ttl ({:?})",
            loop_wait.span, ttl.span
        ),
        "a shorter loop_wait or retry_timeout",
        twice.line.or(loop_wait.line).or(ttl.line),
    )];
    for (key, span, least, line) in [
        (ttl.key.as_str(), ttl.span, 20, ttl.line),
        (&loop_wait.key, loop_wait.span, 1, loop_wait.line),
        ("retry_timeout", retry, 3, twice.line),
    ] {
        if span < Duration::from_secs(least) {
            let says = format!("Patroni takes no {key} below {least} s, and it is {span:?}");
            rules.push(own(
                "patroni-least",
                false,
                says,
                "the least that it takes, or more",
                line,
            ));
        }
    }
    rules
}
