//! The segment of System V shared memory that a killed PostgreSQL server leaves behind: the kernel keeps it until
//! somebody removes it, and no folder shows it.
//!
//! Its server wrote its number down, in `postmaster.pid` in the data folder: the first line is the server's process,
//! the seventh is "key number". A number is used anew, so that it alone is no proof: the kernel must say, too, that
//! this process made the segment, that nobody uses it, and that the folder's owner owns it.

use crate::warden::Healed;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::ptr;

/// Where the kernel lists them.
const LISTING: &str = "/proc/sysvipc/shm";
/// The server's note.
const NOTE: &str = "postmaster.pid";
/// So far below a folder of ours is a server's data.
const DEPTH: u8 = 3;

/// What the note says.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Noted {
    pid: u32,
    id: i32,
}

/// Removes the segments that servers with data at `folder` or below left behind, and says which.
///
/// Nothing may run in there any more; a segment that somebody still uses is left alone.
#[must_use]
pub fn remove_below(folder: &Path) -> Vec<Healed> {
    let mut healed = Vec::new();
    look(folder, DEPTH, &mut healed);
    healed
}

fn look(folder: &Path, depth: u8, healed: &mut Vec<Healed>) {
    // A link may lead anywhere.
    let Some(owner) = fs::symlink_metadata(folder).ok().filter(fs::Metadata::is_dir) else {
        return;
    };
    let note = folder.join(NOTE);
    if fs::symlink_metadata(&note).is_ok_and(|note| note.is_file()) {
        let Some(noted) = fs::read_to_string(&note).ok().as_deref().and_then(parse) else {
            return;
        };
        let listing = fs::read_to_string(LISTING).unwrap_or_default();
        if is_left(&listing, noted, owner.uid()) {
            healed.push(match remove(noted.id) {
                Ok(()) => Healed::SegmentRemoved(noted.id),
                Err(error) => Healed::Failed(format!(
                    "shared memory segment {}: {error}: `ipcrm -m {}` removes it",
                    noted.id, noted.id
                )),
            });
        }
        return;
    }
    if depth == 0 {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        look(&entry.path(), depth - 1, healed);
    }
}

/// Process and number of a note; a server that serves one session alone writes its process with a minus.
fn parse(note: &str) -> Option<Noted> {
    let mut lines = note.lines();
    let pid = lines.next()?.trim().trim_start_matches('-').parse().ok()?;
    let id = lines.nth(5)?.split_whitespace().nth(1)?.parse().ok()?;
    Some(Noted { pid, id })
}

/// Whether the kernel's list has it as one that this process made, that this user owns and nobody uses.
fn is_left(listing: &str, noted: Noted, owner: u32) -> bool {
    let mut lines = listing.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let Some(head) = lines.next() else { return false };
    let place = |name: &str| head.iter().position(|it| *it == name);
    let (Some(id), Some(pid), Some(users), Some(uid)) = (place("shmid"), place("cpid"), place("nattch"), place("uid"))
    else {
        return false;
    };
    lines.any(|line| {
        let is = |at: usize, value: i64| line.get(at).and_then(|it| it.parse().ok()) == Some(value);
        is(id, noted.id.into()) && is(pid, noted.pid.into()) && is(users, 0) && is(uid, owner.into())
    })
}

#[expect(unsafe_code, reason = "the standard library knows no System V shared memory")]
fn remove(id: i32) -> io::Result<()> {
    // SAFETY: IPC_RMID reads and writes nothing of ours: the third argument is ignored.
    match unsafe { libc::shmctl(id, libc::IPC_RMID, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime
  10088820     786439   600                    56 30870 30892      0 65534 65534 65534 65534 1796037731
  10084451     851983   600                    56 30203 30226      6 65534 65534 65534 65534 1796038862
";

    #[test]
    fn notes() {
        let whole = "30870\n/data\n1796037731\n5432\n\n127.0.0.1\n 10088820    786439\nready   \n";
        let noted = Noted {
            pid: 30870,
            id: 786_439,
        };
        assert_eq!(parse(whole), Some(noted));
        assert_eq!(parse(&whole.replace("30870", "-30870")), Some(noted));
        assert_eq!(
            parse("30870\n/data\n1796037731\n5432\n\n"),
            None,
            "it had made none yet"
        );
        assert_eq!(parse(""), None);
        assert_eq!(parse("x\n\n\n\n\n\n 1 2\n"), None);
    }

    #[test]
    fn only_what_fits_in_all_is_left() {
        for (id, pid, uid, left) in [
            (786_439, 30870, 65534, true),
            (786_439, 30871, 65534, false),
            (786_439, 30870, 0, false),
            (851_983, 30203, 65534, false),
            (786_440, 30870, 65534, false),
        ] {
            assert_eq!(is_left(LIST, Noted { pid, id }, uid), left, "{id} {pid} {uid}");
        }
        assert!(!is_left("", Noted { pid: 1, id: 1 }, 0));
    }
}
