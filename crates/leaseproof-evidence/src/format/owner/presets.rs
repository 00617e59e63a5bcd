//! Sentences of known lock clients.

use super::{named, quoted_or_word, say};
use crate::format::scan::{after, between, field, has};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::says::{Definite, OwnerSays};
use aho_corasick::AhoCorasick;
use std::sync::{Arc, LazyLock};

/// What a sentence means.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Means {
    Waiting,
    Acquired,
    RenewSent,
    Renewed,
    /// The store refused it.
    Refused,
    /// No answer, or one that says nothing.
    Failed,
    Lost,
    Released,
    Disconnected,
    Reconnected,
    SessionLost,
}

/// Client, sentence, meaning. Longer sentences stand before their beginnings.
const SENTENCES: &[(&str, &str, Means)] = &[
    // Redisson. A renewal that finds the key gone is silent in every version.
    ("redisson", "Can't update locks [", Means::Failed),
    ("redisson", "Can't update lock ", Means::Failed),
    (
        "redisson",
        "attempt to unlock lock, not locked by current thread",
        Means::Lost,
    ),
    // redis-py.
    (
        "redis-py",
        "Cannot extend a lock that's no longer owned",
        Means::Refused,
    ),
    (
        "redis-py",
        "Cannot reacquire a lock that's no longer owned",
        Means::Refused,
    ),
    ("redis-py", "Cannot release a lock that's no longer owned", Means::Lost),
    ("redis-py", "Cannot extend an unlocked lock", Means::Refused),
    // python-redis-lock.
    (
        "python-redis-lock",
        "is not acquired or it already expired",
        Means::Refused,
    ),
    ("python-redis-lock", "NotAcquired:", Means::Refused),
    ("python-redis-lock", "Lock refreshed", Means::Renewed),
    ("python-redis-lock", "Refreshing Lock(", Means::RenewSent),
    ("python-redis-lock", "Acquired Lock(", Means::Acquired),
    ("python-redis-lock", "Acquiring Lock(", Means::Waiting),
    ("python-redis-lock", "Releasing Lock(", Means::Released),
    ("python-redis-lock", "Renewing Lock(", Means::RenewSent),
    // celery-redbeat.
    ("redbeat", "beat: Acquiring lock", Means::Waiting),
    ("redbeat", "beat: Acquired lock", Means::Acquired),
    ("redbeat", "beat: Extending lock", Means::RenewSent),
    ("redbeat", "beat: Releasing Lock", Means::Released),
    // redlock (npm), redsync (Go), redis-semaphore.
    (
        "redlock",
        "The operation was unable to achieve a quorum during its retry window",
        Means::Failed,
    ),
    ("redsync", "redsync: failed to extend lock", Means::Failed),
    ("redsync", "lock was already expired", Means::Refused),
    ("redis-semaphore", "LostLockError", Means::Lost),
    ("redis-semaphore", "Lost semaphore for key", Means::Lost),
    ("redis-semaphore", "Lost mutex for key", Means::Lost),
    // kazoo.
    (
        "kazoo",
        "Connection dropped: socket connection broken",
        Means::Disconnected,
    ),
    ("kazoo", "Connection dropped: ", Means::Disconnected),
    ("kazoo", "Connection time-out: ", Means::Disconnected),
    ("kazoo", "Transition to CONNECTING", Means::Disconnected),
    ("kazoo", "Zookeeper connection lost", Means::Disconnected),
    (
        "kazoo",
        "Zookeeper connection established, state: CONNECTED",
        Means::Reconnected,
    ),
    (
        "kazoo",
        "Zookeeper session closed, state: EXPIRED_SESSION",
        Means::SessionLost,
    ),
    ("kazoo", "Session has expired", Means::SessionLost),
    // client-go.
    ("client-go", "attempting to acquire leader lease ", Means::Waiting),
    ("client-go", "Attempting to acquire leader lease", Means::Waiting),
    ("client-go", "successfully acquired lease ", Means::Acquired),
    ("client-go", "Successfully acquired lease", Means::Acquired),
    ("client-go", "successfully renewed lease ", Means::Renewed),
    ("client-go", "Successfully renewed lease", Means::Renewed),
    ("client-go", "error retrieving resource lock ", Means::Failed),
    ("client-go", "Error retrieving lease lock", Means::Failed),
    ("client-go", "Failed to update lock", Means::Failed),
    ("client-go", "failed to renew lease ", Means::Lost),
    ("client-go", "Failed to renew lease", Means::Lost),
    ("client-go", "leaderelection lost", Means::Lost),
    ("client-go", "leader election lost", Means::Lost),
    ("client-go", "Lease has expired", Means::Lost),
    // etcd's clients.
    ("etcd-client", "error occurred during lease keep alive", Means::Failed),
    ("etcd-client", "lease keepalive response queue is full", Means::Failed),
    ("etcd-client", "requested lease not found", Means::Refused),
    // consul lock, and others of HashiCorp.
    ("consul-lock", "Lock lost, killing child", Means::Lost),
    ("consul-lock", "Setting up lock at path", Means::Waiting),
    ("consul-lock", "Attempting lock acquisition", Means::Waiting),
];

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(aho_corasick::MatchKind::LeftmostFirst)
        .build(SENTENCES.iter().map(|(_, sentence, _)| *sentence))
        .ok()
});

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let text = line.text.as_ref();
    let found = FINDER.as_ref()?.find(text)?;
    let (client, sentence, means) = SENTENCES.get(found.pattern().as_usize())?;
    // A line of source code in a stack trace quotes the sentence, and says nothing.
    if line.continued && (text.trim_start().starts_with("raise ") || text.trim_start().starts_with("File \"")) {
        return Some(client);
    }
    let rest = text.get(found.end()..).unwrap_or_default();
    let about = named(line, reading);
    let key = key(client, sentence, rest, text)
        .map(|key| reading.name(key))
        .or(about.key);
    let why: Arc<str> = reading.name(text.trim());
    let says = match means {
        Means::Waiting => OwnerSays::Waiting { key },
        Means::Acquired => OwnerSays::Acquired {
            key,
            holder: about.holder,
            token: about.token,
            ttl: about.ttl,
        },
        Means::RenewSent => OwnerSays::RenewSent { key },
        Means::Renewed => OwnerSays::Renewed {
            key,
            token: about.token,
        },
        Means::Refused => OwnerSays::RenewalFailed {
            key,
            definite: Definite::Refused,
            token: about.token,
            why,
        },
        Means::Failed => OwnerSays::RenewalFailed {
            key,
            definite: Definite::Unknown,
            token: about.token,
            why,
        },
        Means::Lost => OwnerSays::Lost {
            key,
            token: about.token,
            why,
        },
        Means::Released => OwnerSays::Released {
            key,
            token: about.token,
        },
        Means::Disconnected => OwnerSays::Disconnected { why },
        Means::Reconnected => OwnerSays::Reconnected,
        Means::SessionLost => OwnerSays::SessionLost { session: None, why },
    };
    say(line, client, says, reading);
    Some(client)
}

/// The key that a sentence names.
fn key<'a>(client: &str, sentence: &str, rest: &'a str, text: &'a str) -> Option<&'a str> {
    match client {
        "redisson" if sentence.starts_with("Can't") => {
            rest.split(if sentence.ends_with('[') { ']' } else { ' ' }).next()
        }
        "client-go" => field(text, "lock").or_else(|| {
            sentence
                .ends_with(' ')
                .then(|| quoted_or_word(rest).trim_end_matches(':'))
        }),
        "python-redis-lock" if sentence.ends_with('(') => Some(quoted_or_word(rest)),
        "python-redis-lock" => between(text, "Lock ", " is not acquired").map(|key| key.trim_matches('\'')),
        "redis-semaphore" => after(text, "for key ").map(quoted_or_word),
        _ => None,
    }
    .filter(|key| !key.is_empty() && !has(key, " "))
}
