//! The question about many keys, and the answer to it: one transaction, so that each lease is seen at
//! one moment, by the commands that a reading of one key uses.

use crate::OneOfMany;
use crate::error::StoreError;
use crate::inspect::{LONGEST_HOLDER, names_a_holder, shown_key};
use crate::redis::answer::Expiry;
use crate::redis::wire::{Part, Scanner};
use crate::value::parse_stored;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use std::io::Write;

/// How many keys one transaction asks about: the server does nothing else meanwhile, for well under a
/// millisecond.
pub(crate) const KEYS: usize = 128;

/// How the expiry is asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum ExpiryCommand {
    /// Redis 7.
    PexpireTime,
    /// Before that: what is left, from which the moment follows.
    Pttl,
}

/// What an answer was not.
#[derive(Debug)]
pub(crate) enum Strange {
    /// The server refuses, in these words.
    Refused(String),
    /// It refuses the command for the expiry alone.
    LacksExpiry,
    Shape,
}

/// Appends one command.
pub(crate) fn command(into: &mut Vec<u8>, words: &[&[u8]]) {
    into.extend_from_slice(b"*");
    digits(into, words.len());
    for word in words {
        into.extend_from_slice(b"$");
        digits(into, word.len());
        into.extend_from_slice(word);
        into.extend_from_slice(b"\r\n");
    }
}

fn digits(into: &mut Vec<u8>, number: usize) {
    // Writing to memory can't fail.
    let _ = write!(into, "{number}\r\n");
}

/// Writes the question anew.
pub(crate) fn question(into: &mut Vec<u8>, keys: &[&[u8]], expiry: ExpiryCommand) {
    let expiry: &[u8] = match expiry {
        ExpiryCommand::PexpireTime => b"PEXPIRETIME",
        ExpiryCommand::Pttl => b"PTTL",
    };
    into.clear();
    let mut counter = Vec::new();
    // One byte more than a name has, so that a longer value shows as one.
    let up_to = LONGEST_HOLDER.to_string();
    let up_to = up_to.as_bytes();
    command(into, &[b"MULTI"]);
    for key in keys {
        counter.clear();
        counter.extend_from_slice(key);
        counter.extend_from_slice(b":token");
        command(into, &[b"GETRANGE", key, b"0", up_to]);
        command(into, &[b"GETRANGE", &counter, b"0", up_to]);
        command(into, &[expiry, key]);
    }
    command(into, &[b"TIME"]);
    command(into, &[b"EXEC"]);
}

/// How many answers the question has before that of EXEC: MULTI, and one *queued* a command.
fn queued(keys: usize) -> usize {
    keys * 3 + 2
}

/// Whether the whole answer is there.
pub(crate) fn is_whole(parts: &[Part], keys: usize) -> bool {
    match parts.get(queued(keys)) {
        None => false,
        // TIME is an array of two.
        Some(Part::Array(_)) => parts.len() >= queued(keys) + 1 + keys * 3 + 3,
        Some(_) => true,
    }
}

/// What the answer says about each key, if it was given within `during`.
pub(crate) fn readings(
    scanner: &Scanner,
    keys: &[&[u8]],
    expiry: ExpiryCommand,
    during: Moment,
    epoch: Option<&str>,
) -> Result<Vec<OneOfMany>, Strange> {
    let (queued, rest) = scanner
        .parts
        .split_at_checked(queued(keys.len()))
        .ok_or(Strange::Shape)?;
    refusal(scanner, queued, keys.len())?;
    let (exec, answers) = rest.split_first().ok_or(Strange::Shape)?;
    match exec {
        Part::Error(place) => return Err(Strange::Refused(words(scanner.text(*place)))),
        Part::Array(count) if *count == keys.len() * 3 + 1 => {}
        _ => return Err(Strange::Shape),
    }
    let (answers, time) = answers.split_at_checked(keys.len() * 3).ok_or(Strange::Shape)?;
    let server_ns = time_ns(scanner, time).ok_or(Strange::Shape)?;
    let one = |(key, answer): (&&[u8], &[Part])| match *answer {
        [Part::Error(place), ..] | [_, _, Part::Error(place)] => Err(unexpected(key, &words(scanner.text(place)))),
        [Part::TooLong, ..] => names_a_holder(&shown_key(key), usize::MAX).and(Err(unexpected(key, "a long text"))),
        [value, counter, Part::Int(left)] => {
            let value = match value {
                Part::Bulk(place) => Some(scanner.text(place)),
                _ => None,
            };
            names_a_holder(&shown_key(key), value.map_or(0, <[u8]>::len))?;
            let counter = match counter {
                Part::Bulk(place) => token(scanner.text(place)),
                _ => None,
            };
            // The key may end between two commands of the transaction.
            let held = value.filter(|_| left != -2).map(|value| {
                let raw = match expiry {
                    ExpiryCommand::Pttl if left >= 0 => server_ns / 1_000_000 + left,
                    _ => left,
                };
                let (holder, token) = parse_stored(value);
                Held {
                    holder,
                    token,
                    expires: Expiry::of(raw).moment(server_ns, during),
                    bound: None,
                    ttl: None,
                    expired: false,
                    granted: None,
                    renewed: None,
                    write_lock: false,
                }
            });
            let reading = Reading {
                previous: None,
                held,
                counter,
                server_ns: Some(server_ns),
                epoch: epoch.map(str::to_owned),
            };
            Ok((during, reading))
        }
        _ => Err(unexpected(key, "an answer of another shape")),
    };
    Ok(keys.iter().zip(answers.chunks_exact(3)).map(one).collect())
}

