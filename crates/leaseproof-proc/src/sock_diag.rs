//! The kernel's list of TCP connections, over netlink: the source of `ss -ti`.

use crate::sockets::{Details, Tcp, timer_of, unread};
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const IPPROTO_TCP: u8 = 6;
const INET_DIAG_INFO: u16 = 2;
const HEADER: usize = 16;
const MESSAGE: usize = 72;
const REQUEST: usize = 56;

/// All connections of this network namespace to `port`.
pub(crate) fn to_port(port: u16) -> io::Result<Vec<Tcp>> {
    let mut found = Vec::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            Some(SOCK_DIAG),
        )?;
        let request = request(family, port);
        sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        answers(&socket, &mut found)?;
    }
    Ok(found)
}

/// `nlmsghdr` and `inet_diag_req_v2`.
fn request(family: AddressFamily, port: u16) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + REQUEST);
    bytes.extend(u32::try_from(HEADER + REQUEST).unwrap_or(0).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST_DUMP.to_ne_bytes());
    bytes.extend([0; 8]);
    let family = u8::try_from(family.as_raw()).unwrap_or(0);
    bytes.extend([family, IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), 0]);
    // All states but listening.
    bytes.extend((0xfff_u32 & !(1 << 10)).to_ne_bytes());
    bytes.extend([0; 2]);
    bytes.extend(port.to_be_bytes());
    bytes.resize(HEADER + REQUEST, 0);
    bytes
}

fn answers(socket: &OwnedFd, found: &mut Vec<Tcp>) -> io::Result<()> {
    let mut buffer = vec![0_u8; 64 << 10];
    loop {
        let (length, _) = recv(socket, &mut buffer, RecvFlags::empty())?;
        let mut rest = &buffer[..length];
        if rest.is_empty() {
            return Ok(());
        }
        while let Some(size) = number(rest, 0) {
            let size = size as usize;
            let Some(message) = rest.get(..size).filter(|_| size >= HEADER) else {
                return Ok(());
            };
            match u16::from_ne_bytes([message[4], message[5]]) {
                NLMSG_DONE => return Ok(()),
                NLMSG_ERROR => return Err(io::Error::other("the kernel refuses to list connections")),
                _ => found.extend(connection(&message[HEADER..])),
            }
            rest = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

/// `inet_diag_msg` and its attributes.
fn connection(message: &[u8]) -> Option<Tcp> {
    let fixed = message.get(..MESSAGE)?;
    let port = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let address = |at: usize| {
        if i32::from(fixed[0]) == i32::from(AddressFamily::INET.as_raw()) {
            IpAddr::from(Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]))
        } else {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(&fixed[at..at + 16]);
            IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
        }
    };
    let fires = Duration::from_millis(u64::from(number(fixed, 52)?));
    Some(Tcp {
        local: SocketAddr::new(address(8), port(4)),
        remote: SocketAddr::new(address(24), port(6)),
        state: fixed[1],
        timer: timer_of(u32::from(fixed[2])).map(|timer| (timer, fires)),
        retransmits: u32::from(fixed[3]),
        unread: unread(fixed[1], number(fixed, 56)?),
        unacknowledged: number(fixed, 60)?,
        inode: u64::from(number(fixed, 68)?),
        details: details(&message[MESSAGE..]),
    })
}

/// The attribute `tcp_info`, as far as it is used.
fn details(mut attributes: &[u8]) -> Option<Details> {
    while let Some(head) = attributes.get(..4) {
        let size = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let kind = u16::from_ne_bytes([head[2], head[3]]);
        let value = attributes.get(4..size)?;
        if kind == INET_DIAG_INFO {
            let ms = |at| number(value, at).map(|ms| Duration::from_millis(u64::from(ms)));
            return Some(Details {
                last_sent: ms(44)?,
                last_received: ms(52)?,
                round_trip: Duration::from_micros(u64::from(number(value, 68)?)),
                retransmits_ever: number(value, 100)?,
            });
        }
        attributes = attributes.get(size.next_multiple_of(4)..)?;
    }
    None
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_is_listed_with_its_times() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("it connects");
        let found = to_port(port).expect("the kernel lists");
        let [socket] = &found[..] else { panic!("{found:?}") };
        assert_eq!(socket.local, stream.local_addr().expect("connected"));
        assert_eq!(socket.remote.port(), port);
        assert_eq!(socket.state, 1);
        let details = socket.details.expect("the kernel tells more");
        assert_eq!(details.retransmits_ever, 0);
    }

    #[test]
    fn an_answer_cut_in_the_middle_is_none() {
        assert_eq!(connection(&[0; 40]), None);
        assert_eq!(details(&[20, 0, 2, 0, 1]), None);
    }
}
