//! Loopback ports for servers that can't say which one the kernel gave them.
//!
//! A server that takes its port as a setting (redis-server, etcd, PostgreSQL …) needs a number before it listens. One
//! that the kernel gave to a probe (`bind` to port 0) is of the range that outgoing connections are given, too: on a busy
//! machine one of those has it before the server does. So a port is drawn outside of that range, where only another
//! server can be, and one that is taken is passed over.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Below it are the ports of services that people know.
const FIRST: u16 = 10_000;
/// The kernel's default, where /proc can't be read.
const OUTGOING: (u16, u16) = (32_768, 60_999);

/// So many ports of the loopback interface that nobody listens on now, all different, each as likely as the next.
///
/// # Errors
/// When there are not so many.
pub fn free(count: usize) -> io::Result<Vec<u16>> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    drawn(
        count,
        candidates(range.ok().as_deref().and_then(parsed).unwrap_or(OUTGOING)),
        is_free,
    )
}

/// One such port.
///
/// # Errors
/// When there is none.
pub fn one() -> io::Result<u16> {
    free(1).map(|ports| ports[0])
}

fn parsed(range: &str) -> Option<(u16, u16)> {
    let mut ends = range.split_whitespace().map(|end| end.parse().ok());
    Some((ends.next()??, ends.next()??))
}

/// All but those of outgoing connections; those as well, where hardly any are left.
fn candidates((least, most): (u16, u16)) -> Vec<u16> {
    let apart: Vec<u16> = (FIRST..=u16::MAX)
        .filter(|port| !(least..=most).contains(port))
        .collect();
    match apart.len() {
        0..1000 => (FIRST..=u16::MAX).collect(),
        _ => apart,
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn drawn(count: usize, candidates: Vec<u16>, is_free: impl Fn(u16) -> bool) -> io::Result<Vec<u16>> {
    // The one source of chance in the standard library; it need not be a good one.
    let start = usize::try_from(RandomState::new().hash_one(count) % candidates.len() as u64).unwrap_or(0);
    let ports: Vec<u16> = candidates[start..]
        .iter()
        .chain(&candidates[..start])
        .copied()
        .filter(|&port| is_free(port))
        .take(count)
        .collect();
    if ports.len() < count {
        let words = format!(
            "only {} of {count} ports of the loopback interface are free",
            ports.len()
        );
        return Err(io::Error::new(io::ErrorKind::AddrInUse, words));
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_outgoing_connection_is_given_one_of_them() {
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").expect("Linux has it");
        let (least, most) = parsed(&range).expect(&range);
        let ports = free(9).expect("there are nine");
        assert!(ports.iter().all(|port| !(least..=most).contains(port)), "{ports:?}");
        let mut once = ports.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), 9, "{ports:?}");
    }

    #[test]
    fn one_that_is_taken_is_passed_over() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        assert!(!is_free(taken.local_addr().expect("an address").port()));
        // Which others are free is up to everybody on this machine.
        let drawn = |count, free: u16| drawn(count, vec![10_001, 10_002, 10_003], |port| port == free);
        assert_eq!(drawn(1, 10_002).expect("it is free"), [10_002]);
        let error = drawn(2, 10_002).expect_err("one is free");
        assert!(error.to_string().starts_with("only 1 of 2 ports"), "{error}");
    }

    #[test]
    fn the_whole_range_for_outgoing_connections_leaves_some() {
        assert_eq!(candidates((1024, 65_535)).len(), usize::from(u16::MAX - FIRST) + 1);
        assert_eq!(parsed("32768\t60999\n"), Some(OUTGOING));
        assert_eq!(parsed("32768"), None);
    }
}
