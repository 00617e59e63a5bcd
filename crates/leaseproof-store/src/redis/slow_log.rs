//! SLOWLOG, with what follows from it.

use crate::redis::foreign::{names, redacted};
use crate::redis::server::text;
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::store_view::{SlowEntry, SlowLog};
use redis::Value;

/// So many entries are asked for.
pub(crate) const ASKED: u32 = 128;

/// Reads the answer. `threshold` is the one in force, in µs; negative: it is off.
pub(crate) fn slow_log(answer: &Value, threshold: Shown<i64>, key: &[u8]) -> Option<SlowLog> {
    let Value::Array(all) = answer else { return None };
    let entries = all.iter().filter_map(|entry| read(entry, key)).collect::<Vec<_>>();
    let means = match &threshold {
        Shown::Is(..0) => "it is off, so that nothing follows from it".to_owned(),
        Shown::Is(0) => format!(
            "every command is in it, but it keeps only the last ones: of {} looked at, those on the key are shown",
            all.len()
        ),
        Shown::Is(us) => format!(
            "only commands that took the server {us} µs or more are in it: that a renewal is missing here proves \
             nothing (it would, with a threshold of 0)"
        ),
        _ => "its threshold is not shown to this user: that a renewal is missing here proves nothing".to_owned(),
    };
    Some(SlowLog {
        threshold_us: threshold.map(|us| u64::try_from(us).ok()),
        looked_at: all.len() as u64,
        entries,
        means,
    })
}

fn read(entry: &Value, key: &[u8]) -> Option<SlowEntry> {
    let Value::Array(fields) = entry else { return None };
    let [
        _id,
        Value::Int(unix_s),
        Value::Int(took_us),
        Value::Array(words),
        rest @ ..,
    ] = &fields[..]
    else {
        return None;
    };
    let arguments: Vec<Vec<u8>> = words
        .iter()
        .map(|word| match word {
            Value::BulkString(bytes) => bytes.clone(),
            _ => Vec::new(),
        })
        .collect();
    names(&arguments, key).then(|| SlowEntry {
        unix_s: *unix_s,
        took_us: u64::try_from(*took_us).unwrap_or(0),
        command: redacted(&arguments, key),
        address: rest.first().and_then(text).filter(|address| !address.is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Value {
        Value::Array(
            words
                .iter()
                .map(|it| Value::BulkString(it.as_bytes().to_vec()))
                .collect(),
        )
    }

    #[test]
    fn absence_proves_nothing_unless_the_threshold_is_zero() {
        let answer = Value::Array(vec![
            Value::Array(vec![
                Value::Int(1),
                Value::Int(1_700_000_000),
                Value::Int(12_345),
                words(&["PEXPIRE", "k", "3000"]),
                Value::BulkString(b"127.0.0.1:9".to_vec()),
            ]),
            Value::Array(vec![
                Value::Int(2),
                Value::Int(1),
                Value::Int(1),
                words(&["GET", "other"]),
            ]),
        ]);
        for (threshold, part) in [
            (Shown::Is(10_000), "proves nothing"),
            (Shown::Is(0), "every command is in it"),
            (Shown::Is(-1), "it is off"),
            (Shown::Withheld("no".to_owned()), "not shown to this user"),
        ] {
            let log = slow_log(&answer, threshold, b"k").expect("it is one");
            assert!(log.means.contains(part), "{}", log.means);
            assert_eq!(log.entries.len(), 1);
            assert_eq!(log.entries[0].command, "PEXPIRE k 3000");
        }
    }
}
