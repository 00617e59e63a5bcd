//! Everything that looking at a Redis store may send. The client checks each request against it, in
//! one place, before a byte leaves.

use crate::inspect::Allowed;
use redis::{Arg, Cmd};

/// The list; `docs/inspect.md` has it too, and a test compares.
pub(crate) const ALLOWED: &[Allowed] = &[
    Allowed::always("AUTH", "to log in, where the URL has a password"),
    Allowed::always("SELECT", "to choose the URL's database"),
    Allowed::always(
        "SENTINEL GET-MASTER-ADDR-BY-NAME",
        "which server is the primary (of a Sentinel)",
    ),
    Allowed::always("SENTINEL MASTER", "how new that word is (of a Sentinel)"),
    Allowed::always("ROLE", "whether the server that a Sentinel names says so itself"),
    Allowed::always("CLUSTER SLOTS", "which server of a cluster has which keys"),
    Allowed::always("ASKING", "to read a key of a cluster that is being moved"),
    Allowed::always("INFO", "version, role, persistence, eviction, number of keys"),
    Allowed::always("TYPE", "what lies under the key"),
    Allowed::always("OBJECT ENCODING", "how it is stored"),
    Allowed::always("STRLEN", "how large a string is, before it is read"),
    Allowed::always("HLEN", "how many fields a hash under the key has"),
    Allowed::always("LLEN", "how many elements a list under the key has"),
    Allowed::always("SCARD", "how many members a set under the key has"),
    Allowed::always("ZCARD", "how many members a sorted set under the key has"),
    Allowed::always("XLEN", "how many entries a stream under the key has"),
    Allowed::always("SCAN", "which leases are below a prefix (`watch` only)"),
    Allowed::always("MULTI", "a reading: its commands are answered together"),
    Allowed::always(
        "GETRANGE",
        "a reading: the holder, and the token counter; of a long value no more than its begin",
    ),
    Allowed::always("PEXPIRETIME", "a reading: when the key will expire"),
    Allowed::always("PTTL", "the same before Redis 7, and for a key that is no string"),
    Allowed::always("TIME", "a reading: the server's clock"),
    Allowed::always("EXEC", "a reading: its end"),
    Allowed::always("CLIENT LIST", "the connections that may be the holder's"),
    Allowed::always("SLOWLOG GET", "slow commands that name the key"),
    Allowed::always(
        "CONFIG GET slowlog-log-slower-than",
        "what the absence of a command in the SLOWLOG means",
    ),
    Allowed::always("CONFIG GET save", "whether a restart loses leases"),
    Allowed::always("CONFIG GET appendfsync", "whether a crash loses leases"),
    Allowed {
        request: "MONITOR",
        why: "what passes at the server, bounded in time and lines",
        only_with: Some("--monitor"),
    },
];

/// Whether `command` begins with the words of an entry.
pub(crate) fn allows(allowed: &[Allowed], command: &Cmd) -> bool {
    let words: Vec<&[u8]> = command
        .args_iter()
        .take(3)
        .map(|word| match word {
            Arg::Simple(word) => word,
            _ => &b"0"[..],
        })
        .collect();
    allowed.iter().any(|entry| {
        let mut wanted = entry.request.split(' ').enumerate();
        wanted.all(|(at, word)| {
            words
                .get(at)
                .is_some_and(|given| given.eq_ignore_ascii_case(word.as_bytes()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis::cmd;

    #[test]
    fn only_what_is_listed() {
        let config = |name: &str| {
            let mut command = cmd("CONFIG");
            command.arg("GET").arg(name);
            command
        };
        for (command, may) in [
            (cmd("GETRANGE").arg("k").clone(), true),
            (cmd("getrange").arg("k").clone(), true),
            (cmd("GETDEL").arg("k").clone(), false),
            (cmd("SET").arg("k").arg("v").clone(), false),
            (cmd("CLIENT").arg("LIST").clone(), true),
            (cmd("CLIENT").arg("KILL").clone(), false),
            (cmd("CLIENT").clone(), false),
            (config("save"), true),
            (config("*"), false),
            (config("requirepass"), false),
            (cmd("CONFIG").arg("SET").arg("save").clone(), false),
        ] {
            assert_eq!(allows(ALLOWED, &command), may, "{command:?}");
        }
    }
}
