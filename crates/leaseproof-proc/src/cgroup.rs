//! Control groups of version 2, as plain files. The mount is read from mountinfo and never assumed:
//! on a hybrid host it lies beside the controllers of version 1.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// One control group of version 2.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// The group at this directory, which may not be there (yet, or any more).
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Its directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes its directory.
    ///
    /// # Errors
    /// When the kernel refuses, or the new group has no `cgroup.freeze` (kernels before 5.2).
    pub fn create(&self) -> io::Result<()> {
        fs::DirBuilder::new().mode(0o755).create(&self.path)?;
        if !self.file("cgroup.freeze").exists() {
            let _ = fs::remove_dir(&self.path);
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this kernel's control groups have no cgroup.freeze",
            ));
        }
        Ok(())
    }

    /// Moves a process into it.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn add(&self, pid: u32) -> io::Result<()> {
        fs::write(self.file("cgroup.procs"), pid.to_string())
    }

    /// Asks for the freeze. It is in force when [`Self::is_frozen`] says so: a frozen process's
    /// state letter is that of a sleeper.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn freeze(&self) -> io::Result<()> {
        fs::write(self.file("cgroup.freeze"), "1")
    }

    /// Asks for the thaw.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn thaw(&self) -> io::Result<()> {
        fs::write(self.file("cgroup.freeze"), "0")
    }

    /// Whether every process of it is frozen, by `cgroup.events`.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn is_frozen(&self) -> io::Result<bool> {
        Ok(self.event("frozen")? == Some(1))
    }

    /// Whether any process is in it or below it.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn is_populated(&self) -> io::Result<bool> {
        Ok(self.event("populated")? == Some(1))
    }

    /// The kernel's own measure of how long it was frozen in all; `None` on kernels that keep none.
    #[must_use]
    pub fn frozen_for(&self) -> Option<Duration> {
        let text = fs::read_to_string(self.file("cgroup.stat.local")).ok()?;
        value(&text, "frozen_usec").map(Duration::from_micros)
    }

    /// Kills every process in it and below it at once, frozen or not.
    ///
    /// # Errors
    /// What the kernel says; `NotFound` before kernel 5.14.
    pub fn kill(&self) -> io::Result<()> {
        fs::write(self.file("cgroup.kill"), "1")
    }

    /// The pids in it and below it.
    #[must_use]
    pub fn members(&self) -> Vec<u32> {
        let mut pids = Vec::new();
        for group in self.tree() {
            let Ok(text) = fs::read_to_string(group.file("cgroup.procs")) else {
                continue;
            };
            pids.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
        }
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// Removes it and what is below it, waiting until its dead are gone; one that isn't there is
    /// removed already.
    ///
    /// # Errors
    /// When something still lives in it at the time-out.
    pub fn remove(&self, timeout: Duration) -> io::Result<()> {
        let deadline = Instant::now() + timeout;
        loop {
            let mut last = Ok(());
            for group in self.tree().into_iter().rev() {
                match fs::remove_dir(&group.path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => last = Err(error),
                    _ => {}
                }
            }
            if last.is_ok() || Instant::now() >= deadline {
                return last;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn tree(&self) -> Vec<Self> {
        let mut groups = vec![self.clone()];
        let mut next = 0;
        while let Some(group) = groups.get(next) {
            let below: Vec<PathBuf> = fs::read_dir(&group.path)
                .into_iter()
                .flatten()
                .filter_map(Result::ok)
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path())
                .collect();
            groups.extend(below.into_iter().map(Self::at));
            next += 1;
        }
        groups
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn event(&self, name: &str) -> io::Result<Option<u64>> {
        Ok(value(&fs::read_to_string(self.file("cgroup.events"))?, name))
    }
}

/// The directory of the control group in which this process is, or why there is none to use.
///
/// # Errors
/// A reason for people: no mount of version 2, mounted read-only, not ours to write.
pub fn home() -> Result<PathBuf, String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|error| format!("mountinfo: {error}"))?;
    let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| format!("/proc/self/cgroup: {error}"))?;
    let mount = mount_of(&mounts, None).ok_or("no control group file system of version 2 is mounted")?;
    if !mount.writable {
        return Err(format!("{} is mounted read-only", mount.point.display()));
    }
    let own = own
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .ok_or("this process is in no control group of version 2")?;
    let below = Path::new(own)
        .strip_prefix(&mount.root)
        .map_err(|_| format!("the mount {} does not show our group {own}", mount.point.display()))?;
    Ok(mount.point.join(below))
}

struct Mount {
    point: PathBuf,
    root: PathBuf,
    writable: bool,
}

/// The control group of `pid` under a controller of version 1, or (`None`) in version 2; none where
/// nothing of the kind is mounted, or the mount does not show the group.
#[must_use]
pub fn of(pid: u32, controller: Option<&str>) -> Option<Cgroup> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let mount = mount_of(&mounts, controller)?;
    let own = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (names, path) = (fields.next()?, fields.next()?);
        let wanted = match controller {
            Some(controller) => names.split(',').any(|name| name == controller),
            None => names.is_empty(),
        };
        wanted.then_some(path)
    })?;
    let below = Path::new(own).strip_prefix(&mount.root).ok()?;
    Some(Cgroup::at(mount.point.join(below)))
}

fn mount_of(mountinfo: &str, controller: Option<&str>) -> Option<Mount> {
    mountinfo.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let kind = right.next()?;
        let options = right.nth(1)?;
        let wanted = match controller {
            Some(controller) => kind == "cgroup" && options.split(',').any(|option| option == controller),
            None => kind == "cgroup2",
        };
        if !wanted {
            return None;
        }
        let writable_super = options.split(',').next()? == "rw";
        let mut left = left.split(' ').skip(3);
        let root = unescape(left.next()?);
        let point = unescape(left.next()?);
        let writable_mount = left.next()?.split(',').any(|option| option == "rw");
        Some(Mount {
            point: PathBuf::from(point),
            root: PathBuf::from(root),
            writable: writable_super && writable_mount,
        })
    })
}

/// Mountinfo writes space, tab, line feed and backslash as three octal digits.
fn unescape(text: &str) -> String {
    let codes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    codes
        .iter()
        .fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

fn value(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate
";

    #[test]
    fn hybrid_mount_ok() {
        let mount = mount_of(HYBRID, None).expect("found");
        assert_eq!(mount.point, Path::new("/sys/fs/cgroup/unified"));
        assert!(mount.writable);
        let freezer = mount_of(HYBRID, Some("freezer")).expect("found");
        assert_eq!(freezer.point, Path::new("/sys/fs/cgroup/freezer"));
        assert!(mount_of(HYBRID, Some("cpu")).is_none());
    }

    #[test]
    fn version_one_alone_bad() {
        let lines: String = HYBRID.lines().take(2).map(|line| format!("{line}\n")).collect();
        assert!(mount_of(&lines, None).is_none());
    }

    #[test]
    fn read_only_mount_bad() {
        let line = "41 31 0:38 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup2 rw";
        assert!(!mount_of(line, None).expect("found").writable);
    }

    #[test]
    fn values_by_whole_name() {
        assert_eq!(value("frozen_usec 12\nfrozen 1\n", "frozen"), Some(1));
        assert_eq!(value("frozen_usec 12\n", "frozen"), None);
    }
}
