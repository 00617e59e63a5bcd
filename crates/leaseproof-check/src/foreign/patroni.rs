//! Patroni: the leader key lives for `ttl`, and its leader renews it once a loop.
//!
//! Before the renewal the loop reads the cluster; each of the two may be retried for `retry_timeout`. That is Patroni's
//! own rule, `loop_wait + 2 * retry_timeout <= ttl`, and leaves the pause what is left.

use super::reader::{Reader, SECOND, own, seconds, told};
use crate::subject::{Knob, Knobs, Number, Origin, Subject, Write};
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
    let mut rules = vec![own(
        "patroni-rule",
        loop_wait.span + twice.span <= ttl.span,
        format!(
            "Patroni demands loop_wait ({:?}) + 2 × retry_timeout ({:?}) ≤ ttl ({:?})",
            loop_wait.span, retry.span, ttl.span
        ),
        "a shorter loop_wait or retry_timeout",
        retry.line.or(loop_wait.line).or(ttl.line),
    )];
    for (number, least) in [(&ttl, 20), (&loop_wait, 1), (&retry, 3)] {
        if number.span < Duration::from_secs(least) {
            let says = format!(
                "Patroni takes no {} below {least} s, and it is {:?}",
                number.key, number.span
            );
            rules.push(own(
                "patroni-least",
                false,
                says,
                "the least that it takes, or more",
                number.line,
            ));
        }
    }
    if reader
        .settings
        .find(&["consul.host", "consul.url", "consul.port"])
        .next()
        .is_some()
    {
        let says = "Patroni asks Consul for a session of half the ttl, since Consul may let it live for twice as long";
        rules.push(told("consul-ttl", says, ttl.line));
    }
    Ok(Subject {
        own: rules,
        knobs: Knobs {
            heartbeat: Some(seconds("loop_wait", 1, Write::YamlSeconds)),
            renew_timeout: Some(Knob {
                step: Duration::from_secs(2),
                times: 2,
                ..seconds("retry_timeout", 6, Write::YamlSeconds)
            }),
            ttl: Some((seconds("ttl", 20, Write::YamlSeconds), (0, 1))),
        },
        ..reader.subject(ttl, loop_wait, twice)
    })
}
