//! Leader election by client-go: kube-scheduler, kube-controller-manager, and every controller built on it.
//!
//! A renewal is a loop of attempts, a `retryPeriod` apart, that gives up after `renewDeadline`; between two successful
//! ones lies a `retryPeriod`. So a leader may believe in itself for `retryPeriod` + pause + `renewDeadline` after its
//! last renewal, and another takes over `leaseDuration` after it saw that.

use super::reader::{Reader, own, told};
use crate::report::Check;
use crate::subject::{Knob, Knobs, Rules, Subject, Write};
use std::time::Duration;

pub(super) const MARKS: &[&str] = &[
    "leaseDuration",
    "leader-elect-lease-duration",
    "leader-election-lease-duration",
    "renewDeadline",
    "leader-elect-renew-deadline",
    "leader-election-renew-deadline",
];

const LEASE: [&str; 3] = [
    "leaseDuration",
    "leader-elect-lease-duration",
    "leader-election-lease-duration",
];

const DEADLINE: [&str; 3] = [
    "renewDeadline",
    "leader-elect-renew-deadline",
    "leader-election-renew-deadline",
];

const RETRY: [&str; 3] = [
    "retryPeriod",
    "leader-elect-retry-period",
    "leader-election-retry-period",
];

/// client-go's own factor between two attempts.
const JITTER: f64 = 1.2;

pub(super) fn read(reader: &Reader<'_>) -> Result<Subject, String> {
    let number =
        |names: [&str; 3], default: u64, whose: &str| reader.number(&names, None, Duration::from_secs(default), whose);
    let ttl = number(LEASE, 15, "--leader-elect-lease-duration, 15s")?;
    let renew = number(DEADLINE, 10, "--leader-elect-renew-deadline, 10s")?;
    let retry = number(RETRY, 2, "--leader-elect-retry-period, 2s")?;
    let mut told_of = Vec::new();
    if let Some(off) = reader
        .set(&["leaderElect", "leader-elect"])?
        .filter(|it| it.value == "false")
    {
        let says = "leader election is switched off here: with more than one replica all of them lead";
        told_of.push(told("leader-elect", says, Some(off.line)));
    }
    let knob = |key: &str, least: Duration| Knob {
        key: key.to_owned(),
        step: Duration::from_millis(1),
        least,
        most: None,
        // The names of the flags begin so, those of the fields never.
        write: match key.starts_with("leader-elect") {
            true => Write::Flag,
            false => Write::YamlUnits,
        },
        times: 1,
    };
    Ok(Subject {
        own: told_of,
        rules: Rules::new(rules),
        knobs: Knobs {
            heartbeat: Some(knob(&retry.key, Duration::from_millis(500))),
            renew_timeout: Some(knob(&renew.key, Duration::from_secs(1))),
            ttl: Some(knob(&ttl.key, Duration::from_secs(1))),
            ..Knobs::default()
        },
        ..reader.subject(ttl, retry, renew)
    })
}

/// What client-go refuses to start with.
fn rules(subject: &Subject) -> Vec<Check> {
    let (ttl, renew, retry) = (&subject.ttl, &subject.renew_timeout, &subject.heartbeat);
    let least = retry.span.mul_f64(JITTER);
    vec![
        own(
            "lease-over-deadline",
            ttl.span > renew.span,
            format!(
                "client-go demands leaseDuration ({:?}) > renewDeadline ({:?})",
                ttl.span, renew.span
            ),
            "a shorter renewDeadline",
            renew.line,
        ),
        own(
            "deadline-over-retry",
            renew.span > least,
            format!(
                "client-go demands renewDeadline ({:?}) > retryPeriod × 1.2 ({least:?})",
                renew.span
            ),
            "a shorter retryPeriod",
            retry.line,
        ),
    ]
}
