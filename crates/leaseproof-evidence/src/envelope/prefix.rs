//! The stamp at the begin of a line.

use crate::record::Author;
use crate::stamp::counted;
use crate::stamp::{Stamps, written};
use crate::when::{Domain, Interval, When};
use std::time::Duration;

/// How the stamp was written: it tells what may follow.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `2026-11-30T…`.
    IsoT,
    /// `2026-11-30 …`.
    IsoSpace,
    /// `2026/11/30 …`.
    Slashes,
    /// `Nov 30 …`, `Mon 2026-11-30 …`: syslog and journal.
    Syslog,
    /// RFC 5424.
    Syslog5424,
    /// `1796000000.123456 …`.
    Epoch,
    /// `[   99.999750] …`, `3,424,896606278,-;…`.
    Kernel,
    /// klog.
    Klog,
    /// Redis' own log.
    Redis,
    /// In brackets.
    Bracket,
    /// A logfmt line: the stamp is one of its fields.
    Logfmt,
    /// multilog's.
    Tai,
}

/// A stamp and what follows.
pub(crate) struct Found<'a> {
    pub(crate) when: Option<When>,
    pub(crate) other: Option<When>,
    pub(crate) author: Author,
    pub(crate) kind: Kind,
    pub(crate) rest: &'a str,
}

impl<'a> Found<'a> {
    fn new(when: Option<When>, kind: Kind, rest: &'a str) -> Option<Self> {
        Some(Self {
            when: Some(when?),
            other: None,
            author: Author::default(),
            kind,
            rest,
        })
    }
}

/// The stamp at the begin of a line.
pub(crate) fn read<'a>(raw: &'a str, stamps: &mut Stamps) -> Option<Found<'a>> {
    let bytes = raw.as_bytes();
    match *bytes.first()? {
        b'0'..=b'9' => digits(raw, stamps),
        b'<' => priority(raw, stamps),
        b'[' => brackets(raw, stamps),
        b'@' => tai(raw, stamps),
        b't' if raw.starts_with("time=") => logfmt(raw, stamps),
        b'r' if raw.starts_with("raft2") => {
            let (stamp, used) = written::iso(bytes.get(4..)?)?;
            Found::new(stamps.calendar(&stamp), Kind::Slashes, raw.get(4 + used..)?)
        }
        b'I' | b'W' | b'E' | b'F' if bytes.get(1).is_some_and(u8::is_ascii_digit) => klog(raw, stamps),
        b'A'..=b'Z' => words(raw, stamps),
        _ => None,
    }
}

fn digits<'a>(raw: &'a str, stamps: &mut Stamps) -> Option<Found<'a>> {
    let bytes = raw.as_bytes();
    if let Some((stamp, used)) = written::iso(bytes) {
        let kind = match bytes.get(10) {
            Some(b'T' | b't') => Kind::IsoT,
            _ if bytes.get(4) == Some(&b'/') => Kind::Slashes,
            _ => Kind::IsoSpace,
        };
        let mut rest = raw.get(used..)?;
        let mut other = None;
        // A Go program's `m=+4.504252694` is the same moment since its start.
        if let Some(mono) = rest.strip_prefix(" m=+").or_else(|| rest.strip_prefix(" m="))
            && let Some((nanos, unit, used)) = written::seconds(mono.as_bytes())
        {
            other = Some(counted(Domain::Proc, nanos, unit));
            rest = mono.get(used..)?;
        }
        let mut found = Found::new(stamps.calendar(&stamp), kind, rest)?;
        found.other = other;
        return Some(found);
    }
    let (number, used) = written::number(bytes)?;
    match *bytes.get(used)? {
        b'.' => {
            let (nanos, unit, used) = written::seconds(bytes)?;
            let plausible = (1_000_000_000..4_000_000_000).contains(&number) && unit <= 1_000_000;
            (plausible && matches!(bytes.get(used), Some(b' ' | b'\t')))
                .then(|| Found::new(Some(stamps.epoch(nanos, unit)), Kind::Epoch, raw.get(used..)?))?
        }
        b':' => redis(raw, number, used, stamps),
        b',' => kmsg(raw),
        b' ' => {
            // `Mon, 30 Nov 2026 …` without its weekday, as some shells write it.
            let (stamp, used) = written::day_first(bytes)?;
            Found::new(stamps.calendar(&stamp), Kind::IsoSpace, raw.get(used..)?)
        }
        _ => None,
    }
}

