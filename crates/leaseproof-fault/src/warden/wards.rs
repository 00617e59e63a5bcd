//! What is in the warden's care, and how it is made good. The warden uses it live; healing from a
//! journal replays the same requests into it.

use super::protocol::{Request, Undo, Ward};
use super::traces::Traces;
use crate::segment;
use crate::shim;
use leaseproof_model::name::ProcessId;
use leaseproof_proc::cgroup::Cgroup;
use leaseproof_proc::family::{self, Family};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the dead may take to be gone: generous, since nothing waits for it but the clean-up.
const ENDING: Duration = Duration::from_secs(5);

/// One thing that was made good.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Healed {
    /// A stopped process goes on.
    Resumed(ProcessId),
    /// A frozen control group was thawed.
    Thawed(PathBuf),
    /// A stepped clock was set back.
    ClockReset(PathBuf),
    /// A process of the run was ended.
    Killed(ProcessId),
    /// A control group of the run was removed.
    CgroupRemoved(PathBuf),
    /// A store file of the run was removed.
    FileRemoved(PathBuf),
    /// A folder that nobody needs once the run is over was removed.
    FolderRemoved(PathBuf),
    /// The shared memory of a server of the run was removed, by its number.
    SegmentRemoved(i32),
    /// Something could not be made good.
    Failed(String),
}

impl fmt::Display for Healed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resumed(id) => write!(f, "process {} was stopped and goes on", id.pid),
            Self::Thawed(path) => write!(f, "control group {} was frozen and is thawed", path.display()),
            Self::ClockReset(path) => write!(f, "clock page {} was stepped and is set back", path.display()),
            Self::Killed(id) => write!(f, "process {} of the run was left and is ended", id.pid),
            Self::CgroupRemoved(path) => write!(f, "control group {} was left and is removed", path.display()),
            Self::FileRemoved(path) => write!(f, "store file {} was left and is removed", path.display()),
            Self::FolderRemoved(path) => write!(f, "folder {} was left and is removed", path.display()),
            Self::SegmentRemoved(id) => write!(f, "shared memory segment {id} of a server was left and is removed"),
            Self::Failed(what) => write!(f, "not healed: {what}"),
        }
    }
}

/// Everything in care.
#[derive(Debug)]
pub(crate) struct Wards {
    mark: String,
    /// Marks are looked for only in processes that started after this one.
    since: ProcessId,
    cgroups: BTreeSet<PathBuf>,
    owners: BTreeMap<ProcessId, Option<PathBuf>>,
    faults: BTreeMap<u64, Ward>,
    traces: BTreeMap<String, Traces>,
    folders: BTreeSet<PathBuf>,
}

impl Wards {
    pub(crate) fn new(mark: String, since: ProcessId) -> Self {
        Self {
            mark,
            since,
            cgroups: BTreeSet::new(),
            owners: BTreeMap::new(),
            faults: BTreeMap::new(),
            traces: BTreeMap::new(),
            folders: BTreeSet::new(),
        }
    }

    /// Takes in what a request says; those that ask for deeds change nothing here.
    pub(crate) fn learn(&mut self, request: &Request) -> Result<(), String> {
        match request {
            Request::Cgroup { path } => {
                self.cgroups.insert(path.clone());
            }
            Request::Owner { root, cgroup } => {
                self.owners.insert(*root, cgroup.clone());
            }
            Request::OwnerGone { root } => {
                self.owners.remove(root);
            }
            Request::Fault(ward) => {
                self.faults.insert(ward.fault, ward.clone());
            }
            Request::Extend { fault, processes } => match self.faults.get_mut(fault).map(|ward| &mut ward.undo) {
                Some(Undo::Resume { processes: known, .. }) => known.extend(processes),
                _ => return Err(format!("fault {fault} is not in care")),
            },
            Request::Clear { fault } => {
                self.faults.remove(fault);
            }
            Request::Made(traces) => {
                self.traces.insert(traces.name().to_owned(), traces.clone());
            }
            Request::Swept { key } => {
                self.traces.remove(key);
            }
            Request::Folder { path } => {
                self.folders.insert(path.clone());
            }
            Request::Hello { .. } | Request::UndoAll | Request::EndAll | Request::Ping => {}
        }
        Ok(())
    }

    pub(crate) fn faults(&self) -> impl Iterator<Item = &Ward> {
        self.faults.values()
    }

    pub(crate) fn undo(&self, fault: u64) -> Vec<Healed> {
        self.faults
            .get(&fault)
            .map(|ward| self.undo_ward(ward))
            .unwrap_or_default()
    }

    pub(crate) fn undo_all(&self) -> Vec<Healed> {
        self.faults.values().flat_map(|ward| self.undo_ward(ward)).collect()
    }

