//! The TCP connections of a process, as the kernel has them: what is under way, which timer runs, when
//! data last went and came.

use crate::sock_diag;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use std::{fs, io};

/// A TCP connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tcp {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The kernel's state number: 1 is established.
    pub state: u8,
    /// Bytes sent and not acknowledged.
    pub unacknowledged: u32,
    /// Bytes that have come and were not read.
    pub unread: u32,
    /// Retransmissions of what is under way now.
    pub retransmits: u32,
    /// The timer that runs, and how long until it fires.
    pub timer: Option<(Timer, Duration)>,
    /// The kernel's inode number of it.
    pub inode: u64,
    /// What only a netlink socket tells, and only of this network namespace.
    pub details: Option<Details>,
}

/// A timer of a connection.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Timer {
    /// It sends again what was not acknowledged.
    Retransmit,
    /// It asks whether the other end is there.
    KeepAlive,
    /// It waits out old packets.
    TimeWait,
    /// It asks whether a full receiver has room again.
    Probe,
}

/// More of a connection.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Details {
    /// Retransmissions since it was opened.
    pub retransmits_ever: u32,
    /// How long since data was last sent.
    pub last_sent: Duration,
    /// How long since data last came.
    pub last_received: Duration,
    /// The smoothed round trip.
    pub round_trip: Duration,
}

/// The connections of `pid` to `port` of any host.
///
/// # Errors
/// When the process is gone, or its descriptors may not be seen (another user's process).
pub fn to_port(pid: u32, port: u16) -> io::Result<Vec<Tcp>> {
    let own = inodes(pid)?;
    let mut found = sock_diag::to_port(port).unwrap_or_default();
    found.retain(|socket| own.contains(&socket.inode));
    if found.is_empty() {
        // Another network namespace than ours: its own table, which tells less.
        for table in ["tcp", "tcp6"] {
            let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
            found.extend(text.lines().filter_map(row));
        }
        found.retain(|socket| own.contains(&socket.inode) && socket.remote.port() == port);
    }
    found.sort_by_key(|socket| (socket.remote, socket.local));
    Ok(found)
}

/// The connections from `from` to `to`, two processes of one network namespace, as the end of `to` has them:
/// `unread` is what `to` has not read. One that `to` has not yet accepted is among them.
///
/// # Errors
/// When a process is gone, or its descriptors may not be seen (another user's process).
pub fn between(from: u32, to: u32) -> io::Result<Vec<Tcp>> {
    let (near, far) = (inodes(from)?, inodes(to)?);
    let mut rows = Vec::new();
    for table in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("/proc/{to}/net/{table}")).unwrap_or_default();
        rows.extend(text.lines().filter_map(row));
    }
    let listens = |port: u16| {
        rows.iter()
            .any(|row| row.state == LISTENING && row.local.port() == port && far.contains(&row.inode))
    };
    let other_end = |near: &Tcp| {
        rows.iter().find(|row| {
            let theirs = far.contains(&row.inode) || (row.inode == 0 && listens(row.local.port()));
            theirs && row.local == near.remote && row.remote == near.local
        })
    };
    let established = rows
        .iter()
        .filter(|row| row.state == ESTABLISHED && near.contains(&row.inode));
    Ok(established.filter_map(other_end).cloned().collect())
}

/// How many connections were reset in the network namespace of `pid` since it was made, whoever's.
#[must_use]
pub fn resets(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/net/snmp")).ok()?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|name| name == "EstabResets")?;
    values.split(' ').nth(at)?.parse().ok()
}

fn inodes(pid: u32) -> io::Result<BTreeSet<u64>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let target = fs::read_link(entry?.path()).unwrap_or_default();
        let inode: Option<u64> = target
            .to_str()
            .and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
        found.extend(inode);
    }
    Ok(found)
}

const ESTABLISHED: u8 = 1;
const LISTENING: u8 = 10;
/// States in which the other end has closed its side.
const CLOSE_WAIT: u8 = 8;
const LAST_ACK: u8 = 9;
const CLOSING: u8 = 11;

/// A row of `/proc/<pid>/net/tcp` or `tcp6`.
fn row(line: &str) -> Option<Tcp> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let pair = |field: &str| {
        let (a, b) = field.split_once(':')?;
        Some((u32::from_str_radix(a, 16).ok()?, u32::from_str_radix(b, 16).ok()?))
    };
    let (unacknowledged, queued) = pair(fields.get(4)?)?;
    let state = u8::from_str_radix(fields.get(3)?, 16).ok()?;
    let (timer, ticks) = pair(fields.get(5)?)?;
    // USER_HZ is 100 on every architecture that we know of.
    let fires = Duration::from_millis(u64::from(ticks) * 10);
    Some(Tcp {
        local: address(fields.get(1)?)?,
        remote: address(fields.get(2)?)?,
        state,
        unacknowledged,
        unread: unread(state, queued),
        retransmits: u32::from_str_radix(fields.get(6)?, 16).ok()?,
        timer: timer_of(timer).map(|timer| (timer, fires)),
        inode: fields.get(9)?.parse().ok()?,
        details: None,
    })
}

