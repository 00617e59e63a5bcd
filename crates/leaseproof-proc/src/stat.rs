//! One line of `/proc/<pid>/stat`.

use leaseproof_model::name::ProcessId;
use std::{fs, io};

/// What a stat line says, as far as it is used.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Stat {
    /// The process, or the thread where it is a thread's line.
    pub id: ProcessId,
    /// `R`, `S`, `D`, `T` (stopped by a signal), `t` (by a tracer), `Z`, `X` …
    pub state: char,
    /// The parent's pid.
    pub parent: u32,
    /// The process group.
    pub group: u32,
    /// The session.
    pub session: u32,
}

impl Stat {
    /// It has ended, and at most its exit status is left of it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Reads the line of a process.
///
/// # Errors
/// When there is no such process, or its line can't be read.
pub fn read(pid: u32) -> io::Result<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat"))?;
    parse(&String::from_utf8_lossy(&text)).ok_or_else(|| malformed(pid))
}

/// Reads the lines of all processes that this one can see, by pid.
///
/// # Errors
/// When `/proc` itself can't be read; processes that end meanwhile are left out.
pub fn all() -> io::Result<Vec<Stat>> {
    let mut rows = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if let Ok(row) = read(pid) {
            rows.push(row);
        }
    }
    rows.sort_by_key(|row| row.id);
    Ok(rows)
}

/// Parses a stat line. The command's name may hold spaces and brackets, so what counts starts after
/// the last closing one.
#[must_use]
pub fn parse(line: &str) -> Option<Stat> {
    let pid = line.split(' ').next()?.parse().ok()?;
    let rest = line.get(line.rfind(')')? + 1..)?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let small = |field: usize| u32::try_from(number(field)?).ok();
    Some(Stat {
        id: ProcessId {
            pid,
            start_ticks: number(22)?,
        },
        state: fields.first()?.chars().next()?,
        parent: small(4)?,
        group: small(5)?,
        session: small(6)?,
    })
}

fn malformed(pid: u32) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("/proc/{pid}/stat has an unknown form"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_ok() {
        let line = "41 (a) b (c) d) T 1 2 3 0 -1 4 98 0 0 0 5 6 0 0 20 0 1 0 987654 1 2";
        let stat = parse(line).expect("parses");
        assert_eq!((stat.id.pid, stat.id.start_ticks), (41, 987_654));
        assert_eq!((stat.state, stat.parent, stat.group, stat.session), ('T', 1, 2, 3));
    }

    #[test]
    fn a_line_cut_off_bad() {
        assert_eq!(parse("41 (sh) S 1 2"), None);
        assert_eq!(parse(""), None);
    }
}
