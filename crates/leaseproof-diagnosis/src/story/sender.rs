//! Who sent a command to the store, by the store's record.

use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{Says, StoreSays};

/// The address that a record names as its sender; that of a MONITOR line stands in its text.
#[must_use]
pub fn sender(record: &Record) -> Option<&str> {
    let named = match &record.says {
        Says::Store(
            StoreSays::Asked { sender, .. }
            | StoreSays::RenewalApplied { sender, .. }
            | StoreSays::RenewalAsked { sender, .. }
            | StoreSays::Refused { sender, .. }
            | StoreSays::DeleteAsked { sender, .. },
        ) => sender.as_deref(),
        Says::Store(StoreSays::Deleted { by, .. }) => by.as_deref(),
        _ => None,
    };
    named.or_else(|| in_monitor(&record.raw))
}

/// `127.0.0.1:47738` of `1796007273.752389 [0 127.0.0.1:47738] "set" …`.
fn in_monitor(line: &str) -> Option<&str> {
    let (stamp, rest) = line.trim_start_matches('+').split_once(" [")?;
    stamp.parse::<f64>().ok()?;
    let (inside, _) = rest.split_once(']')?;
    let (_, client) = inside.split_once(' ')?;
    (client != "lua").then_some(client)
}

/// Whether a MONITOR line was sent by a client itself, and not by a script that could check first.
#[must_use]
pub fn is_bare(record: &Record) -> bool {
    in_monitor(&record.raw).is_some()
}

/// Whether the record's file has every command that its store took: a MONITOR capture, or the file that Redis appends to.
#[must_use]
pub fn shows_every_command(record: &Record) -> bool {
    let captured = || {
        let (stamp, _) = record.raw.trim_start_matches('+').split_once(" [")?;
        stamp.parse::<f64>().ok()
    };
    is_applied(record) || captured().is_some()
}

/// Whether the line is a write that the store applied, and not only one that it was asked for: of the file that Redis
/// appends to, in which an expiry, an eviction and a deletion are lines of their own.
#[must_use]
pub fn is_applied(record: &Record) -> bool {
    let mut words = record.raw.split_whitespace();
    matches!(words.next(), Some("SET" | "DEL" | "UNLINK" | "PEXPIREAT"))
        && matches!(record.source, leaseproof_evidence::record::SourceKind::Store)
}

/// The words of a command, in small letters: `set k v nx px 1500` of a MONITOR line.
#[must_use]
pub fn command(record: &Record) -> String {
    record.raw.split_once("] ").map_or_else(String::new, |(_, command)| {
        command.replace('"', "").to_ascii_lowercase()
    })
}