/// The first refusal tells most: a command that was refused makes EXEC fail too.
fn refusal(scanner: &Scanner, queued: &[Part], keys: usize) -> Result<(), Strange> {
    let refused = |part: &Part| match part {
        Part::Error(place) => Some(words(scanner.text(*place))),
        _ => None,
    };
    let Some(first) = queued.iter().position(|part| refused(part).is_some()) else {
        return Ok(());
    };
    // MULTI, then three commands a key: the third of them is the expiry.
    let of_expiry = |at: usize| at >= 1 && at <= keys * 3 && (at - 1) % 3 == 2;
    let others = queued
        .iter()
        .enumerate()
        .any(|(at, part)| !of_expiry(at) && refused(part).is_some());
    match refused(&queued[first]) {
        Some(_) if of_expiry(first) && !others => Err(Strange::LacksExpiry),
        words => Err(Strange::Refused(words.unwrap_or_default())),
    }
}

fn unexpected(key: &[u8], what: &str) -> StoreError {
    let key = shown_key(key);
    StoreError::Unexpected(format!("{what}, for the key {key}, where a lock is a string"))
}

fn words(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn token(text: &[u8]) -> Option<Token> {
    std::str::from_utf8(text).ok()?.parse().ok().map(Token)
}

fn time_ns(scanner: &Scanner, parts: &[Part]) -> Option<i64> {
    let [Part::Array(2), Part::Bulk(seconds), Part::Bulk(micros)] = parts else {
        return None;
    };
    let number = |place| std::str::from_utf8(scanner.text(place)).ok()?.parse::<i64>().ok();
    number(*seconds)?
        .checked_mul(1_000_000_000)?
        .checked_add(number(*micros)?.checked_mul(1000)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leaseproof_model::clock::BootNanos;

    fn answer(bytes: &[u8], keys: &[&[u8]]) -> Result<Vec<OneOfMany>, Strange> {
        let mut scanner = Scanner::default();
        scanner.take(bytes).expect("it is Redis");
        assert!(is_whole(&scanner.parts, keys.len()));
        let during = Moment::exact(BootNanos(5_000_000_000));
        readings(&scanner, keys, ExpiryCommand::PexpireTime, during, Some("run/primary"))
    }

    #[test]
    fn each_key_has_its_reading() {
        let queued = "+OK\r\n".to_owned() + &"+QUEUED\r\n".repeat(10);
        let text = queued
            + "*10\r\n$7\r\na#9f#41\r\n$2\r\n41\r\n:10250\r\n\
               $-1\r\n$1\r\n7\r\n:-2\r\n\
               -WRONGTYPE no string\r\n$-1\r\n:-1\r\n\
               *2\r\n$2\r\n10\r\n$1\r\n0\r\n";
        let answers = answer(text.as_bytes(), &[b"a", b"b", b"c"]).expect("it is whole");
        let (_, first) = answers[0].as_ref().expect("a reading");
        let held = first.held.as_ref().expect("it is held");
        assert_eq!((held.holder.as_str(), held.token), ("a#9f", Some(Token(41))));
        let expires = held.expires.expect("it has a TTL");
        assert_eq!(expires.latest, BootNanos(5_251_000_000));
        let (_, second) = answers[1].as_ref().expect("a reading");
        assert_eq!((&second.held, second.counter), (&None, Some(Token(7))));
        assert!(
            answers[2]
                .as_ref()
                .expect_err("no string")
                .to_string()
                .contains("WRONGTYPE")
        );
    }

    #[test]
    fn an_old_server_lacks_the_expiry_alone() {
        let text = "+OK\r\n+QUEUED\r\n+QUEUED\r\n-ERR unknown command\r\n+QUEUED\r\n-EXECABORT no\r\n";
        assert!(matches!(answer(text.as_bytes(), &[b"a"]), Err(Strange::LacksExpiry)));
        let text = "-NOPERM no\r\n+QUEUED\r\n+QUEUED\r\n-ERR unknown command\r\n+QUEUED\r\n-EXECABORT no\r\n";
        assert!(matches!(answer(text.as_bytes(), &[b"a"]), Err(Strange::Refused(why)) if why.contains("NOPERM")));
    }
}
