//! When bytes arrived, by the kernel's own stamp.
//!
//! A starved reader reads late, and would stamp late what arrived in time. The kernel stamps each
//! packet on its receive path (`SO_TIMESTAMPNS`; on loopback that is the sender's own system call),
//! measured here at 25 µs. It stamps by the wall clock, so the stamp is carried over to the boot
//! clock by its *age* at the moment of reading, and is believed only inside the bracket that we know
//! anyway: after the socket was seen empty, before the bytes were read.

#![expect(
    unsafe_code,
    reason = "rustix has neither timestamps among its control messages nor `TCP_INFO`; the three calls below are all that is needed"
)]

use leaseproof_model::clock::{BootNanos, WallNanos};
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::{boot_now, stamp_now};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Asks the kernel to stamp what arrives; sockets accepted from a listener inherit it.
///
/// # Errors
/// When the kernel offers no stamps: then moments are only as tight as the polling.
pub fn stamp(socket: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the pointer and the length describe one live `c_int`, and the descriptor is borrowed.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Bytes that were read, and when they arrived.
#[derive(Copy, Clone, Debug)]
pub struct Received {
    /// How many; none at the end of the stream.
    pub bytes: usize,
    /// When the last of them arrived: the stamp of the last segment that was read to its end.
    pub last: Moment,
    /// When any of the others did: the kernel joins segments that wait, and keeps one stamp of them.
    pub others: Moment,
    /// Whether the kernel said so.
    pub stamped: bool,
}

/// Reads what has arrived at a non-blocking `socket` that was seen empty at `empty`, when `taken`
/// segments of it had been read before.
///
/// # Errors
/// As `recvmsg`; `WouldBlock` when nothing has.
pub fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    empty: BootNanos,
    taken: Option<u32>,
) -> io::Result<Received> {
    let (bytes, wall) = receive_stamped(socket, buffer)?;
    let one_segment = taken
        .zip(segments(socket))
        .is_some_and(|(taken, come)| come.wrapping_sub(taken) <= 1);
    let before = boot_now();
    let stamp = stamp_now();
    let after = boot_now();
    let bracket = Moment::between(empty, after);
    // The first packets after stamping was switched on may come without one.
    let placed = wall.and_then(|wall| {
        let age = u64::try_from(stamp.wall.0 - wall.0).ok().map(Duration::from_nanos)?;
        let at = Moment::between(before.minus(age), after.minus(age));
        // A wall clock that stepped in between shows by a moment outside of what is known anyway.
        let slack = Duration::from_millis(1);
        (at.earliest >= empty.minus(slack) && at.latest <= after).then_some(at)
    });
    let last = placed.unwrap_or(bracket);
    Ok(Received {
        bytes,
        last,
        others: if one_segment {
            last
        } else {
            Moment::between(empty.min(last.earliest), last.latest)
        },
        stamped: placed.is_some(),
    })
}

/// How many segments with data have come on this connection; none where the kernel doesn't say.
#[must_use]
pub fn segments(socket: BorrowedFd<'_>) -> Option<u32> {
    /// Where `tcpi_data_segs_in` stands in `struct tcp_info`: part of the kernel's interface since 4.6.
    const DATA_SEGS_IN: usize = 152;
    let mut info = [0_u8; DATA_SEGS_IN + 4];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `info`, which is a live local of that size.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (done == 0 && length as usize == info.len())
        .then(|| info.last_chunk().map(|bytes| u32::from_ne_bytes(*bytes)))
        .flatten()
}

fn receive_stamped(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Option<WallNanos>)> {
    // Words, so that the control buffer is aligned for a `cmsghdr`.
    let mut control = [0_u64; 16];
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: a `msghdr` of zeros is a valid one: null pointers with lengths of nought.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: every pointer in `message` refers to a live local or to `buffer`, with its true length.
    let bytes = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let Ok(bytes) = usize::try_from(bytes) else {
        return Err(io::Error::last_os_error());
    };
    let mut wall = None;
    // SAFETY: the kernel filled `message`, whose control buffer is still alive; the macros walk
    // inside `msg_controllen`, and a message of this type carries one `timespec`, read unaligned.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_TIMESTAMPNS {
                let time: libc::timespec = std::ptr::read_unaligned(libc::CMSG_DATA(header).cast());
                wall = Some(WallNanos(time.tv_sec * 1_000_000_000 + time.tv_nsec));
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok((bytes, wall))
}
