//! Everything that looking at a Redis store may send. The client checks each request against it, in
//! one place, before a byte leaves.

use crate::inspect::Allowed;
use redis::{Arg, Cmd};

const fn may(request: &'static str, why: &'static str) -> Allowed {
    Allowed {
        request,
        why,
        only_with: None,
    }
}

/// The list; `docs/inspect.md` has it too, and a test compares.
pub(crate) const ALLOWED: &[Allowed] = &[
    may("AUTH", "to log in, where the URL has a password"),
    may("SELECT", "to choose the URL's database"),
    may(
        "SENTINEL GET-MASTER-ADDR-BY-NAME",
        "which server is the primary (of a Sentinel)",
    ),
    may("SENTINEL MASTER", "how new that word is (of a Sentinel)"),
    may("ROLE", "whether the server that a Sentinel names says so itself"),
    may("CLUSTER SLOTS", "which server of a cluster has which keys"),
    may("ASKING", "to read a key of a cluster that is being moved"),
    may("INFO", "version, role, persistence, eviction, number of keys"),
    may("TYPE", "what lies under the key"),
    may("OBJECT ENCODING", "how it is stored"),
    may("STRLEN", "how large a string is, before it is read"),
    may("HLEN", "how many fields a hash under the key has"),
    may("LLEN", "how many elements a list under the key has"),
    may("SCARD", "how many members a set under the key has"),
    may("ZCARD", "how many members a sorted set under the key has"),
    may("XLEN", "how many entries a stream under the key has"),
    may("SCAN", "which leases are below a prefix (`watch` only)"),
    may("MULTI", "a reading: its commands are answered together"),
    may("GET", "a reading: the holder, and the token counter"),
    may("PEXPIRETIME", "a reading: when the key will expire"),
    may("PTTL", "the same before Redis 7, and for a key that is no string"),
    may("TIME", "a reading: the server's clock"),
    may("EXEC", "a reading: its end"),
    may("CLIENT LIST", "the connections that may be the holder's"),
    may("SLOWLOG GET", "slow commands that name the key"),
    may(
        "CONFIG GET slowlog-log-slower-than",
        "what the absence of a command in the SLOWLOG means",
    ),
    may("CONFIG GET save", "whether a restart loses leases"),
    may("CONFIG GET appendfsync", "whether a crash loses leases"),
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
            (cmd("GET").arg("k").clone(), true),
            (cmd("get").arg("k").clone(), true),
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
