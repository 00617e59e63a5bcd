//! Whether a file is mapped into a process.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

/// Whether `file` is mapped in `pid`, compared by path, device and inode's number: a file of the
/// same name in another place isn't it, and a mount that shows another device number still is.
///
/// # Errors
/// When the process is gone, its maps can't be read, or the file isn't there.
pub fn is_mapped(pid: u32, file: &Path) -> io::Result<bool> {
    let inode = fs::metadata(file)?.ino();
    let path = file.canonicalize()?;
    let maps = fs::read(format!("/proc/{pid}/maps"))?;
    let maps = String::from_utf8_lossy(&maps);
    Ok(maps.lines().any(|line| {
        let mut fields = line.splitn(6, ' ');
        let seen = fields.nth(4).and_then(|field| field.parse::<u64>().ok());
        let name = fields.next().map(str::trim_start);
        seen == Some(inode) && name.is_some_and(|name| Path::new(name) == path)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_binary_ok() {
        let binary = std::env::current_exe().expect("known");
        assert!(is_mapped(std::process::id(), &binary).expect("readable"));
    }

    #[test]
    fn another_file_bad() {
        let other = Path::new("/proc/self/stat");
        assert!(!is_mapped(std::process::id(), other).expect("readable"));
    }
}
