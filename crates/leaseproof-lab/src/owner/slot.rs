//! A seat: one owner at a time, started anew by a supervisor's rules.

use super::lines::LinePatterns;
use super::name::RunMark;
use super::output::Output;
use super::secrets::Secrets;
use crate::bundle::Recorder;
use crate::plan::OwnerPlan;
use leaseproof_fault::launch::{Launch, Launched, launch};
use leaseproof_fault::relay::Relay;
use leaseproof_fault::shim::ShimFile;
use leaseproof_fault::warden::Warden;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Source, What};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::OwnerName;
use leaseproof_proc::clock::boot_now;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// An owner that keeps ending is not started for ever.
const RESTARTS: u32 = 30;
/// One that ends this soon after its start did not run at all.
const STILLBORN: Duration = Duration::from_millis(300);
/// So many stillborn in a row, and it is said.
const STILLBORN_IN_A_ROW: u32 = 3;

/// How long the last words of an owner may take to be read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What a seat needs to start an owner.
pub struct Seating<'a> {
    /// The name of this owner process.
    pub name: OwnerName,
    /// The command, filled in.
    pub command: Vec<String>,
    /// The contract's variables.
    pub environment: BTreeMap<String, String>,
    /// The plan's owner.
    pub plan: &'a OwnerPlan,
    /// The warden.
    pub warden: &'a Warden,
    /// The record.
    pub recorder: Recorder,
    /// Its relay, where there is a network.
    pub relay: Option<Relay>,
    /// The clock shim, where the scenario steps clocks.
    pub shim: Option<Arc<ShimFile>>,
    /// Whether it starts in a control group of its own.
    pub cgroup: bool,
    /// Where its raw output is kept, without `.out` and `.err`.
    pub output: Option<PathBuf>,
    /// What must not be written.
    pub secrets: Vec<String>,
    /// Whether it replaces one that ended.
    pub restart: bool,
}

/// An owner on its seat.
struct Seated {
    launched: Launched,
    readers: Vec<JoinHandle<()>>,
    recorder: Recorder,
    started: BootNanos,
    output: Option<PathBuf>,
    ended: bool,
    by_lab: bool,
}

/// A seat of the stage.
pub struct OwnerSeat {
    slot: &'static str,
    mark: RunMark,
    name: OwnerName,
    count: u32,
    stillborn: u32,
    last_end: String,
    seated: Option<Seated>,
    relay: Option<Relay>,
}

impl OwnerSeat {
    /// A seat that nobody sits on yet.
    #[must_use]
    pub fn empty(slot: &'static str, mark: RunMark) -> Self {
        Self {
            slot,
            name: mark.name(slot, 0),
            mark,
            count: 0,
            stillborn: 0,
            last_end: String::new(),
            seated: None,
            relay: None,
        }
    }

    /// Who sits here now.
    #[must_use]
    pub fn owner(&self) -> &OwnerName {
        &self.name
    }

    /// The name of the next one.
    #[must_use]
    pub fn next_name(&self) -> OwnerName {
        self.mark.name(self.slot, self.count + 1)
    }

    /// Its process, for faults.
    #[must_use]
    pub fn launched(&self) -> Option<&Launched> {
        self.seated.as_ref().map(|seated| &seated.launched)
    }

    /// Its relay.
    #[must_use]
    pub fn relay(&self) -> Option<&Relay> {
        self.relay.as_ref()
    }

    /// Its clock.
    #[must_use]
    pub fn shim(&self) -> Option<&Arc<ShimFile>> {
        self.launched().and_then(Launched::shim)
    }

    /// Says that what ends it next is our doing: a supervisor must not start it anew.
    pub fn expect_end(&mut self) {
        if let Some(seated) = &mut self.seated {
            seated.by_lab = true;
        }
    }

    /// Starts an owner here.
    ///
    /// # Errors
    /// Why it can't be started, in words for people.
    pub fn take(&mut self, seating: Seating<'_>) -> Result<(), String> {
        self.name = seating.name.clone();
        self.count += 1;
        let mut environment = seating.environment;
        environment.extend(seating.plan.env.clone());
        let asked = boot_now();
        let wanted = Launch {
            argv: seating.command.iter().map(Into::into).collect(),
            env: environment
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            cwd: None,
            shim: seating.shim,
            cgroup: seating.cgroup,
        };
        let launched =
            launch(seating.warden, &wanted).map_err(|error| format!("the owner can't be started: {error}"))?;
        let at = Moment::between(asked, boot_now());
        let what = What::Started {
            process: launched.process(),
            slot: self.slot.to_owned(),
            restart: seating.restart,
        };
        seating.recorder.record(Source::Process, Some(&self.name), at, what);
        let mut readers = Vec::new();
        let secrets = Secrets::new(seating.secrets);
        let pipes: [(Option<OwnedFd>, bool); 2] = [
            (launched.take_stdout().map(Into::into), true),
            (launched.take_stderr().map(Into::into), false),
        ];
        for (pipe, events) in pipes {
            let Some(pipe) = pipe else { continue };
            let output = Output {
                owner: self.name.clone(),
                recorder: seating.recorder.clone(),
                patterns: if events {
                    seating.plan.patterns.clone()
                } else {
                    LinePatterns::default()
                },
                keep: seating
                    .output
                    .as_deref()
                    .and_then(|path| keep(path, if events { "out" } else { "err" })),
                secrets: secrets.clone(),
                events,
            };
            readers.push(
                output
                    .follow(pipe)
                    .map_err(|error| format!("the owner's output can't be read: {error}"))?,
            );
        }
        self.seated = Some(Seated {
            launched,
            readers,
            recorder: seating.recorder,
            started: at.latest,
            output: seating.output,
            ended: false,
            by_lab: false,
        });
        self.relay = seating.relay;
        Ok(())
    }

