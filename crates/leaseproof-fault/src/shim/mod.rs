//! The clock shim: a preloaded library that steps the wall clock of one process tree, and counts
//! how often that clock was read. Its source is `shim/clock.c`.
//!
//! It reaches programs that read the clock through libc. Static programs and Go don't load it,
//! which [`ShimFile::mapped_in`] shows: then a scenario that needs it is not offered.

mod page;

use leaseproof_model::name::ProcessId;
use leaseproof_proc::{family::Family, maps};
use page::Page;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/clock_shim.so"));
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The variable that names the page's file to the shim.
pub const FILE_VARIABLE: &str = "LEASEPROOF_CLOCK_FILE";

/// Whether this build holds the shim.
///
/// # Errors
/// A reason for people.
pub fn availability() -> Result<(), String> {
    if LIBRARY.is_empty() {
        Err("the clock shim was not built for this machine's architecture".to_owned())
    } else {
        Ok(())
    }
}

/// The shim for one owner: the library's file, and the page with offset and counters.
#[derive(Debug)]
pub struct ShimFile {
    object: PathBuf,
    page_file: PathBuf,
    page: Page,
}

/// What the shim counted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Reads of the wall clock through the shim, by all processes that use this page.
    pub reads: u64,
    /// How many times a process (or a program that it became) attached itself.
    pub processes: u64,
    /// The offset in force.
    pub offset_ns: i64,
}

impl ShimFile {
    /// Writes the library (once) and a new page with offset 0 into `dir`, which is the run's own.
    ///
    /// # Errors
    /// When the files can't be written, or this build holds no shim.
    pub fn create(dir: &Path) -> io::Result<Self> {
        availability().map_err(io::Error::other)?;
        let dir = dir.canonicalize()?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let library = dir.join("clock-shim.so");
        if fs::metadata(&library).map_or(0, |file| file.len()) != LIBRARY.len() as u64 {
            // Written aside and renamed, so that nobody ever loads half of it.
            let aside = dir.join(format!("clock-shim.so.{}.{number}", std::process::id()));
            new_file(&aside, 0o700)?.write_all(LIBRARY)?;
            fs::rename(&aside, &library)?;
        }
        let page_file = dir.join(format!("clock-{}-{number}.page", std::process::id()));
        new_file(&page_file, 0o600)?.write_all(&page::fresh())?;
        let page = Page::open(&page_file)?;
        Ok(Self {
            object: library,
            page_file,
            page,
        })
    }

    /// Sets the offset: from the next read on, the owner's wall clock is the kernel's plus this.
    pub fn step(&self, offset_ns: i64) {
        self.page.set_offset(offset_ns);
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.page.counts()
    }

    /// The library's file.
    #[must_use]
    pub fn library(&self) -> &Path {
        &self.object
    }

    /// The page's file.
    #[must_use]
    pub fn page_file(&self) -> &Path {
        &self.page_file
    }

    /// The variables with which a program loads the shim. `preload` is what it would have in
    /// `LD_PRELOAD` without it.
    #[must_use]
    pub fn variables(&self, preload: Option<OsString>) -> Vec<(OsString, OsString)> {
        let mut libraries = self.object.clone().into_os_string();
        if let Some(others) = preload.filter(|others| !others.is_empty()) {
            libraries.push(":");
            libraries.push(others);
        }
        vec![
            ("LD_PRELOAD".into(), libraries),
            (FILE_VARIABLE.into(), self.page_file.clone().into_os_string()),
        ]
    }

    /// Whether the shim is mapped in every process of the tree, and there is one. A process that
    /// ends meanwhile doesn't count.
    #[must_use]
    pub fn mapped_in(&self, tree: &Family) -> bool {
        let Ok(processes) = tree.look() else { return false };
        let alive: Vec<ProcessId> = processes
            .into_iter()
            .filter(|&id| leaseproof_proc::identity::is_alive(id))
            .collect();
        !alive.is_empty()
            && alive.into_iter().all(|id| {
                maps::is_mapped(id.pid, &self.object).unwrap_or(false) || !leaseproof_proc::identity::is_alive(id)
            })
    }
}

/// Sets the offset in a page's file back to 0.
///
/// # Errors
/// When the file is there and is no such page.
pub(crate) fn reset(page_file: &Path) -> io::Result<()> {
    match Page::open(page_file) {
        Ok(page) => {
            page.set_offset(0);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn new_file(path: &Path, mode: u32) -> io::Result<fs::File> {
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}
