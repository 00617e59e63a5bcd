//! The guardian: the second process that can stop the command, and the one that starts it.
//!
//! It is the command's parent and a subreaper; so is `hold` above it. Whichever of the two is left has the whole tree
//! below it. It never asks a store: it knows the deadline, by the page that `hold` writes, and obeys the clock.

mod room;

pub use room::Room;

use crate::flaw::Flaw;
use crate::fuse::{Covered, Fuse};
use crate::inherited;
use crate::message::{Line, Order, Report};
use crate::page::Page;
use crate::start;
use crate::timing::{Step, Stopper};
use crate::tree::{self, Ended, Tree};
use crate::wait::{Alarm, Children, wait_for};
use leaseproof_model::clock::BootNanos;
use leaseproof_proc::cgroup::Cgroup;
use leaseproof_proc::clock::boot_now;
use leaseproof_proc::identity;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// The hidden first argument of this process.
pub const WORD: &str = "__hold_guardian";

/// How often a tree that was killed is looked at again: something may sleep where no signal reaches it.
const AGAIN: Duration = Duration::from_millis(20);

/// How long a kill may take until the next look: beyond that the guardian does not run any more.
const KILLS: Duration = Duration::from_secs(1);

/// `args` are those after [`WORD`]; see [`room::Room::parse`].
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match run(args.into_iter().collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("leaseproof hold: the guardian ends: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Vec<OsString>) -> io::Result<()> {
    let room = room::Room::parse(args)?;
    let children = Children::watch()?;
    room::settle()?;
    let mut guardian = Guardian {
        line: Line::new(UnixStream::from(inherited::take(&room.line)?))?,
        page: Page::open(inherited::take(&room.page)?)?,
        stopper: Stopper::new(room.timing),
        tree: Tree::new(room.cgroup.clone())?,
        fuse: Fuse::new()?,
        alarm: Alarm::new()?,
        children,
        room,
        root: None,
        orphaned: false,
    };
    guardian.line.say(&Report::Ready);
    let Some((token, until)) = guardian.wait_for_start() else {
        return Ok(());
    };
    match guardian.start(token, until) {
        Ok(pid) => guardian.line.say(&Report::Started { pid }),
        Err(error) => {
            guardian.fuse.put_out()?;
            let (status, why) = error;
            guardian.line.say(&Report::Failed { status, why });
            return Ok(());
        }
    }
    guardian.watch()
}

struct Guardian {
    room: room::Room,
    line: Line,
    page: Page,
    stopper: Stopper,
    tree: Tree,
    fuse: Fuse,
    alarm: Alarm,
    children: Children,
    /// The command's first process, as long as it has not been reaped.
    root: Option<u32>,
    /// `hold` is gone.
    orphaned: bool,
}

impl Guardian {
    fn wait_for_start(&mut self) -> Option<(u64, BootNanos)> {
        loop {
            for order in self.line.orders() {
                if let Order::Start { token, until } = order {
                    return Some((token, until));
                }
            }
            if self.line.has_ended() {
                return None;
            }
            wait_for(&[self.line.socket().as_fd()], None);
        }
    }

    /// Starts the command; its pid, or the exit status and why.
    fn start(&mut self, token: u64, until: BootNanos) -> Result<u32, (u8, String)> {
        let failed = |error: io::Error| (start::NOT_EXECUTABLE, error.to_string());
        let (mut line, theirs) = UnixStream::pair().map_err(failed)?;
        let (lent, number) = inherited::lend(&theirs).map_err(failed)?;
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("leaseproof")
            .arg(start::WORD)
            .arg(number)
            .arg(
                self.room
                    .cgroup
                    .as_ref()
                    .map_or("-".as_ref(), |group| group.path().as_os_str()),
            )
            .args(&self.room.command)
            .env("LEASEPROOF_TOKEN", token.to_string())
            .env("LEASEPROOF_VALID_UNTIL_BOOT_NS", until.0.to_string())
            .env("LEASEPROOF_DEADLINE_FILE", self.deadline_file());
        // In the foreground that of `hold`, which the terminal knows; this process is in another one.
        let shared = self.room.foreign_group.filter(|_| self.room.foreground);
        command.process_group(shared.unwrap_or(0));
        let child = command.spawn().map_err(failed)?;
        drop((lent, theirs));
        let pid = child.id();
        // From here on it is reaped like every other child.
        self.root = Some(pid);
        let mut word = [0];
        if line.read_exact(&mut word).is_ok() && word == [b'r'] {
            self.light(pid).map_err(failed)?;
            line.write_all(b"g").map_err(failed)?;
        } else {
            // It says why instead of `r`.
            line.write_all(b"").map_err(failed)?;
        }
        let mut why = if word == [b'r'] {
            String::new()
        } else {
            String::from_utf8_lossy(&word).into_owned()
        };
        line.read_to_string(&mut why).map_err(failed)?;
        if why.is_empty() {
            return Ok(pid);
        }
        let (status, why) = why.split_once(' ').unwrap_or(("126", &why));
        Err((status.parse().unwrap_or(start::NOT_EXECUTABLE), why.to_owned()))
    }

    /// A path under which the command finds the deadline, as long as this process is there.
    fn deadline_file(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.page.as_fd().as_raw_fd())
    }

    /// Covers the command's first process by the fuse, and lights it.
    fn light(&mut self, pid: u32) -> io::Result<()> {
        if self.room.flaw == Some(Flaw::NoStop) {
            return Ok(());
        }
        let raw = i32::try_from(pid).unwrap_or(i32::MAX);
        self.cover(if self.room.foreground {
            Covered::Process(raw)
        } else {
            Covered::Group(raw)
        })?;
        self.fuse.burn_until(self.room.timing.fuse_at(self.page.until()))
    }

    fn cover(&mut self, whom: Covered) -> io::Result<()> {
        if let Some(number) = self.fuse.cover(whom)? {
            self.line.say(&Report::Fused(number));
        }
        Ok(())
    }

    /// The fuse is moved on with the deadline, and covers what groups the command has made meanwhile.
    fn relight(&mut self) {
        if self.room.flaw == Some(Flaw::NoStop) {
            return;
        }
        let until = self.page.until();
        // A lease that is over needs no fuse: its kill is on its way. It stays lit at the old deadline.
        if until > BootNanos(0) && self.fuse.burn_until(self.room.timing.fuse_at(until)).is_ok() {
            self.line.say(&Report::Seen(until));
        }
        for group in self.tree.groups() {
            let group = i32::try_from(group).unwrap_or(0);
            // In the foreground the command shares its group with `hold`, and with the rest of a pipeline.
            if group > 1 && Some(group) != self.room.foreign_group {
                let _ = self.cover(Covered::Group(group));
            }
        }
    }

    fn watch(mut self) -> io::Result<()> {
        let mut killed = false;
        loop {
            if self.reap()? {
                return Ok(());
            }
            self.obey();
            let now = boot_now();
            let wake = match self.step(now) {
                Step::Wait(at) => at,
                Step::Term => {
                    self.line.say(&Report::Termed);
                    self.tree.signal(Signal::TERM);
                    continue;
                }
                Step::Kill => {
                    self.kill();
                    if !killed {
                        killed = true;
                        self.line.say(&Report::Killing);
                        continue;
                    }
                    boot_now().plus(AGAIN)
                }
            };
            self.alarm.set(wake)?;
            let line = (!self.orphaned).then(|| self.line.socket().as_fd());
            let fds: Vec<_> = [Some(self.alarm.as_fd()), Some(self.children.as_fd()), line]
                .into_iter()
                .flatten()
                .collect();
            wait_for(&fds, None);
            self.children.drain();
        }
    }

    fn step(&mut self, now: BootNanos) -> Step {
        if self.room.flaw == Some(Flaw::NoStop) && !self.stopper.is_killing() {
            return Step::Wait(BootNanos(u64::MAX / 2));
        }
        self.stopper.next(now, self.page.until())
    }

    fn kill(&self) {
        // The first process is not reaped yet, so that its number is nobody else's group: one call for all of it.
        if let Some(pid) = self.root.filter(|_| !self.room.foreground)
            && let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw)
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
        // It runs, and is at it: the fuse would only end it before it has found all that forked away. What the fuse
        // covers first has its SIGKILL already.
        let _ = self.fuse.burn_until(boot_now().plus(KILLS));
        self.tree.kill();
    }

    /// Takes what ended; whether nothing is left.
    fn reap(&mut self) -> io::Result<bool> {
        let (ended, has_children) = tree::reap();
        for (pid, how) in ended {
            if self.root == Some(pid) {
                self.root = None;
                self.line.say(&match how {
                    Ended::Exited(status) => Report::Exited(status),
                    Ended::Killed(signal) => Report::Killed(signal),
                });
                // Its end is the end of the work: what it left behind has the grace, no more.
                if !self.tree.look().unwrap_or_default().is_empty() {
                    self.tree.signal(Signal::TERM);
                    self.stopper.asked(boot_now());
                }
            }
        }
        if self.root.is_some() || !self.tree.is_gone(has_children) {
            return Ok(false);
        }
        self.fuse.put_out()?;
        if self.orphaned
            && let Some(group) = &self.room.cgroup
        {
            crate::group::remove(group);
        }
        self.line.say(&Report::Gone);
        Ok(true)
    }

    fn obey(&mut self) {
        for order in self.line.orders() {
            match order {
                Order::Start { .. } => {}
                Order::Look => self.relight(),
                Order::Signal(signal) => self.pass_on(signal),
                Order::Stop(signal) => {
                    self.pass_on(signal);
                    self.stopper.asked(boot_now());
                }
                Order::Kill => self.stopper.kill(),
            }
        }
        if self.line.has_ended() && !self.orphaned {
            self.orphaned = true;
            // Nobody renews any more: what is left of the validity is time for the command to end well.
            self.tree.signal(Signal::TERM);
            self.stopper.asked(boot_now());
        }
    }

    fn pass_on(&self, signal: i32) {
        let Some(signal) = Signal::from_named_raw(signal) else {
            return;
        };
        let Some(pid) = self.root else {
            self.tree.signal(signal);
            return;
        };
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
            return;
        };
        // Not reaped yet, so that the number is its own.
        let _ = if self.room.foreground {
            identity::identify(pid.as_raw_nonzero().get().unsigned_abs())
                .and_then(leaseproof_proc::pidfd::PidFd::open)
                .and_then(|fd| fd.signal(signal))
                .map(drop)
        } else {
            kill_process_group(pid, signal).map_err(io::Error::from)
        };
    }
}

/// The control group, as the command line has it.
fn group_of(text: &OsString) -> Option<Cgroup> {
    (text != "-").then(|| Cgroup::at(text))
}