    /// Notes whether the owner ended; true once, when it did.
    pub fn reap(&mut self) -> bool {
        let Some(seated) = self.seated.as_mut().filter(|seated| !seated.ended) else {
            return false;
        };
        let asked = boot_now();
        let Ok(Some(end)) = seated.launched.try_wait() else {
            return false;
        };
        seated.ended = true;
        let at = Moment::between(asked.min(seated.started), boot_now());
        let short = at.latest.since(seated.started) < STILLBORN && !seated.by_lab;
        self.stillborn = if short { self.stillborn + 1 } else { 0 };
        self.last_end = match (end.status, end.signal) {
            (Some(status), _) => format!("exit status {status}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "status unknown".to_owned(),
        };
        let what = What::Ended {
            status: end.status,
            signal: end.signal,
            by_lab: seated.by_lab,
        };
        seated
            .recorder
            .record(Source::Process, Some(&self.name), Moment::exact(at.latest), what);
        true
    }

    /// Whether a supervisor would start it anew.
    #[must_use]
    pub fn wants_restart(&self) -> bool {
        self.seated
            .as_ref()
            .is_some_and(|seated| seated.ended && !seated.by_lab)
    }

    /// Whether it may be started once more.
    ///
    /// # Errors
    /// A sentence about an owner that keeps ending, with its last words.
    pub fn check_restarts(&self) -> Result<(), String> {
        if self.stillborn < STILLBORN_IN_A_ROW && self.count < RESTARTS {
            return Ok(());
        }
        let words = self.last_words();
        let words = if words.is_empty() {
            "it said nothing".to_owned()
        } else {
            format!("its last words: {words}")
        };
        Err(if self.stillborn >= STILLBORN_IN_A_ROW {
            format!(
                "the owner ends right after its start, {} times in a row ({}); {words}",
                self.stillborn, self.last_end
            )
        } else {
            format!(
                "the owner ended {} times by itself ({}); {words}",
                self.count, self.last_end
            )
        })
    }

    /// The end of what it wrote, stderr first.
    fn last_words(&self) -> String {
        let Some((seated, path)) = self.seated.as_ref().and_then(|it| Some((it, it.output.as_deref()?))) else {
            return String::new();
        };
        // It has ended, but what it said may be on its way still. A child that holds the pipe open is not waited for.
        let patience = boot_now().plus(LAST_WORDS);
        while boot_now() < patience && !seated.readers.iter().all(JoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(2));
        }
        ["err", "out"]
            .iter()
            .filter_map(|end| std::fs::read(path.with_extension(end)).ok())
            .map(|text| {
                let text = String::from_utf8_lossy(&text[text.len().saturating_sub(400)..])
                    .trim()
                    .to_owned();
                text.lines()
                    .rev()
                    .take(3)
                    .collect::<Vec<_>>()
                    .into_iter()
                    .rev()
                    .collect::<Vec<_>>()
                    .join(" | ")
            })
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }

    /// Asks the owner to end, and kills its tree after the grace.
    pub fn end(&mut self, grace: Duration) {
        self.expect_end();
        let Some(seated) = self.seated.as_mut() else { return };
        if !seated.ended {
            if !grace.is_zero() {
                let _ = seated.launched.terminate();
            }
            let deadline = boot_now().plus(grace);
            while boot_now() < deadline && !matches!(seated.launched.try_wait(), Ok(Some(_))) {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        // Also after a clean end: a child may have been left behind.
        let _ = seated.launched.kill_tree();
        self.reap();
        if let Some(seated) = self.seated.as_mut() {
            for reader in seated.readers.drain(..) {
                let _ = reader.join();
            }
        }
    }
}

fn keep(path: &Path, end: &str) -> Option<File> {
    let path = path.with_extension(end);
    std::fs::OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .ok()
}
