//! Sockets and counters of the network: ss, conntrack, nstat, netstat -s. None of them has a stamp of its own.

use super::scan::{after, between, number, span, unit, whole, word};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{NetworkSays, Says, TimerKind};
use crate::when::StampMeans;
use std::sync::Arc;
use std::time::Duration;

/// The socket whose second line is awaited.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Whether ss's header was seen, and whether it has a state's column.
    header: Option<bool>,
    netstat: Option<Arc<str>>,
    summary: bool,
}

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    if line.fields.is_some() {
        return None;
    }
    let text = line.text.as_ref();
    conntrack(line, text.trim(), reading)
        .or_else(|| ss(line, text, reading))
        .or_else(|| nstat(line, text, reading))
        .or_else(|| netstat(line, text, reading))
}

fn say(line: &Line<'_>, by: &'static str, says: NetworkSays, reading: &mut Reading<'_>) {
    reading.say(line, SourceKind::Network, by, StampMeans::Observed, Says::Network(says));
}

/// A header, a line for each socket, and below it, indented, what TCP knows.
fn ss(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    if text.contains("Recv-Q") && text.contains("Send-Q") && text.contains("Local Address:Port") {
        reading.state.sockets.header =
            Some(text.trim_start().starts_with("State") || text.trim_start().starts_with("Netid"));
        return Some("ss");
    }
    // `ss -s`: a summary.
    if text.starts_with("Transport Total")
        || text.starts_with("TCP:   ")
        || text.starts_with("Total: ") && line.continued
    {
        reading.state.sockets.summary = true;
        return Some("ss");
    }
    if reading.state.sockets.summary && ["RAW", "UDP", "TCP", "INET", "FRAG"].contains(&word(text)) {
        return Some("ss");
    }
    let with_state = reading.state.sockets.header?;
    if text.starts_with(['\t', ' ']) && text.contains("rto:") {
        details(text, reading);
        return Some("ss");
    }
    let mut parts = text.split_whitespace();
    let mut state = "ESTAB";
    if with_state {
        state = parts.next()?;
        if matches!(state, "tcp" | "udp") {
            state = parts.next()?;
        }
        if !state.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-') {
            return None;
        }
    }
    let queued = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let (local, peer) = (parts.next()?, parts.next()?);
    if !local.contains(':') || !peer.contains(':') {
        return None;
    }
    let timer = between(text, "timer:(", ")").and_then(timer);
    let mut line = line.clone();
    line.author.pid = between(text, ",pid=", ",").and_then(|pid| pid.parse().ok());
    line.author.process = between(text, "users:((\"", "\"").map(Arc::from);
    let says = NetworkSays::Socket {
        state: reading.name(state),
        local: local.into(),
        peer: peer.into(),
        timer,
        queued,
        last_sent: None,
        last_received: None,
        retransmits: None,
        window_limited: None,
    };
    say(&line, "ss", says, reading);
    Some("ss")
}

/// `keepalive,27sec,0`, `on,200ms,3`, `persist,1.2sec,4`, `keepalive,1min22sec,0`.
fn timer(text: &str) -> Option<(TimerKind, Duration, u32)> {
    let mut parts = text.split(',');
    let kind = match parts.next()? {
        "on" => TimerKind::Retransmit,
        "keepalive" => TimerKind::Keepalive,
        "persist" => TimerKind::ZeroWindow,
        "timewait" => TimerKind::TimeWait,
        _ => return None,
    };
    let mut rest = parts.next()?;
    let mut left = Duration::ZERO;
    while !rest.is_empty() {
        // `4.884ms` is four seconds and 884 milliseconds: ss leaves out the unit of the first.
        let (value, more) = number(rest)?;
        let end = more.find(|c: char| !c.is_alphabetic()).unwrap_or(more.len());
        let (name, after) = more.split_at(end);
        let part = match (name, rest.split_once('.')) {
            ("ms", Some((seconds, ms))) if ms.starts_with(|c: char| c.is_ascii_digit()) => {
                let seconds: u64 = seconds.parse().ok()?;
                Duration::from_secs(seconds).saturating_add(Duration::from_millis(whole(ms)?.0))
            }
            _ => span(value, unit(name)?)?,
        };
        left = left.saturating_add(part);
        rest = after;
    }
    Some((kind, left, parts.next()?.parse().ok()?))
}

