//! ShedLock: a lock that nobody renews, unless by a `KeepAliveLockProvider`. It must outlive the whole run.

use super::reader::{MILLI, Reader, derived, no_timeout, own, seconds, told};
use super::settings::Setting;
use crate::report::{Answer, Check};
use crate::subject::{Knobs, Number, Origin, Rules, Shares, Subject, Write, part};
use std::time::Duration;

pub(super) const MARKS: &[&str] = &[
    "lockAtMostFor",
    "defaultLockAtMostFor",
    "defaults-lock-at-most-for",
    "shedlock.defaults.lock-at-most-for",
];

const DEFAULT: &[&str] = &[
    "defaultLockAtMostFor",
    "defaults-lock-at-most-for",
    "defaults.lock-at-most-for",
];

/// The shortest that a `KeepAliveLockProvider` takes.
const LEAST_KEPT_ALIVE: Duration = Duration::from_secs(30);

pub(super) fn read(reader: &Reader<'_>) -> Result<Vec<Subject>, String> {
    let own_times: Vec<&Setting> = reader.settings.find(&["lockAtMostFor"]).collect();
    let own_times: Vec<&Setting> = own_times
        .into_iter()
        .filter(|it| !DEFAULT.iter().any(|name| plain(&it.key).ends_with(&plain(name))))
        .collect();
    let default = reader.set(DEFAULT)?;
    let mut subjects = Vec::new();
    for setting in own_times {
        let names = reader.settings.find(&["name"]);
        let name = names
            .filter(|it| it.line == setting.line || it.line + 1 == setting.line)
            .last();
        subjects.push(one(reader, Some(setting), name.map(|it| it.value.clone()))?);
    }
    if let Some(default) = &default {
        subjects.push(one(reader, Some(default), Some("the default".to_owned()))?);
    }
    match (subjects.is_empty(), reader.given.ttl) {
        (true, None) => Err(format!(
            "{}: no lockAtMostFor is in it: give it with --ttl",
            reader.file
        )),
        (true, Some(_)) => Ok(vec![one(reader, None, None)?]),
        (false, _) => Ok(subjects),
    }
}

fn plain(key: &str) -> String {
    key.replace(['-', '_'], "").to_lowercase()
}

fn one(reader: &Reader<'_>, setting: Option<&Setting>, name: Option<String>) -> Result<Subject, String> {
    let mut ttl = match setting {
        Some(setting) => reader.number_of(setting, MILLI)?,
        None => Number::new("lockAtMostFor", Duration::ZERO, Origin::CommandLine),
    };
    if let Some(given) = reader.given.ttl {
        ttl = Number::new(&ttl.key, given, Origin::CommandLine);
    }
    let line = ttl.line;
    let kept_alive = reader.text.contains("KeepAliveLockProvider");
    let mut told_of = Vec::new();
    let at_least = reader
        .settings
        .find(&["lockAtLeastFor"])
        .find(|it| Some(it.line) == line)
        .map(|least| reader.number_of(least, MILLI))
        .transpose()?;
    let heartbeat = match (kept_alive, reader.given.longest_run) {
        (true, _) => derived(
            "half of it",
            part(ttl.span, 2),
            "KeepAliveLockProvider extends it in the middle of lockAtMostFor",
        ),
        (false, Some(run)) => Number::new("the longest run", run, Origin::CommandLine),
        (false, None) => {
            let says = "nobody renews this lock, so it must outlive the longest run of the job, and that is not said";
            told_of.push(
                Check::new("longest-run", Answer::CannotTell, says)
                    .at(line)
                    .remedy("measure it, and give it: --longest-run 4m"),
            );
            Number::new(
                "the longest run",
                Duration::ZERO,
                Origin::Default("not said".to_owned()),
            )
        }
    };
    told_of.push(told(
        "clocks",
        "ShedLock's times are wall-clock times of the applications' hosts, unless its provider uses the database's \
         (usingDbTime): allow for their drift with --max-clock-drift",
        line,
    ));
    let key = ttl.key.clone();
    Ok(Subject {
        name,
        renewed: kept_alive,
        own: told_of,
        rules: Rules::new(move |subject| rules(subject, at_least.as_ref())),
        knobs: Knobs {
            ttl: Some(seconds(&key, 1, Write::Iso)),
            ..Knobs::default()
        },
        shares: Shares {
            heartbeat: kept_alive.then_some(2),
            renew_timeout: None,
        },
        ..reader.subject(ttl, heartbeat, no_timeout("ShedLock"))
    })
}

/// What ShedLock itself demands.
fn rules(subject: &Subject, at_least: Option<&Number>) -> Vec<Check> {
    let (ttl, line) = (subject.ttl.span, subject.ttl.line);
    let mut rules = Vec::new();
    if let Some(least) = at_least {
        let says = format!(
            "ShedLock demands lockAtLeastFor ({:?}) ≤ lockAtMostFor ({ttl:?})",
            least.span
        );
        rules.push(own(
            "at-least-at-most",
            least.span <= ttl,
            says,
            "a shorter lockAtLeastFor",
            line,
        ));
    }
    if subject.renewed && ttl < LEAST_KEPT_ALIVE {
        let says = format!("a KeepAliveLockProvider takes no lockAtMostFor below 30 s, and it is {ttl:?}");
        rules.push(own("keep-alive", false, says, "30 s or more", line));
    }
    rules
}
