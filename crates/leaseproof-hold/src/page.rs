//! The deadline that `hold` and its guardian share: one moment in a page of memory that only `hold` can write.
//!
//! It is a sealed memory file. The command may map or read it too (`LEASEPROOF_DEADLINE_FILE`): eight bytes, a
//! native-endian number of nanoseconds of CLOCK_BOOTTIME, 0 once the lease is over.

use leaseproof_model::clock::BootNanos;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const LENGTH: usize = size_of::<u64>();

/// See the module.
#[derive(Debug)]
pub struct Page {
    file: OwnedFd,
    map: Map,
}

impl Page {
    /// A new one, with no validity in it. Nobody but this mapping can write it from here on.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn create() -> io::Result<Self> {
        let file = memfd_create("leaseproof-deadline", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, LENGTH as u64)?;
        let map = Map::new(&file, ProtFlags::READ | ProtFlags::WRITE)?;
        let sealed = SealFlags::GROW | SealFlags::SHRINK | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
        fcntl_add_seals(&file, sealed)?;
        Ok(Self { file, map })
    }

    /// The one that `hold` made, to read.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open(file: OwnedFd) -> io::Result<Self> {
        let map = Map::new(&file, ProtFlags::READ)?;
        Ok(Self { file, map })
    }

    /// The validity that stands.
    #[must_use]
    pub fn until(&self) -> BootNanos {
        BootNanos(self.map.word().load(Ordering::Acquire))
    }

    /// Says a new one. Only for the one that [`Self::create`] made.
    pub fn set(&self, until: BootNanos) {
        if self.map.writable {
            self.map.word().store(until.0, Ordering::Release);
        }
    }
}

impl AsFd for Page {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[derive(Debug)]
struct Map {
    at: NonNull<AtomicU64>,
    writable: bool,
}

#[expect(unsafe_code, reason = "there is no shared memory without a mapping")]
mod mapping {
    use super::*;

    // SAFETY: the pointer is to memory that lives as long as the map, and it is used for atomic loads and stores
    // only, from any thread.
    unsafe impl Send for Map {}
    // SAFETY: as above.
    unsafe impl Sync for Map {}

    impl Map {
        pub(super) fn new(file: &OwnedFd, access: ProtFlags) -> io::Result<Self> {
            // SAFETY: a new mapping at an address that the kernel chooses touches no other. The file has this length,
            // and is sealed against shrinking before anybody else can reach it.
            let at = unsafe { mmap(std::ptr::null_mut(), LENGTH, access, MapFlags::SHARED, file, 0)? };
            let at = NonNull::new(at.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
            let writable = access.contains(ProtFlags::WRITE);
            Ok(Self { at, writable })
        }

        pub(super) fn word(&self) -> &AtomicU64 {
            // SAFETY: the start of a page is aligned, mapped for as long as `self` lives, and every process that can
            // write it does so atomically (`set` is kept from a mapping that is read-only).
            unsafe { self.at.as_ref() }
        }
    }

    impl Drop for Map {
        fn drop(&mut self) {
            // SAFETY: it was mapped with this address and length, and no reference outlives `self`.
            let _ = unsafe { munmap(self.at.as_ptr().cast(), LENGTH) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn one_writes_and_the_other_reads() {
        let page = Page::create().expect("memory");
        let other = Page::open(page.as_fd().try_clone_to_owned().expect("a descriptor")).expect("mapped");
        page.set(BootNanos(7));
        other.set(BootNanos(8));
        assert_eq!(other.until(), BootNanos(7));
    }

    #[test]
    fn nobody_else_writes_it() {
        let page = Page::create().expect("memory");
        let path = format!("/proc/self/fd/{}", page.as_fd().as_raw_fd());
        let refused = OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut file| file.write_all(&[1; 8]));
        assert!(refused.is_err());
        assert!(Map::new(&page.file, ProtFlags::READ | ProtFlags::WRITE).is_err());
        assert_eq!(page.until(), BootNanos(0));
    }
}