fn details(text: &str, reading: &mut Reading<'_>) {
    let ms = |name: &str| {
        after(text, name)
            .and_then(whole)
            .map(|(ms, _)| Duration::from_millis(ms))
    };
    let Some(NetworkSays::Socket {
        last_sent,
        last_received,
        retransmits,
        window_limited,
        ..
    }) = reading.records.last_mut().and_then(|record| match &mut record.says {
        Says::Network(says) => Some(says),
        _ => None,
    })
    else {
        return;
    };
    *last_sent = ms("lastsnd:");
    *last_received = ms("lastrcv:");
    *window_limited = ms("rwnd_limited:");
    *retransmits = after(text, "retrans:")
        .and_then(|text| whole(text.split_once('/')?.1))
        .map(|(total, _)| total);
}

/// `tcp      6 59 CLOSE_WAIT src=127.0.0.1 dst=127.0.0.1 sport=58316 dport=21601 src=… [ASSURED] mark=0 use=1`.
fn conntrack(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    if text.starts_with("conntrack v") && text.ends_with("have been shown.") {
        return Some("conntrack");
    }
    let (protocol, rest) = text.split_once(' ')?;
    if !matches!(protocol, "tcp" | "udp" | "icmp" | "sctp" | "dccp" | "unknown") {
        return None;
    }
    let mut parts = rest.split_whitespace();
    let (_number, left) = (parts.next()?.parse::<u8>().ok()?, parts.next()?.parse::<u64>().ok()?);
    let state = parts.next()?;
    if !text.contains("src=") || !text.contains("dst=") {
        return None;
    }
    if protocol == "tcp" && !state.contains('=') {
        let value = |name: &str| after(text, name).map(word).unwrap_or_default();
        let from = format!("{}:{}", value("src="), value("sport="));
        let to = format!("{}:{}", value("dst="), value(" dport="));
        let says = NetworkSays::Tracked {
            state: reading.name(state),
            left: Duration::from_secs(left),
            from_to: (from.into(), to.into()),
        };
        say(line, "conntrack", says, reading);
    }
    Some("conntrack")
}

/// `TcpExtTCPTimeouts               2                  0.0`.
fn nstat(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    if text == "#kernel" {
        return Some("nstat");
    }
    let mut parts = text.split_whitespace();
    let (name, value, rate) = (parts.next()?, parts.next()?, parts.next()?);
    let known = ["Tcp", "Ip", "Udp", "Icmp"].iter().any(|begin| name.starts_with(begin));
    if !known || parts.next().is_some() || !rate.contains('.') || !name.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return None;
    }
    let value: u64 = value.parse().ok()?;
    // Without -a they are changes since the tool's own last run; nothing in the text tells which it was.
    let says = NetworkSays::Counter {
        name: reading.name(name),
        value,
        delta: false,
    };
    say(line, "nstat", says, reading);
    Some("nstat")
}

/// `netstat -s`: sections, and counters in prose.
fn netstat(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    if !line.continued {
        return None;
    }
    const SECTIONS: [&str; 12] = [
        "Ip:",
        "Icmp:",
        "IcmpMsg:",
        "Tcp:",
        "Udp:",
        "UdpLite:",
        "TcpExt:",
        "IpExt:",
        "MPTcpExt:",
        "Ip6:",
        "Udp6:",
        "Icmp6:",
    ];
    if SECTIONS.contains(&text.trim_end()) {
        reading.state.sockets.netstat = Some(Arc::from(text.trim_end().trim_end_matches(':')));
        return Some("netstat");
    }
    let section = reading.state.sockets.netstat.clone()?;
    if !text.starts_with("    ") {
        return None;
    }
    let text = text.trim();
    let (name, value) = match whole(text) {
        Some((value, rest)) => (rest.trim().to_owned(), value),
        None => match text.rsplit_once(": ") {
            Some((name, value)) => (name.to_owned(), value.parse().ok()?),
            None => {
                let at = text.find(|c: char| c.is_ascii_digit());
                match at.and_then(|at| whole(text.get(at..)?)) {
                    Some((value, _)) => (text.replace(|c: char| c.is_ascii_digit(), "").trim().to_owned(), value),
                    None => return Some("netstat"),
                }
            }
        },
    };
    if section.starts_with("Tcp") {
        let says = NetworkSays::Counter {
            name: name.into(),
            value,
            delta: false,
        };
        say(line, "netstat", says, reading);
    }
    Some("netstat")
}
