//! What a ZooKeeper server shows beside the lease, in words.

use super::jute::Acl;
use crate::inspect::shown_key;
use jiff::Timestamp;
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::store_view::Attribute;

/// Why a server does not answer to a four-letter word.
pub(super) const NO_WORDS: &str = "this server allows no such four-letter word (4lw.commands.whitelist)";

/// All that may be done with a node, and those of them that end a lease or put another in its place.
const NAMES: [(i32, char); 5] = [(4, 'c'), (8, 'd'), (1, 'r'), (2, 'w'), (16, 'a')];

pub(super) fn acl_words(acl: &[Acl]) -> Attribute {
    let rights = |bits: i32| -> String {
        NAMES
            .iter()
            .filter(|(bit, _)| bits & bit != 0)
            .map(|(_, name)| *name)
            .collect()
    };
    let entries: Vec<String> = acl
        .iter()
        .map(|it| {
            // Behind the user of a digest stands the hash of a password.
            let who = match it.scheme.as_str() {
                "digest" => it.id.split(':').next().unwrap_or_default(),
                _ => &it.id,
            };
            format!(
                "{}:{} {}",
                shown_key(it.scheme.as_bytes()),
                shown_key(who.as_bytes()),
                rights(it.bits)
            )
        })
        .collect();
    let attribute = Attribute::plain("ACL", entries.join(", "));
    let anybody = acl.iter().any(|it| it.scheme == "world" && it.bits & (2 | 8) != 0);
    match anybody {
        true => attribute.worrying("anybody who reaches the server may delete or overwrite it"),
        false => attribute,
    }
}

/// A moment of the server's wall clock, given in ms after 1970.
pub(super) fn date(unix_ms: i64) -> String {
    match Timestamp::from_millisecond(unix_ms) {
        Ok(at) => format!("{at:.3} by the server's clock"),
        Err(_) => format!("{unix_ms} ms after 1970 by the server's clock"),
    }
}

/// A line of `srvr` or `conf`.
pub(super) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim()))
}

pub(super) fn by_srvr(srvr: &Shown<String>) -> Vec<Attribute> {
    let Shown::Is(text) = srvr else {
        return ["version", "role", "state"]
            .map(|name| Attribute::withheld(name, NO_WORDS))
            .into();
    };
    let version = field(text, "Zookeeper version:").map_or("unknown", |it| it.split([',', '-']).next().unwrap_or(it));
    let mode = field(text, "Mode:").unwrap_or("unknown");
    let role = Attribute::plain("role", mode);
    let role = match mode {
        "standalone" => role.worrying("one server alone: while it is down no lease is granted, and none ends"),
        "read-only" => role.worrying("it is cut off from its quorum: what it shows may be old"),
        _ => role,
    };
    let number = |name| field(text, name).unwrap_or("?");
    let zxid = number("Zxid:");
    let epoch = u64::from_str_radix(zxid.trim_start_matches("0x"), 16).map_or(0, |it| it >> 32);
    let state = format!(
        "last transaction {zxid} (epoch {epoch}), {} nodes, {} connections, {} requests outstanding",
        number("Node count:"),
        number("Connections:"),
        number("Outstanding:")
    );
    vec![
        Attribute::plain("version", version),
        role,
        Attribute::plain("state", state),
    ]
}

pub(super) fn session(owner: i64, timeout: Option<u64>) -> Attribute {
    let text = match timeout {
        Some(timeout) => format!("{owner:#x}, time-out {timeout} ms as negotiated"),
        None => format!(
            "{owner:#x}; it has no connection to this server, or that is not shown: its time-out shows where it is \
             connected"
        ),
    };
    Attribute::plain("session", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_endangers_a_lease_is_said() {
        let srvr = |mode: &str| {
            Shown::Is(format!(
                "Zookeeper version: 3.8.0-${{mvngit}}, built on x\nConnections: 3\nOutstanding: 0\n\
                 Zxid: 0x200000007\nMode: {mode}\nNode count: 5\n"
            ))
        };
        let alone = by_srvr(&srvr("standalone"));
        assert_eq!(alone[0].value, Shown::Is("3.8.0".to_owned()));
        assert!(alone[1].concern.is_some());
        assert!(alone[2].value.get().is_some_and(|it| it.contains("epoch 2")));
        assert_eq!(by_srvr(&srvr("leader"))[1].concern, None);
        let closed = by_srvr(&Shown::Withheld(String::new()));
        assert!(closed.iter().all(|it| matches!(it.value, Shown::Withheld(_))));
    }

    #[test]
    fn moments_have_a_date() {
        for (unix_ms, text) in [
            (1_796_039_004_364, "2026-11-30T11:43:24.364Z by the server's clock"),
            (0, "1970-01-01T00:00:00.000Z by the server's clock"),
            (i64::MAX, "9223372036854775807 ms after 1970 by the server's clock"),
        ] {
            assert_eq!(date(unix_ms), text);
        }
    }

    #[test]
    fn a_hash_of_a_password_is_not_shown() {
        let acl = |scheme: &str, id: &str, bits| Acl {
            bits,
            scheme: scheme.to_owned(),
            id: id.to_owned(),
        };
        let shown = acl_words(&[acl("digest", "me:3kXw=", 31), acl("world", "anyone", 1)]);
        assert_eq!(shown.value, Shown::Is("digest:me cdrwa, world:anyone r".to_owned()));
        assert_eq!(shown.concern, None);
        assert!(acl_words(&[acl("world", "anyone", 31)]).concern.is_some());
    }
}
