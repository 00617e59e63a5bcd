//! Control groups of version 1 for the faults that version 2 does not offer here: a CPU quota, a memory limit.

use leaseproof_fault::launch::Target;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A group of our own. Dropping it lifts its limits and removes it.
pub struct Group {
    path: PathBuf,
}

impl Group {
    /// Makes one of this controller, with everything of this tree in it.
    ///
    /// # Errors
    /// When the host offers none.
    pub fn around(controller: &str, target: &Target) -> Result<Self, String> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new("/sys/fs/cgroup")
            .join(controller)
            .join(format!("orders-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let group = Self { path };
        for process in target.family().look().map_err(|error| error.to_string())? {
            group.write("cgroup.procs", &process.pid.to_string())?;
        }
        Ok(group)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one of its files.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn write(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.path.join(file);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.write("cpu.cfs_quota_us", "-1");
        let root = self.path.parent().map(|it| it.join("cgroup.procs"));
        let until = Instant::now() + Duration::from_secs(2);
        loop {
            let members = std::fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
            for (pid, root) in members.lines().zip(root.iter().cycle()) {
                let _ = std::fs::write(root, pid);
            }
            if std::fs::remove_dir(&self.path).is_ok() || !self.path.exists() || Instant::now() > until {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
