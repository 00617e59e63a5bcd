//! General words for a lease in a program's own log. Weaker than all else, and marked so.

use super::{named, say};
use crate::format::scan::{field, has, word};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{Decision, Definite, OwnerSays, ResourceSays, Says, Setting, SettingName};
use crate::when::StampMeans;
use regex::Regex;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

const BY: &str = "words";

static SUBJECT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b(locks?|lease|leader|leadership|mutex|fencing)\b").ok());
static FAILED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(fail(ed|ure|s)?|error|could not|couldn't|cannot|can't|unable|timed out|timeout|refused|rejected)\b",
    )
    .ok()
});
static VERB: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:(?P<renew>renew(?:ed|al|ing|s)?|extend(?:ed|ing)?|refresh(?:ed|ing)?|heartbeat|keepalive)|(?P<lost>lost|no longer (?:hold|held|own|leader)\w*|stolen|expired|stopped leading|evicted)|(?P<released>released?|unlocked|gave up)|(?P<held>still hold(?:s|ing)?|holding|is held)|(?P<acquired>acquired|obtained|became leader|granted)|(?P<waiting>waiting|acquiring)|(?P<write>wrote|writes?|written|writing))\b",
    )
    .ok()
});

/// Whether a reason is a refusal of the store, in its usual words.
pub(super) fn refused(why: &str) -> bool {
    let why = why.to_ascii_lowercase();
    // Nobody was there to refuse anything: whether a renewal was applied is not known.
    if why.contains("connection refused") || why.contains("econnrefused") {
        return false;
    }
    [
        "not owned",
        "no longer owned",
        "not the holder",
        "not held",
        "no longer held",
        "not found",
        "expired",
        "notacquired",
        "refused",
        "not acquired",
    ]
    .iter()
    .any(|words| why.contains(words))
}

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    // A line without a stamp is somebody's continuation, or chatter.
    if line.continued || line.text.len() > 600 {
        return None;
    }
    let text = line.text.as_ref();
    let found = VERB.as_ref()?.captures(text);
    let about = named(line, reading);
    let key_named = reading.options.key.as_deref().is_some_and(|key| {
        let last = key.rsplit([':', '/']).next().unwrap_or(key);
        has(text, key) || (last.len() > 3 && has(text, last))
    });
    let subject = SUBJECT.as_ref()?.is_match(text);
    let lock_of_database = has(text, "ExclusiveLock") || has(text, "ShareLock") || has(text, "deadlock");
    let short = reading.spoke_of_lease() && text.split_whitespace().count() <= 4;
    if lock_of_database || !(subject || key_named || about.has_token || short) {
        return None;
    }
    let found = found?;
    let failed = FAILED.as_ref()?.is_match(text);
    let key = about.key.clone().or_else(|| path(text).map(|path| reading.name(path)));
    let token = about.token;
    // A logger of fields tells the reason beside the message, and not in it.
    let whole = with_reason(line, text);
    let why: Arc<str> = reading.name(whole.trim());
    let matched = |name: &str| found.name(name).is_some();
    let says = if matched("renew") {
        let definite = if refused(&whole) {
            Definite::Refused
        } else {
            Definite::Unknown
        };
        match failed || refused(&whole) {
            true => OwnerSays::RenewalFailed {
                key,
                definite,
                token,
                why,
            },
            false if has(text, "renewing") || has(text, "extending") || has(text, "refreshing") => {
                OwnerSays::RenewSent { key }
            }
            false => OwnerSays::Renewed { key, token },
        }
    } else if matched("lost") {
        OwnerSays::Lost { key, token, why }
    } else if matched("released") {
        match failed {
            // A release that failed may mean that it was lost, or not.
            true => return None,
            false => OwnerSays::Released { key, token },
        }
    } else if matched("held") {
        match has(text, "false") || has(text, "not hold") {
            true => OwnerSays::Lost { key, token, why },
            false => OwnerSays::BelievesHeld { key, token },
        }
    } else if matched("acquired") {
        match failed || has(text, "not acquired") {
            true => OwnerSays::Waiting { key },
            false => OwnerSays::Acquired {
                key,
                holder: about.holder,
                token,
                ttl: about.ttl,
            },
        }
    } else if matched("waiting") {
        OwnerSays::Waiting { key }
    } else {
        return write(line, text, about, reading);
    };
    reading.speaks_of_lease();
    if let Some(value) = about.heartbeat {
        let setting = Setting {
            name: SettingName::Heartbeat,
            value,
            of: about.key.clone(),
        };
        reading.say(line, SourceKind::Owner, BY, StampMeans::Emitted, Says::Setting(setting));
    }
    say(line, BY, says, reading);
    Some(BY)
}

/// The message, and the reason that a line of fields gives for it.
fn with_reason<'t>(line: &Line<'_>, text: &'t str) -> Cow<'t, str> {
    let fields = line.fields.as_ref();
    let reason = ["reason", "error", "err", "cause"]
        .iter()
        .find_map(|name| fields?.get(*name)?.as_str())
        .filter(|reason| !text.contains(reason));
    reason.map_or(Cow::Borrowed(text), |reason| Cow::Owned(format!("{text}: {reason}")))
}

/// `write accepted token=7`: the resource's word where it decides, the owner's where it only wrote.
fn write(line: &Line<'_>, text: &str, about: super::Named, reading: &mut Reading<'_>) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    let own = reading.spoke_of_lease();
    let decision = match () {
        () if ["rejected", "refused", "stale"].iter().any(|word| lower.contains(word)) => Some(Decision::Rejected),
        () if lower.contains("accepted") || lower.contains("stored") => Some(Decision::Accepted),
        () => None,
    };
    match decision {
        // A file that speaks of its own lease is an owner's, and what it refuses without a token is its own work.
        Some(Decision::Rejected) if own && !about.has_token => {
            let says = OwnerSays::WriteRefused {
                key: about.key,
                token: about.token,
            };
            say(line, BY, says, reading);
        }
        _ if !about.has_token && (own || decision.is_none() || about.key.is_none()) => return None,
        Some(decision) => {
            let sender = about.holder.or_else(|| {
                ["client", "sender", "from"]
                    .iter()
                    .find_map(|name| Some(reading.name(field(text, name)?)))
            });
            let says = ResourceSays::Write {
                token: about.token,
                decision,
                key: about.key,
                sender,
                serial: about.serial,
            };
            reading.say(
                line,
                SourceKind::Resource,
                BY,
                StampMeans::Emitted,
                Says::Resource(says),
            );
        }
        None => say(
            line,
            BY,
            OwnerSays::Wrote {
                key: about.key,
                token: about.token,
            },
            reading,
        ),
    }
    Some(BY)
}

/// A path that stands as a word of its own: `/locks/orders-0000000001`.
fn path(text: &str) -> Option<&str> {
    let at = text.find(" /")? + 1;
    let path = word(text.get(at..)?);
    (path.len() > 2).then_some(path)
}