/// `16494:M 30 Nov 2026 02:54:32.235 # text`, `16494:signal-handler (1796007389) text`.
fn redis<'a>(raw: &'a str, pid: u64, used: usize, stamps: &mut Stamps) -> Option<Found<'a>> {
    let after = raw.get(used + 1..)?;
    let author = Author {
        pid: u32::try_from(pid).ok(),
        ..Author::default()
    };
    if let Some(rest) = after.strip_prefix("signal-handler (") {
        let (seconds, used) = written::number(rest.as_bytes())?;
        let nanos = i64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?;
        let rest = rest.get(used..)?.strip_prefix(") ")?;
        let mut found = Found::new(Some(stamps.epoch(nanos, 1_000_000_000)), Kind::Redis, rest)?;
        found.author = author;
        return Some(found);
    }
    let role = after.as_bytes().first()?;
    if !matches!(role, b'M' | b'S' | b'C' | b'X') || after.as_bytes().get(1) != Some(&b' ') {
        return None;
    }
    let (stamp, used) = written::day_first(after.as_bytes().get(2..)?)?;
    let rest = after.get(2 + used..)?;
    let mut found = Found::new(stamps.calendar(&stamp), Kind::Redis, rest)?;
    found.author = author;
    Some(found)
}

/// `3,424,896606278,-;text`.
fn kmsg(raw: &str) -> Option<Found<'_>> {
    let (head, text) = raw.split_once(';')?;
    let mut parts = head.split(',');
    let numbers = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let _: (u32, u64) = (numbers.0.parse().ok()?, numbers.1.parse().ok()?);
    let micros: i64 = numbers.2.parse().ok()?;
    if !matches!(numbers.3, "-" | "c" | "+") {
        return None;
    }
    let when = When {
        domain: Domain::Printk,
        span: Interval::cut(micros.checked_mul(1000)?, Duration::from_micros(1)),
        resolution: Duration::from_micros(1),
    };
    Found::new(Some(when), Kind::Kernel, text)
}

/// `<3>[  896.606278] text`, `<34>Nov 30 …`, `<165>1 2026-11-30T… host app pid msgid - text`.
fn priority<'a>(raw: &'a str, stamps: &mut Stamps) -> Option<Found<'a>> {
    let (number, rest) = raw.get(1..)?.split_once('>')?;
    number.parse::<u16>().ok().filter(|number| *number < 192)?;
    if let Some(rest) = rest.strip_prefix("1 ") {
        let (stamp, used) = written::iso(rest.as_bytes())?;
        let mut found = Found::new(stamps.calendar(&stamp), Kind::Syslog5424, rest.get(used..)?)?;
        let mut parts = found.rest.trim_start().splitn(5, ' ');
        let (host, app, pid, _id, text) = (
            parts.next()?,
            parts.next()?,
            parts.next()?,
            parts.next()?,
            parts.next()?,
        );
        let named = |text: &str| (text != "-").then(|| text.into());
        found.author.host = named(host);
        found.author.process = named(app);
        found.author.pid = pid.parse().ok();
        found.rest = structured_data(text);
        return Some(found);
    }
    match rest.as_bytes().first()? {
        b'[' => brackets(rest, stamps),
        _ => words(rest, stamps).or_else(|| digits(rest, stamps)),
    }
}

/// What follows the structured data of RFC 5424.
fn structured_data(text: &str) -> &str {
    if let Some(rest) = text.strip_prefix("- ") {
        return rest;
    }
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\\' if quoted => escaped = !escaped,
            '"' if !escaped => quoted = !quoted,
            ']' if !quoted && !escaped && text.get(at + 1..at + 2) != Some("[") => {
                return text.get(at + 1..).unwrap_or_default().trim_start();
            }
            _ => escaped = false,
        }
    }
    text
}

