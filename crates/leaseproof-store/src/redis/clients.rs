//! CLIENT LIST: which connection may be the holder's.

use crate::inspect::{Hints, shown_key};
use leaseproof_model::inspect::store_view::{Connection, Connections};

/// So many candidates are shown.
const SHOWN: usize = 12;

/// Commands that can set or extend an expiry, by themselves or inside.
const EXTENDING: [&str; 13] = [
    "set",
    "setex",
    "psetex",
    "expire",
    "pexpire",
    "expireat",
    "pexpireat",
    "getex",
    "eval",
    "evalsha",
    "fcall",
    "exec",
    "setnx",
];

/// Reads the answer and picks the candidates.
pub(crate) fn connections(list: &str, hints: &Hints) -> Connections {
    let mut all = 0;
    let mut found: Vec<(u8, Connection)> = Vec::new();
    for line in list.lines() {
        let field = |name: &str| {
            line.split(' ')
                .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
        };
        let Some(address) = field("addr") else { continue };
        all += 1;
        let name = field("name").filter(|name| !name.is_empty());
        let command = field("cmd").unwrap_or_default();
        let Some((rank, why)) = reason(address, name, command, hints) else {
            continue;
        };
        let number = |name| field(name).and_then(|text| text.parse().ok()).unwrap_or(0);
        let connection = Connection {
            address: shown_key(address.as_bytes()),
            name: name.map(|name| shown_key(name.as_bytes())),
            age_s: number("age"),
            idle_s: number("idle"),
            last_command: shown_key(command.as_bytes()),
            why: why.to_owned(),
            certain: rank == 0,
            holds: false,
        };
        found.push((rank, connection));
    }
    // Among equals the one that spoke last.
    found.sort_by_key(|(rank, it)| (*rank, it.idle_s, std::cmp::Reverse(it.age_s)));
    let certain = found.first().is_some_and(|(rank, _)| *rank == 0);
    let means = if certain {
        "the first is the named process's, by its address"
    } else {
        "this store ties no connection to a key: these may be the holder's, by name or last command"
    };
    Connections {
        all,
        candidates: found.into_iter().take(SHOWN).map(|(_, it)| it).collect(),
        means: means.to_owned(),
    }
}

fn reason(address: &str, name: Option<&str>, command: &str, hints: &Hints) -> Option<(u8, &'static str)> {
    if hints.addresses.iter().any(|it| it == address) {
        return Some((0, "it is a connection of the process that was named"));
    }
    // Holder and incarnation: a client may give the first as its name.
    let holder = hints.holder.as_ref().map(|holder| holder.as_str());
    if let (Some(name), Some(holder)) = (name, holder) {
        let owner = holder.split('#').next().unwrap_or(holder);
        if owner != "value" && (name == owner || name == holder) {
            return Some((1, "its name is the holder's"));
        }
    }
    let base = command.split('|').next().unwrap_or(command);
    EXTENDING
        .contains(&base)
        .then_some((2, "its last command can extend a lease"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leaseproof_model::name::HolderId;

    const LIST: &str = "\
id=3 addr=127.0.0.1:1001 laddr=127.0.0.1:6379 fd=8 name= age=9 idle=3 flags=N db=0 cmd=evalsha user=default
id=4 addr=127.0.0.1:1002 laddr=127.0.0.1:6379 fd=9 name=a1 age=9 idle=5 flags=N db=0 cmd=get user=default
id=5 addr=127.0.0.1:1003 laddr=127.0.0.1:6379 fd=9 name= age=9 idle=0 flags=N db=0 cmd=client|list user=default
id=6 addr=127.0.0.1:1004 laddr=127.0.0.1:6379 fd=9 name= age=9 idle=1 flags=N db=0 cmd=pexpire user=default
";

    #[test]
    fn the_likeliest_first() {
        let mut hints = Hints {
            holder: Some(HolderId::from("a1#0123")),
            addresses: Vec::new(),
        };
        let order = |hints: &Hints| {
            let found = connections(LIST, hints);
            assert_eq!(found.all, 4);
            let order: Vec<String> = found.candidates.iter().map(|it| it.address.clone()).collect();
            (order.join(" "), found.candidates[0].certain)
        };
        assert_eq!(
            order(&hints),
            ("127.0.0.1:1002 127.0.0.1:1004 127.0.0.1:1001".to_owned(), false)
        );
        hints.addresses.push("127.0.0.1:1001".to_owned());
        assert_eq!(
            order(&hints),
            ("127.0.0.1:1001 127.0.0.1:1002 127.0.0.1:1004".to_owned(), true)
        );
    }
}
