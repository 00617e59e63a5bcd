//! HAProxy, nginx, Envoy: connections through a proxy, and who ended them.

use super::scan::{after, between, has, number, span, whole, word};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{NetworkSays, Says, WhoEnded};
use crate::stamp::written;
use crate::when::StampMeans;
use std::sync::Arc;
use std::time::Duration;

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let text = line.text.trim();
    if line.layers.0.contains(&"nginx-error") {
        return nginx_error(line, text, reading);
    }
    envoy(line, text, reading).or_else(|| access(line, text, reading))
}

fn say(line: &Line<'_>, by: &'static str, means: StampMeans, says: NetworkSays, reading: &mut Reading<'_>) {
    reading.say(line, SourceKind::Network, by, means, Says::Network(says));
}

/// Logs of the access kind: an address, a stamp in brackets. HAProxy stamps the begin, nginx the end.
fn access(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    // HAProxy in syslog has its own stamp as well; that one counts.
    let (client, rest) = text.split_once(" [")?;
    let client = client.split(' ').next()?;
    if !client
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || b".:[]".contains(&byte))
        || client.is_empty()
    {
        return None;
    }
    let (stamp, used) = written::access(rest.as_bytes())?;
    let when = reading.stamps.calendar(&stamp)?;
    let rest = rest.get(used..)?.strip_prefix("] ")?;
    let mut line = line.clone();
    line.when = Some(when);
    line.continued = false;
    let name = haproxy(&line, client, rest, reading)
        .or_else(|| nginx_stream(&line, client, rest, reading))
        .or_else(|| common(rest))?;
    reading.cover_only(&line);
    Some(name)
}

/// `h bh/s1 0/0/0/-1/2002 504 198 - - sH-- 1/1/0/0/0 0/0 "GET …"`, `t bt/s1 1/0/2001 6 cD 1/1/0/0/0 0/0`.
fn haproxy(line: &Line<'_>, client: &str, rest: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let mut parts = rest.split(' ');
    let (_frontend, server, timers) = (parts.next()?, parts.next()?, parts.next()?);
    if !server.contains('/')
        || timers.split('/').count() < 3
        || !timers
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"/-+".contains(&byte))
    {
        return None;
    }
    let http = timers.split('/').count() == 5;
    let last = timers.rsplit('/').next()?.trim_start_matches('+');
    let took = last.parse::<u64>().ok().map(Duration::from_millis);
    let (status, flags) = match http {
        true => {
            let status = parts.next()?.parse::<u16>().ok();
            let _bytes = parts.next()?;
            let (_, _) = (parts.next()?, parts.next()?);
            (status, parts.next()?)
        }
        false => {
            let _bytes = parts.next()?;
            (None, parts.next()?)
        }
    };
    let who = match flags.as_bytes().first()? {
        b'C' => WhoEnded::Client,
        b'S' => WhoEnded::Server,
        b'c' => WhoEnded::ClientSilence,
        // The second letter is the phase: only in that of data has the server been heard before.
        b's' if flags.as_bytes().get(1) == Some(&b'D') => WhoEnded::ServerSilence,
        b's' => WhoEnded::ServerLate,
        b'P' | b'L' | b'R' | b'I' | b'D' | b'U' | b'K' => WhoEnded::Proxy,
        b'-' => WhoEnded::Normal,
        _ => return None,
    };
    let says = NetworkSays::Ended {
        who,
        flags: flags.into(),
        took,
        client: Some(client.into()),
        server: Some(server.into()),
        status,
    };
    say(line, "haproxy", StampMeans::Start, says, reading);
    Some("haproxy")
}

