//! Redis' MONITOR: every request as it was run, and no answers.

use super::scan::has;
use super::traffic::Traffic;
use crate::read::Meter;
use crate::reading::Reading;
use crate::reading::line::{Layers, Line};
use crate::record::{Author, SourceKind};
use crate::says::{Says, StoreSays};
use crate::source::BUFFER;
use crate::stamp::written;
use crate::when::StampMeans;
use std::borrow::Cow;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

const BY: &str = "redis-monitor";

/// What a request needs from the ones before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Who sent the script whose inner requests follow: they have no client of their own.
    script: Option<Arc<str>>,
    /// How often each client asks.
    traffic: Traffic,
}

/// A request as MONITOR writes it.
struct Request<'a> {
    database: Option<u32>,
    client: &'a str,
    words: Vec<Cow<'a, str>>,
}

/// ` [0 127.0.0.1:47738] "set" "k" "v"`.
fn request(text: &str) -> Option<Request<'_>> {
    let rest = text.trim_start().strip_prefix('[')?;
    let (db, rest) = rest.split_once(' ')?;
    let database: u32 = db.parse().ok()?;
    let (client, rest) = rest.split_once("] ")?;
    let mut words = Vec::new();
    let mut rest = rest;
    while let Some(inside) = rest.strip_prefix('"') {
        let (word, more) = quoted(inside)?;
        words.push(word);
        rest = more.strip_prefix(' ').unwrap_or(more);
        if words.len() > 64 {
            break;
        }
    }
    let database = Some(database).filter(|database| *database != 0);
    (!words.is_empty()).then_some(Request {
        database,
        client,
        words,
    })
}

/// A text up to its closing quote, the escapes taken back. Bytes that are no letters stay as they are written.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let end = memchr::memchr2(b'"', b'\\', text.as_bytes())?;
    if text.as_bytes().get(end) == Some(&b'"') {
        return Some((Cow::Borrowed(text.get(..end)?), text.get(end + 1..)?));
    }
    let mut owned = String::from(text.get(..end)?);
    let mut chars = text.get(end..)?.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((Cow::Owned(owned), text.get(end + at + 1..)?)),
            '\\' => match chars.next()?.1 {
                'n' => owned.push('\n'),
                'r' => owned.push('\r'),
                't' => owned.push('\t'),
                'a' => owned.push('\u{7}'),
                'b' => owned.push('\u{8}'),
                'x' => owned.push_str("\\x"),
                other => owned.push(other),
            },
            other => owned.push(other),
        }
    }
    None
}

/// Reads a line of a MONITOR capture.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    if line.continued {
        // `OK` is the answer to MONITOR itself.
        return (line.number == 1 && line.text.trim_start_matches('+') == "OK").then_some(BY);
    }
    if !line.text.trim_start().starts_with('[') || !line.text.ends_with('"') {
        return None;
    }
    let request = request(&line.text)?;
    // What a script does has no client of its own.
    if request.client != "lua"
        && let Some(at) = line.when.as_ref()
        && let Some(unheard) = reading.state.monitor.traffic.hear(request.client, at.span.earliest)
    {
        reading.say(line, SourceKind::Store, BY, StampMeans::End, Says::Store(unheard));
    }
    match request.database {
        None => say(line, &request, reading),
        database => {
            let mut line = line.clone();
            line.author.database = database;
            say(&line, &request, reading);
        }
    }
    Some(BY)
}

