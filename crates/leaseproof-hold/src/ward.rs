//! The guardian, as `hold` sees it: started, told, listened to, and done without when it is gone.

use crate::flaw::Flaw;
use crate::group;
use crate::guardian::{Room, WORD};
use crate::inherited;
use crate::message::{Line, Order, Report};
use crate::page::Page;
use crate::settings::Settings;
use crate::tree::{Ended, Tree};
use crate::wait::wait_for;
use leaseproof_model::clock::BootNanos;
use leaseproof_proc::cgroup::Cgroup;
use leaseproof_proc::clock::boot_now;
use leaseproof_proc::identity;
use leaseproof_proc::pidfd::PidFd;
use rustix::process::{Signal, getpgrp};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a guardian may take to come up.
const COMES_UP: Duration = Duration::from_secs(30);

/// What the thread that renews needs, and nothing of it waits.
#[derive(Debug)]
pub struct Reins {
    page: Page,
    line: UnixStream,
    cgroup: Option<Cgroup>,
    /// The command may be running: it is to be killed once the lease is lost.
    armed: AtomicBool,
    /// The loop of `hold`, woken by a byte.
    wakes: UnixStream,
    flaw: Option<Flaw>,
}

impl Reins {
    /// The store granted it, or extended it.
    pub fn extend(&self, until: BootNanos) {
        self.page.set(until);
        crate::message::say(&self.line, &Order::Look);
        self.wake();
    }

    /// The validity that stands.
    #[must_use]
    pub fn until(&self) -> BootNanos {
        self.page.until()
    }

    /// Nothing is valid any more: the command is killed here and now, where there is a control group, and by its
    /// guardian and the loop of `hold` as soon as they wake.
    pub fn cut(&self) {
        self.page.set(BootNanos(0));
        if self.armed.load(Ordering::SeqCst)
            && self.flaw != Some(Flaw::NoStop)
            && let Some(cgroup) = &self.cgroup
        {
            let _ = cgroup.kill();
        }
        crate::message::say(&self.line, &Order::Look);
        self.wake();
    }

    /// Wakes the loop of `hold`.
    pub fn wake(&self) {
        use std::io::Write;
        let _ = (&self.wakes).write_all(b"w");
    }
}

/// See the module.
#[derive(Debug)]
pub struct Ward {
    guardian: PidFd,
    line: Line,
    reins: Arc<Reins>,
    tree: Tree,
}

impl Ward {
    /// Starts a guardian, and waits for its word. `number` tells the control groups of one `hold` apart, and `wakes`
    /// is written to when something is to be looked at.
    ///
    /// # Errors
    /// When it does not come up; nothing is left then.
    pub fn start(settings: &Settings, number: u64, wakes: UnixStream) -> io::Result<Self> {
        let page = Page::create()?;
        let (here, there) = UnixStream::pair()?;
        let cgroup = group::create(number).ok();
        let started = launch(settings, &page, &there, cgroup.clone());
        drop(there);
        let ward = started.and_then(|guardian| {
            let line = Line::new(here)?;
            wakes.set_nonblocking(true)?;
            let reins = Reins {
                page,
                line: line.socket().try_clone()?,
                cgroup: cgroup.clone(),
                armed: AtomicBool::new(false),
                wakes,
                flaw: settings.flaw,
            };
            let mut tree = Tree::new(cgroup.clone())?;
            tree.spare(guardian.id());
            let mut ward = Self {
                guardian,
                line,
                reins: Arc::new(reins),
                tree,
            };
            ward.comes_up()?;
            Ok(ward)
        });
        if ward.is_err()
            && let Some(group) = &cgroup
        {
            group::remove(group);
        }
        ward
    }

    fn comes_up(&mut self) -> io::Result<()> {
        let late = boot_now().plus(COMES_UP);
        // A signal interrupts a wait.
        while !self.line.has_ended() && boot_now() < late {
            wait_for(&[self.line.socket().as_fd()], Some(late.since(boot_now())));
            if self.line.reports().contains(&Report::Ready) {
                return Ok(());
            }
        }
        let _ = self.guardian.signal(Signal::KILL);
        Err(io::Error::other("its guardian does not come up"))
    }

    /// What the thread that renews is to have.
    #[must_use]
    pub fn reins(&self) -> Arc<Reins> {
        Arc::clone(&self.reins)
    }

    /// What to wait on.
    #[must_use]
    pub fn line(&self) -> &UnixStream {
        self.line.socket()
    }

    /// What it said.
    pub fn reports(&mut self) -> Vec<Report> {
        self.line.reports()
    }

    /// Whether it is gone.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.line.has_ended()
    }

    /// Has the command started.
    pub fn start_command(&self, token: u64, until: BootNanos) {
        self.reins.armed.store(true, Ordering::SeqCst);
        self.line.say(&Order::Start { token, until });
    }

    /// Tells it something.
    pub fn tell(&self, order: Order) {
        self.line.say(&order);
    }

    /// Its process.
    #[must_use]
    pub fn guardian(&self) -> u32 {
        self.guardian.id().pid
    }

    /// The command's control group, where there is one.
    #[must_use]
    pub fn cgroup(&self) -> Option<&Path> {
        self.reins.cgroup.as_ref().map(Cgroup::path)
    }

    /// The command's processes.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Kills the command without it.
    pub fn kill_tree(&self) {
        self.tree.kill();
    }

    /// Ends it, where it does not do its work any more: the kernel gives its children to this process then.
    pub fn end_guardian(&self) {
        let _ = self.guardian.signal(Signal::KILL);
    }

    /// Once the guardian is gone: takes what ended, and whether nothing is left of the command. The guardian's own
    /// status stays until [`Self::finish`]: how it ended is for others to see.
    pub fn reap(&mut self) -> (Vec<(u32, Ended)>, bool) {
        let (ended, has_children) = crate::tree::reap_but(self.guardian());
        let gone = self.tree.is_gone(has_children);
        (ended, gone)
    }

    /// Waits for its end: it has said that nothing is left.
    pub fn finish(self) {
        self.reins.armed.store(false, Ordering::SeqCst);
        if !self.guardian.wait_ended(Duration::from_secs(5)) {
            self.end_guardian();
            let _ = self.guardian.wait_ended(Duration::from_secs(5));
        }
        let _ = crate::tree::reap();
        if let Some(group) = &self.reins.cgroup {
            group::remove(group);
        }
    }
}

fn launch(settings: &Settings, page: &Page, line: &UnixStream, cgroup: Option<Cgroup>) -> io::Result<PidFd> {
    let (lent_line, line) = inherited::lend(line)?;
    let (lent_page, page) = inherited::lend(page)?;
    let room = Room {
        line,
        page,
        timing: settings.timing,
        cgroup,
        foreground: settings.foreground,
        foreign_group: Some(getpgrp().as_raw_nonzero().get()),
        flaw: settings.flaw,
        command: settings.command.clone(),
    };
    let child = Command::new("/proc/self/exe")
        .arg0("leaseproof")
        .arg(WORD)
        .args(room.words())
        .env("LEASEPROOF_KEY", &settings.key)
        // Without the password: an environment is read by more than its process.
        .env("LEASEPROOF_STORE", settings.store.to_string())
        // Neither the terminal's keys nor a `kill` of the group reach it.
        .process_group(0)
        .spawn()?;
    drop((lent_line, lent_page));
    // Not reaped yet, so that the pid is its own.
    PidFd::open(identity::identify(child.id())?)
}
