//! What a guardian is started with, and how it makes itself hard to hold up.

use super::group_of;
use crate::flaw::Flaw;
use crate::signals;
use crate::timing::Timing;
use leaseproof_proc::cgroup::Cgroup;
use leaseproof_proc::priority;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{getpid, set_child_subreaper};
use std::ffi::OsString;
use std::io;
use std::time::Duration;

/// See the module.
#[derive(Debug)]
pub struct Room {
    /// The number of the socket's descriptor.
    pub line: String,
    /// The number of the page's descriptor.
    pub page: String,
    /// When to stop the command.
    pub timing: Timing,
    /// The command's control group.
    pub cgroup: Option<Cgroup>,
    /// The command shares the terminal, and with it the process group of `hold`.
    pub foreground: bool,
    /// The process group of `hold`, which is never killed.
    pub foreign_group: Option<i32>,
    /// How it is broken, in tests.
    pub flaw: Option<Flaw>,
    /// The command and its arguments.
    pub command: Vec<OsString>,
}

impl Room {
    /// The words, in the order in which [`Self::words`] writes them.
    ///
    /// # Errors
    /// When somebody else started this.
    pub fn parse(args: Vec<OsString>) -> io::Result<Self> {
        Self::read(args).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "this is a part of `leaseproof hold`, and started by it alone",
            )
        })
    }

    fn read(args: Vec<OsString>) -> Option<Self> {
        let mut words = args.into_iter();
        let mut text = || words.next()?.into_string().ok();
        let (line, page) = (text()?, text()?);
        let mut nanos = || Some(Duration::from_nanos(text()?.parse().ok()?));
        let timing = Timing {
            grace: nanos()?,
            slack: nanos()?,
            asked_grace: nanos()?,
        };
        let foreground = text()? == "foreground";
        let foreign_group = text()?.parse().ok();
        let flaw = Flaw::from_name(&text()?);
        let cgroup = group_of(&words.next()?);
        let command: Vec<OsString> = words.collect();
        (!command.is_empty()).then_some(Self {
            line,
            page,
            timing,
            cgroup,
            foreground,
            foreign_group,
            flaw,
            command,
        })
    }

    /// The words that [`Self::parse`] reads.
    #[must_use]
    pub fn words(&self) -> Vec<OsString> {
        let nanos = |span: Duration| span.as_nanos().to_string();
        let mut words: Vec<OsString> = [
            self.line.clone(),
            self.page.clone(),
            nanos(self.timing.grace),
            nanos(self.timing.slack),
            nanos(self.timing.asked_grace),
            if self.foreground { "foreground" } else { "own-group" }.to_owned(),
            self.foreign_group
                .map_or_else(|| "-".to_owned(), |group| group.to_string()),
            self.flaw.map_or("-", Flaw::as_str).to_owned(),
        ]
        .map(OsString::from)
        .into();
        words.push(
            self.cgroup
                .as_ref()
                .map_or("-".into(), |group| group.path().as_os_str().to_owned()),
        );
        words.extend(self.command.iter().cloned());
        words
    }
}

/// Becomes a subreaper, and as prompt as it may.
///
/// # Errors
/// When it can't be a subreaper: then processes that fork away would be lost.
pub fn settle() -> io::Result<()> {
    signals::shun()?;
    set_child_subreaper(Some(getpid()))?;
    // Both take a right. Without it the command is stopped as late as a busy machine lets us, and the fuse needs
    // neither.
    let _ = priority::raise_this_thread();
    let _ = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::ONFAULT);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_were_written() {
        let room = Room {
            line: "7".to_owned(),
            page: "8".to_owned(),
            timing: Timing {
                grace: Duration::from_millis(200),
                slack: Duration::from_millis(50),
                asked_grace: Duration::from_secs(5),
            },
            cgroup: Some(Cgroup::at("/sys/fs/cgroup/x y")),
            foreground: true,
            foreign_group: Some(41),
            flaw: None,
            command: vec!["sh".into(), "-c".into(), "true".into()],
        };
        let read = Room::parse(room.words()).expect("they are whole");
        assert_eq!(format!("{read:?}"), format!("{room:?}"));
        assert!(Room::parse(vec!["7".into()]).is_err());
        assert!(
            Room::parse(room.words().into_iter().take(9).collect()).is_err(),
            "no command"
        );
    }
}