fn say(line: &Line<'_>, request: &Request<'_>, reading: &mut Reading<'_>) {
    let inner = request.client == "lua";
    let sender = if inner {
        reading.state.monitor.script.clone()
    } else {
        Some(reading.name(request.client))
    };
    let verb = request
        .words
        .first()
        .map(|word| word.to_ascii_lowercase())
        .unwrap_or_default();
    let word = |at: usize| request.words.get(at).map(Cow::as_ref);
    if !inner {
        reading.state.monitor.script = None;
        if matches!(
            verb.as_str(),
            "eval" | "evalsha" | "fcall" | "eval_ro" | "evalsha_ro" | "fcall_ro"
        ) {
            reading.state.monitor.script.clone_from(&sender);
            return;
        }
    }
    let Some(key) = word(1) else { return };
    if let Some(wanted) = &reading.options.key
        && !key.contains(wanted.as_str())
        && !(verb == "del" || verb == "unlink" || verb == "flushall" || verb == "flushdb" || verb == "script")
    {
        return;
    }
    let key = reading.name(key);
    let option = |name: &str| {
        request
            .words
            .iter()
            .skip(3)
            .position(|word| word.eq_ignore_ascii_case(name))
            .map(|at| at + 3)
    };
    let number = |at: Option<usize>| word(at?)?.parse::<u64>().ok();
    let says = match verb.as_str() {
        "set" => {
            let holder = word(2).map(|holder| reading.name(holder));
            let ttl = number(option("px").map(|at| at + 1))
                .map(Duration::from_millis)
                .or_else(|| number(option("ex").map(|at| at + 1)).map(Duration::from_secs));
            let conditional = option("nx").is_some();
            match (conditional, option("xx").is_some()) {
                // Whether NX held is in no answer here; inside a script neither.
                (true, _) => StoreSays::Asked {
                    key,
                    holder,
                    ttl,
                    sender,
                },
                (false, true) => StoreSays::RenewalAsked { key, sender },
                (false, false) => StoreSays::Granted {
                    key,
                    holder,
                    token: None,
                    ttl,
                    until: None,
                },
            }
        }
        "setnx" => StoreSays::Asked {
            holder: word(2).map(|holder| reading.name(holder)),
            key,
            ttl: None,
            sender,
        },
        "psetex" | "setex" => {
            let unit = if verb == "psetex" { 1 } else { 1000 };
            StoreSays::Granted {
                holder: word(3).map(|holder| reading.name(holder)),
                key,
                token: None,
                ttl: number(Some(2)).map(|value| Duration::from_millis(value.saturating_mul(unit))),
                until: None,
            }
        }
        "hset" | "hincrby" | "hsetnx" if inner || has(&key, "lock") || reading.options.key.is_some() => {
            StoreSays::Asked {
                holder: word(2).map(|holder| reading.name(holder)),
                key,
                ttl: None,
                sender,
            }
        }
        "pexpire" | "expire" => {
            let unit = if verb == "pexpire" { 1 } else { 1000 };
            StoreSays::RenewalApplied {
                key,
                sender,
                ttl: number(Some(2)).map(|value| Duration::from_millis(value.saturating_mul(unit))),
                until: None,
            }
        }
        "pexpireat" | "expireat" => {
            let unit = if verb == "pexpireat" { 1_000_000 } else { 1_000_000_000 };
            let until = number(Some(2)).and_then(|value| i64::try_from(value).ok()?.checked_mul(unit));
            StoreSays::RenewalApplied {
                key,
                sender,
                ttl: None,
                until: until.map(crate::when::Interval::exact),
            }
        }
        "del" | "unlink" => {
            let names: Vec<Arc<str>> = request.words.iter().skip(1).map(|key| reading.name(key)).collect();
            for key in names {
                if reading
                    .options
                    .key
                    .as_ref()
                    .is_some_and(|wanted| !key.contains(wanted.as_str()))
                {
                    continue;
                }
                // Inside a script it came through the script's own comparison; from a client nothing says what it met.
                let says = match inner {
                    true => StoreSays::Deleted {
                        key,
                        by: sender.clone(),
                        index: None,
                    },
                    false => StoreSays::DeleteAsked {
                        key,
                        sender: sender.clone(),
                    },
                };
                reading.say(line, SourceKind::Store, BY, StampMeans::Emitted, Says::Store(says));
            }
            return;
        }
        // The key is elsewhere, or nowhere, after these.
        "getdel" | "rename" | "renamenx" | "move" => match inner {
            true => StoreSays::Deleted {
                key,
                by: sender,
                index: None,
            },
            false => StoreSays::DeleteAsked { key, sender },
        },
        "flushall" | "flushdb" => StoreSays::Moved {
            kind: crate::says::MoveKind::Flush,
            what: reading.name(&verb),
            term: None,
        },
        _ => return,
    };
    reading.say(line, SourceKind::Store, BY, StampMeans::Emitted, Says::Store(says));
}

/// The longest line that is read.
const LONGEST: usize = 4 << 20;