    /// Ends the owners, undoes all, removes the control groups. What failed stays in care.
    ///
    /// In this order: an owner that was let go on first could act once more, with nobody watching.
    pub(crate) fn end_all(&mut self) -> Vec<Healed> {
        let mut healed = Vec::new();
        let owners: Vec<ProcessId> = self.owners.keys().copied().collect();
        for root in owners {
            match self.family(root).kill(ENDING) {
                Ok(killed) => {
                    healed.extend(killed.into_iter().map(Healed::Killed));
                    self.owners.remove(&root);
                }
                Err(error) => healed.push(Healed::Failed(format!("owner {}: {error}", root.pid))),
            }
        }
        match family::kill_marked(&self.mark, self.since, ENDING) {
            Ok(killed) => healed.extend(killed.into_iter().map(Healed::Killed)),
            Err(error) => healed.push(Healed::Failed(format!("processes that left their tree: {error}"))),
        }
        healed.extend(self.undo_all());
        self.faults.clear();
        let cgroups: Vec<PathBuf> = self.cgroups.iter().cloned().collect();
        for path in cgroups {
            match clear_away(&path) {
                Ok(removed) => {
                    healed.extend(removed.then(|| Healed::CgroupRemoved(path.clone())));
                    self.cgroups.remove(&path);
                }
                Err(error) => healed.push(Healed::Failed(format!("control group {}: {error}", path.display()))),
            }
        }
        healed
    }

    /// Removes the folders and store files of a run that is gone; what is left are keys in servers.
    pub(crate) fn sweep(&mut self) -> Vec<Healed> {
        let mut healed = Vec::new();
        self.folders.retain(|path| {
            // Only the folder says which they are.
            healed.extend(segment::remove_below(path));
            match fs::remove_dir_all(path) {
                Ok(()) => {
                    healed.push(Healed::FolderRemoved(path.clone()));
                    false
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                Err(error) => {
                    healed.push(Healed::Failed(format!("folder {}: {error}", path.display())));
                    true
                }
            }
        });
        self.traces.retain(|_, traces| match traces.remove_files() {
            Some(done) => {
                let failed = done.iter().any(|one| matches!(one, Healed::Failed(_)));
                healed.extend(done);
                failed
            }
            None => true,
        });
        healed
    }

    /// What is still in stores, as far as is known.
    pub(crate) fn traces(&self) -> impl Iterator<Item = &Traces> {
        self.traces.values()
    }

    fn family(&self, root: ProcessId) -> Family {
        Family {
            root,
            mark: Some(self.mark.clone()),
            cgroup: self.owners.get(&root).cloned().flatten().map(Cgroup::at),
        }
    }

    fn undo_ward(&self, ward: &Ward) -> Vec<Healed> {
        let mut healed = Vec::new();
        match &ward.undo {
            Undo::Resume { root, processes, only } => {
                for &id in processes.iter().rev() {
                    match family::resume(id) {
                        Ok(stopped) => healed.extend(stopped.then_some(Healed::Resumed(id))),
                        Err(error) => healed.push(Healed::Failed(format!("process {}: {error}", id.pid))),
                    }
                }
                if !only {
                    match self.family(*root).resume() {
                        Ok(resumed) => healed.extend(resumed.into_iter().map(Healed::Resumed)),
                        Err(error) => healed.push(Healed::Failed(format!("tree of {}: {error}", root.pid))),
                    }
                }
            }
            Undo::Thaw { cgroup } => {
                let group = Cgroup::at(cgroup);
                let frozen = group.is_frozen().unwrap_or(false);
                match group.thaw() {
                    Ok(()) => healed.extend(frozen.then(|| Healed::Thawed(cgroup.clone()))),
                    // Gone with all that was in it.
                    Err(_) if !cgroup.exists() => {}
                    Err(error) => {
                        healed.push(Healed::Failed(format!("control group {}: {error}", cgroup.display())));
                    }
                }
            }
            Undo::ResetClock { page } => match shim::reset(page) {
                Ok(()) => healed.push(Healed::ClockReset(page.clone())),
                Err(error) => healed.push(Healed::Failed(format!("clock page {}: {error}", page.display()))),
            },
        }
        healed
    }
}

/// Removes a control group with everything in it; whether it was there.
fn clear_away(path: &Path) -> std::io::Result<bool> {
    if !path.exists() {
        return Ok(false);
    }
    let group = Cgroup::at(path);
    // Dead processes leave no frozen group behind on any kernel, but living ones must run to die on
    // kernels that have no cgroup.kill.
    let _ = group.thaw();
    let _ = group.kill();
    group.remove(ENDING)?;
    Ok(true)
}