/// Bytes of so many in a queue: the other end's FIN counts as one until it is read, and is none.
pub(crate) fn unread(state: u8, queued: u32) -> u32 {
    let closed_there = matches!(state, CLOSE_WAIT | LAST_ACK | CLOSING);
    queued.saturating_sub(u32::from(closed_there))
}

pub(crate) fn timer_of(number: u32) -> Option<Timer> {
    match number {
        1 => Some(Timer::Retransmit),
        2 => Some(Timer::KeepAlive),
        3 => Some(Timer::TimeWait),
        4 => Some(Timer::Probe),
        _ => None,
    }
}

/// `0100007F:18EB`: words of the address in this host's order, the port in hex.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let words: Vec<[u8; 4]> = (0..address.len() / 8)
        .filter_map(|at| u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok())
        .map(u32::to_ne_bytes)
        .collect();
    let ip = match words[..] {
        [word] => IpAddr::from(Ipv4Addr::from(word)),
        [a, b, c, d] => {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(&[a, b, c, d].concat());
            IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// The words for a state number.
#[must_use]
pub fn state_words(state: u8) -> &'static str {
    match state {
        1 => "established",
        2 => "syn-sent",
        3 => "syn-received",
        4 => "fin-wait-1",
        5 => "fin-wait-2",
        6 => "time-wait",
        7 => "closed",
        8 => "close-wait",
        9 => "last-ack",
        10 => "listening",
        11 => "closing",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    #[cfg(target_endian = "little")]
    fn a_row_is_read() {
        let line =
            "   1: 0100007F:DEB6 0100007F:18EB 01 00000010:00000003 01:0000000A 00000002     0        0 4711 2 0 0";
        let socket = row(line).expect("it is one");
        assert_eq!(socket.local.to_string(), "127.0.0.1:57014");
        assert_eq!(socket.remote.to_string(), "127.0.0.1:6379");
        assert_eq!((socket.unacknowledged, socket.unread, socket.retransmits), (16, 3, 2));
        assert_eq!(socket.timer, Some((Timer::Retransmit, Duration::from_millis(100))));
        assert_eq!(row("  sl  local_address rem_address   st"), None);
        assert_eq!(row(""), None);
    }

    #[test]
    fn a_request_that_another_does_not_read_is_found_at_its_end() {
        use std::io::Write as _;
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let place = listener.local_addr().expect("bound");
        // Not accepted yet, as with a server that stands still.
        let mut near = TcpStream::connect(place).expect("it connects");
        let own = std::process::id();
        let ours = || {
            let mut found = between(own, own).expect("our own");
            found.retain(|it| it.local == place);
            found
        };
        let [quiet] = &ours()[..] else { panic!("{:?}", ours()) };
        assert_eq!((quiet.unread, quiet.remote), (0, near.local_addr().expect("connected")));
        near.write_all(b"GET").expect("it is sent");
        assert_eq!(ours()[0].unread, 3);
        let (accepted, _) = listener.accept().expect("it comes");
        assert_eq!(ours()[0].unread, 3);
        drop((near, accepted));
        assert_eq!(ours(), []);
    }

    #[test]
    fn our_own_connection_is_found_with_what_lies_in_it() {
        use std::io::Write as _;
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let near = TcpStream::connect(("127.0.0.1", port)).expect("it connects");
        let (mut other, _) = listener.accept().expect("it comes");
        other.write_all(b"unread").expect("it is sent");
        // Loopback delivers before the write returns.
        let found = to_port(std::process::id(), port).expect("our own");
        let [socket] = &found[..] else { panic!("{found:?}") };
        assert_eq!(socket.local, near.local_addr().expect("connected"));
        assert_eq!((socket.state, socket.unread), (1, 6));
        assert!(resets(std::process::id()).is_some());
        drop(other);
        let found = to_port(std::process::id(), port).expect("our own");
        let closed = found
            .iter()
            .find(|it| it.local == near.local_addr().expect("connected"));
        assert_eq!(
            closed.map(|it| (it.state, it.unread)),
            Some((8, 6)),
            "the end is no byte"
        );
    }
}