/// Searches a capture for the lines that name the key, and reads only these. All lines are counted.
pub(crate) fn search(
    name: &Arc<str>,
    reader: &mut dyn BufRead,
    key: &str,
    reading: &mut Reading<'_>,
    meter: &mut Meter<'_>,
) -> u64 {
    let finder = memchr::memmem::Finder::new(key.as_bytes());
    let mut piece: Vec<u8> = vec![0; LONGEST];
    let (mut filled, mut total) = (0_usize, 0_u64);
    let mut others = 0_u64;
    // As much at a time as a core's own cache holds: it is gone through three times.
    while let Some(room) = piece.get_mut(filled..LONGEST.min(filled + BUFFER)) {
        let read = match reader.read(room) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                crate::read::broken(reading, &error, crate::source::Packed::No);
                0
            }
        };
        filled += read;
        total += read as u64;
        let whole = piece.get(..filled).unwrap_or_default();
        // Up to the last whole line; at the end of the file all of it.
        let end = match memchr::memrchr(b'\n', whole) {
            _ if read == 0 => filled,
            Some(end) => end + 1,
            // A line longer than a piece: it is dropped up to its end.
            None if filled == LONGEST => {
                reading.problem(
                    Some(reading.lines + 1),
                    crate::evidence::ProblemKind::LineTooLong,
                    "a line is longer than 4 MiB; it was not read",
                );
                filled = 0;
                continue;
            }
            None => continue,
        };
        others += within(whole.get(..end).unwrap_or_default(), &finder, reading);
        meter.add(name, read as u64);
        piece.copy_within(end..filled, 0);
        filled -= end;
        if read == 0 {
            break;
        }
    }
    reading.state.monitor = State::default();
    if others > 0 {
        let layers = Layers::default();
        reading.format(layers, "redis-monitor (other keys)");
    }
    total
}

/// The lines of a piece that name the key; how many do not.
fn within(piece: &[u8], finder: &memchr::memmem::Finder<'_>, reading: &mut Reading<'_>) -> u64 {
    let first = reading.lines + 1;
    let (mut from, mut counted, mut number, mut found) = (0, 0, first, 0);
    // The first line of a piece is read for its stamp: for what the file covers.
    let end = memchr::memchr(b'\n', piece).unwrap_or(piece.len());
    stamp_only(first, piece.get(..end).unwrap_or_default(), reading);
    while let Some(hit) = piece.get(from..).and_then(|rest| finder.find(rest)) {
        let at = from + hit;
        let begin = piece
            .get(..at)
            .and_then(|head| memchr::memrchr(b'\n', head))
            .map_or(0, |at| at + 1);
        let end = piece
            .get(at..)
            .and_then(|rest| memchr::memchr(b'\n', rest))
            .map_or(piece.len(), |end| at + end);
        number += lines(piece.get(counted..begin));
        counted = begin;
        let raw = String::from_utf8_lossy(piece.get(begin..end).unwrap_or_default());
        super::line(number, raw.trim_end_matches('\r').trim_start_matches('+'), reading);
        found += 1;
        from = end + 1;
    }
    number += lines(piece.get(counted..));
    let open = !piece.is_empty() && piece.last() != Some(&b'\n');
    if open || !piece.is_empty() {
        let body = piece.strip_suffix(b"\n").unwrap_or(piece);
        let begin = memchr::memrchr(b'\n', body).map_or(0, |at| at + 1);
        let last = number - u64::from(!open);
        stamp_only(last, body.get(begin..).unwrap_or_default(), reading);
    }
    reading.lines = number - 1 + u64::from(open);
    (reading.lines + 1 - first).saturating_sub(found)
}

fn stamp_only(number: u64, raw: &[u8], reading: &mut Reading<'_>) {
    let raw = raw.get(..raw.len().min(64)).unwrap_or_default();
    let Ok(raw) = std::str::from_utf8(raw) else { return };
    let raw = raw.trim_start_matches('+');
    if let Some((nanos, unit, _)) = written::seconds(raw.as_bytes()) {
        let line = Line {
            number,
            raw,
            text: Cow::Borrowed(""),
            when: Some(reading.stamps.epoch(nanos, unit)),
            other: None,
            author: Author::default(),
            fields: None,
            layers: Layers::default(),
            continued: false,
        };
        reading.cover_only(&line);
    }
}

fn lines(bytes: Option<&[u8]>) -> u64 {
    memchr::memchr_iter(b'\n', bytes.unwrap_or_default()).count() as u64
}