/// `TCP 200 6 5 2.003 "127.0.0.1:21601" …`: the stamp is the end, in whole seconds; an idle cut is a 200 as well.
fn nginx_stream(line: &Line<'_>, client: &str, rest: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let mut parts = rest.split(' ');
    if !matches!(parts.next()?, "TCP" | "UDP") {
        return None;
    }
    let status: u16 = parts.next()?.parse().ok()?;
    let _: (u64, u64) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let took = number(parts.next()?).and_then(|(seconds, _)| span(seconds, 1e9));
    let server = parts.next().map(|server| Arc::from(server.trim_matches('"')));
    let who = match status {
        502 | 504 => WhoEnded::Server,
        500 | 503 | 403 | 400 => WhoEnded::Proxy,
        _ => WhoEnded::Normal,
    };
    let says = NetworkSays::Ended {
        who,
        flags: status.to_string().into(),
        took,
        client: Some(client.into()),
        server,
        status: Some(status),
    };
    say(line, "nginx-stream", StampMeans::End, says, reading);
    Some("nginx-stream")
}

/// The common format of web servers: known, and of no use without a token in it.
fn common(rest: &str) -> Option<&'static str> {
    let request = rest.strip_prefix('"')?;
    ["GET ", "POST ", "PUT ", "DELETE ", "PATCH ", "HEAD "]
        .iter()
        .any(|verb| request.starts_with(verb))
        .then_some("access-log")
}

/// `*1 connection timed out (110: Connection timed out) while proxying connection, client: …, upstream: "…", …`.
fn nginx_error(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let what = || Arc::from(crate::reading::bounded(text).as_ref());
    let says = match () {
        () if has(text, "timed out (110") => Some(NetworkSays::TimedOut { what: what() }),
        () if has(text, "(104: Connection reset by peer)") => Some(NetworkSays::Reset { what: what() }),
        () if has(text, "(111: Connection refused)") => Some(NetworkSays::Refused { what: what() }),
        () if has(text, "upstream prematurely closed") || has(text, "(32: Broken pipe)") => {
            Some(NetworkSays::Reset { what: what() })
        }
        () => None,
    };
    if let Some(says) = says {
        say(line, "nginx-error", StampMeans::End, says, reading);
    }
    Some("nginx-error")
}

/// `"GET /get HTTP/1.1" 503 URX,UF upstream_reset… - "-" 0 84 12 - …`: the stamp is the begin.
fn envoy(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let rest = text.strip_prefix('"')?;
    let (request, rest) = rest.split_once("\" ")?;
    if !request.contains(" HTTP/") && request != "- - -"
        || line.when.is_none()
        || line.continued
        || !line.raw.starts_with('[')
    {
        return None;
    }
    let (status, rest) = whole(rest)?;
    let flags = word(rest.trim_start());
    if flags.is_empty()
        || !flags
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b',' || byte == b'-')
    {
        return None;
    }
    let has_flag = |names: &[&str]| flags.split(',').any(|flag| names.contains(&flag));
    let who = match () {
        () if has_flag(&["DC", "DR"]) => WhoEnded::Client,
        () if has_flag(&["UC", "UF", "UR", "LR", "UPE", "URX"]) => WhoEnded::Server,
        () if has_flag(&["SI"]) => WhoEnded::ServerSilence,
        () if has_flag(&["UT"]) => WhoEnded::ServerLate,
        () if flags == "-" => WhoEnded::Normal,
        () => WhoEnded::Proxy,
    };
    // After the bytes received and sent comes the duration in milliseconds.
    let took = after(rest, "\" ").and_then(|rest| {
        let mut numbers = rest.split(' ');
        let (_, _) = (
            numbers.next()?.parse::<u64>().ok()?,
            numbers.next()?.parse::<u64>().ok()?,
        );
        Some(Duration::from_millis(numbers.next()?.parse().ok()?))
    });
    let says = NetworkSays::Ended {
        who,
        flags: flags.into(),
        took,
        client: None,
        server: between(rest, "upstream_host=\"", "\"").map(Arc::from),
        status: u16::try_from(status).ok(),
    };
    say(line, "envoy", StampMeans::Start, says, reading);
    Some("envoy")
}
