//! `cons`: the connections of this one server, each with its session.

use crate::inspect::{Hints, shown_key};
use leaseproof_model::inspect::store_view::{Connection, Connections};

/// A line of it: `/127.0.0.1:36894[1](queued=0,sid=0x1000,lop=GETD,est=1699,to=30000,llat=0)`.
struct Line<'a> {
    address: &'a str,
    fields: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (address, rest) = line.trim().strip_prefix('/')?.split_once('[')?;
        let fields = rest.split_once('(')?.1.trim_end_matches(')');
        Some(Self { address, fields })
    }

    fn field(&self, name: &str) -> Option<&'a str> {
        self.fields
            .split(',')
            .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.field(name)?.parse().ok()
    }

    fn is_of(&self, session: i64) -> bool {
        let id = self
            .field("sid")
            .and_then(|id| u64::from_str_radix(id.trim_start_matches("0x"), 16).ok());
        id == Some(session.cast_unsigned())
    }
}

/// The time-out of a session in ms, where it is connected here.
pub(super) fn timeout_of(cons: &str, session: i64) -> Option<u64> {
    let mut lines = cons.lines().filter_map(Line::parse);
    lines.find(|line| line.is_of(session))?.number("to")
}

/// The session's connection, and those of the named process.
pub(super) fn connections(cons: &str, session: i64, hints: &Hints) -> Connections {
    let mut all = 0;
    let mut candidates = Vec::new();
    // The server's clock, as far as its last answer shows it: one of the lines is our own connection's.
    let newest = |name| {
        cons.lines()
            .filter_map(Line::parse)
            .filter_map(|line| line.number(name))
            .max()
    };
    // `est` is of its wall clock, `lresp` of another: each is compared with its own kind alone.
    let (opened, answered) = (newest("est"), newest("lresp"));
    for line in cons.lines().filter_map(Line::parse) {
        all += 1;
        let own = line.is_of(session);
        let named = hints.addresses.iter().any(|it| it == line.address);
        if !own && !named {
            continue;
        }
        let why = match (own, named) {
            (true, true) => "it has the session that the node ends with, and is the named process's",
            (true, false) => "it has the session that the node ends with",
            _ => "it is a connection of the process that was named, with another session",
        };
        let since = |newest: Option<u64>, name| Some(newest?.saturating_sub(line.number(name)?) / 1000);
        let candidate = Connection {
            address: shown_key(line.address.as_bytes()),
            name: None,
            age_s: since(opened, "est").unwrap_or(0),
            idle_s: since(answered, "lresp").unwrap_or(0),
            last_command: shown_key(line.field("lop").unwrap_or("unknown").as_bytes()),
            why: why.to_owned(),
            certain: own,
            holds: own,
        };
        candidates.push((!own, candidate));
    }
    candidates.sort_by_key(|(other, _)| *other);
    let found = candidates.first().is_some_and(|(other, _)| !other);
    let means = match found {
        true => "the first has the session that the node ends with",
        false => "none here has the session that the node ends with: it is connected to another server, or not at all",
    };
    Connections {
        all,
        candidates: candidates.into_iter().map(|(_, it)| it).collect(),
        means: means.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // From ZooKeeper 3.8.0.
    const CONS: &str = "\
 /127.0.0.1:41000[0](queued=0,recved=1,sent=0)
 /127.0.0.1:41002[1](queued=0,recved=9,sent=9,sid=0x1000a2b3c4d0001,lop=GETD,est=1764500000000,to=4000,lcxid=0x8,\
lzxid=0x7,lresp=3000,llat=0,minlat=0,avglat=0,maxlat=3)
 /127.0.0.1:41004[1](queued=0,recved=2,sent=2,sid=0x1000a2b3c4d0002,lop=GETD,est=1764500004900,to=4000,lcxid=0x8,\
lzxid=0x7,lresp=5000,llat=0,minlat=0,avglat=0,maxlat=3)
";

    #[test]
    fn a_session_has_its_connection() {
        let session = 0x0100_0a2b_3c4d_0001;
        assert_eq!(timeout_of(CONS, session), Some(4000));
        let shown = connections(CONS, session, &Hints::default());
        assert_eq!((shown.all, shown.candidates.len()), (3, 1));
        assert_eq!(shown.candidates[0].address, "127.0.0.1:41002");
        assert!(shown.candidates[0].certain && shown.candidates[0].holds);
        assert_eq!((shown.candidates[0].age_s, shown.candidates[0].idle_s), (4, 2));
        let other = connections(CONS, 7, &Hints::default());
        assert!(other.candidates.is_empty() && other.means.contains("another server"));
        assert_eq!(timeout_of("", session), None);
    }
}
