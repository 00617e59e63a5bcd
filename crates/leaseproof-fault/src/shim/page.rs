//! The page that a run shares with the shim in its owner: offset and counters.
//!
//! It is mapped, not written to through the file, since only a mapped word changes at once: a
//! reader must never see half of an offset.

use super::Counts;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

const LENGTH: usize = 4096;
const MAGIC: u64 = 0x3130_4b43_4f4c_4350;

/// The same layout is written down in `shim/clock.c`.
#[repr(C)]
#[derive(Debug)]
struct Layout {
    magic: AtomicU64,
    offset_ns: AtomicI64,
    reads: AtomicU64,
    processes: AtomicU64,
}

/// A mapped page.
#[derive(Debug)]
pub(super) struct Page {
    at: NonNull<Layout>,
}

/// The bytes of a new page.
pub(super) fn fresh() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..8].copy_from_slice(&MAGIC.to_ne_bytes());
    bytes
}

impl Page {
    #[expect(
        unsafe_code,
        reason = "the page is shared memory: there is no other way to share a word"
    )]
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let no_page = || {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{} is no clock page", path.display()),
            )
        };
        if file.metadata()?.len() != LENGTH as u64 {
            return Err(no_page());
        }
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no memory of ours,
        // and the file has the mapping's length, so that no access faults while nobody cuts it. It
        // is the run's own (mode 0600, in a folder of mode 0700).
        let at = unsafe {
            mmap(
                ptr::null_mut(),
                LENGTH,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &file,
                0,
            )?
        };
        let page = Self {
            at: NonNull::new(at.cast()).ok_or_else(no_page)?,
        };
        if page.layout().magic.load(Ordering::Relaxed) == MAGIC {
            Ok(page)
        } else {
            Err(no_page())
        }
    }

    pub(super) fn set_offset(&self, offset_ns: i64) {
        self.layout().offset_ns.store(offset_ns, Ordering::SeqCst);
    }

    pub(super) fn counts(&self) -> Counts {
        let layout = self.layout();
        Counts {
            reads: layout.reads.load(Ordering::SeqCst),
            processes: layout.processes.load(Ordering::SeqCst),
            offset_ns: layout.offset_ns.load(Ordering::SeqCst),
        }
    }

    #[expect(
        unsafe_code,
        reason = "the page is shared memory: there is no other way to share a word"
    )]
    fn layout(&self) -> &Layout {
        // SAFETY: the mapping is page-aligned, longer than the layout, and lives as long as `self`.
        // All its fields are atomics, which other processes may change at any time.
        unsafe { self.at.as_ref() }
    }
}

impl Drop for Page {
    #[expect(unsafe_code, reason = "what was mapped by hand is unmapped by hand")]
    fn drop(&mut self) {
        // SAFETY: the mapping is ours alone, and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.at.as_ptr().cast(), LENGTH) };
    }
}

#[expect(unsafe_code, reason = "a raw pointer is not Send by itself")]
// SAFETY: the mapping belongs to no thread, and all its fields are atomics.
unsafe impl Send for Page {}
#[expect(unsafe_code, reason = "a raw pointer is not Sync by itself")]
// SAFETY: as for Send.
unsafe impl Sync for Page {}