fn brackets<'a>(raw: &'a str, stamps: &mut Stamps) -> Option<Found<'a>> {
    let inside = raw.get(1..)?;
    let bytes = inside.as_bytes();
    if let Some((stamp, used)) = written::ctime(bytes) {
        let rest = inside.get(used..)?.strip_prefix("] ")?;
        return Found::new(stamps.calendar(&stamp), Kind::Kernel, rest);
    }
    if let Some((stamp, used)) = written::iso(bytes) {
        let rest = inside.get(used..)?;
        // Celery has level and process in the same brackets: `[2026-… ,844: DEBUG/Beat] text`.
        let rest = match rest.strip_prefix(": ") {
            Some(level) => level.split_once("] ").map(|(_, text)| text),
            None => rest.strip_prefix("] "),
        }?;
        return Found::new(stamps.calendar(&stamp), Kind::Bracket, rest);
    }
    let padded = inside.trim_start_matches(' ');
    let (nanos, unit, used) = written::seconds(padded.as_bytes())?;
    if unit > 1_000_000 {
        return None;
    }
    let mut rest = padded.get(used..)?;
    // journalctl's delta stands in the same brackets.
    let delta = rest.trim_start_matches(' ').starts_with('<');
    if delta || rest.starts_with("  ") {
        rest = rest.get(rest.find(']')?..)?;
    }
    let mut rest = rest.strip_prefix("] ")?;
    // `[   T28]`, `[    C1]`: the task or the CPU that wrote it.
    if let Some(caller) = rest.strip_prefix('[')
        && let Some((who, after)) = caller.split_once("] ")
        && matches!(who.trim_start().as_bytes(), [b'T' | b'C', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
    {
        rest = after;
    }
    let when = When {
        domain: Domain::Printk,
        span: Interval::cut(nanos, Duration::from_nanos(unit.unsigned_abs())),
        resolution: Duration::from_nanos(unit.unsigned_abs()),
    };
    Found::new(Some(when), Kind::Kernel, rest)
}

/// `@400000005175823c18c9d534 text`: seconds of TAI from 2^62, and nanoseconds.
fn tai<'a>(raw: &'a str, stamps: &mut Stamps) -> Option<Found<'a>> {
    let hex = raw.get(1..25)?;
    let seconds = u64::from_str_radix(hex.get(..16)?, 16).ok()?;
    let nanos = u32::from_str_radix(hex.get(16..)?, 16).ok()?;
    // multilog counts ten seconds from 1970, and no leap second since.
    let seconds = i64::try_from(seconds.checked_sub(1 << 62)?).ok()?.checked_sub(10)?;
    let at = seconds.checked_mul(1_000_000_000)?.checked_add(i64::from(nanos))?;
    Found::new(Some(stamps.epoch(at, 1)), Kind::Tai, raw.get(25..)?)
}

/// `time="2026-11-30T03:01:20.689855101Z" level=info msg="…"`.
fn logfmt<'a>(raw: &'a str, stamps: &mut Stamps) -> Option<Found<'a>> {
    let value = raw.strip_prefix("time=")?;
    let value = value.strip_prefix('"').unwrap_or(value);
    let (stamp, used) = written::iso(value.as_bytes())?;
    let rest = value.get(used..)?;
    Found::new(
        stamps.calendar(&stamp),
        Kind::Logfmt,
        rest.strip_prefix('"').unwrap_or(rest),
    )
}

/// `I1130 02:56:54.123456    1234 file.go:12] text`.
fn klog<'a>(raw: &'a str, stamps: &mut Stamps) -> Option<Found<'a>> {
    let bytes = raw.as_bytes();
    let digit = |at: usize| {
        bytes
            .get(at)
            .filter(|byte| byte.is_ascii_digit())
            .map(|byte| i8::try_from(byte - b'0').unwrap_or(0))
    };
    let month = digit(1)? * 10 + digit(2)?;
    let day = digit(3)? * 10 + digit(4)?;
    if bytes.get(5) != Some(&b' ') || !(1..=12).contains(&month) {
        return None;
    }
    // The clock part is read as that of a syslog stamp.
    let face = format!("Jan 01 {}", raw.get(6..21)?);
    let (mut stamp, used) = written::syslog(face.as_bytes())?;
    if used != 22 {
        return None;
    }
    (stamp.month, stamp.day) = (month, day);
    let rest = raw.get(21..)?;
    let (head, text) = rest
        .split_once("] ")
        .or_else(|| rest.strip_suffix(']').map(|head| (head, "")))?;
    let mut parts = head.split_whitespace();
    let pid = parts.next()?.parse().ok()?;
    let file = parts.next()?;
    if !file.contains(':') || parts.next().is_some() {
        return None;
    }
    let mut found = Found::new(stamps.calendar(&stamp), Kind::Klog, text)?;
    found.author.pid = Some(pid);
    Some(found)
}

fn words<'a>(raw: &'a str, stamps: &mut Stamps) -> Option<Found<'a>> {
    let bytes = raw.as_bytes();
    let (stamp, used) = written::syslog(bytes)
        .or_else(|| written::full(bytes))
        .or_else(|| written::ctime(bytes))?;
    let rest = raw.get(used..)?;
    rest.starts_with(' ')
        .then(|| Found::new(stamps.calendar(&stamp), Kind::Syslog, rest))?
}

/// `2026-11-30 03:00:17.72517378 +0000 UTC m=+4.504252694` anywhere in a line: one moment on a Go program's two clocks.
pub(crate) fn two_clocks(raw: &str, stamps: &mut Stamps) -> Option<(When, When)> {
    let at = memchr::memmem::find(raw.as_bytes(), b" m=+")?;
    let (nanos, unit, _) = written::seconds(raw.as_bytes().get(at + 4..)?)?;
    let (stamp, _) = (25..=45_usize).find_map(|back| {
        let begin = at.checked_sub(back)?;
        written::iso(raw.as_bytes().get(begin..)?).filter(|(_, used)| begin + used == at)
    })?;
    Some((stamps.calendar(&stamp)?, counted(Domain::Proc, nanos, unit)))
}
