//! Runs of the examined binary, many side by side.

use leaseproof_model::verdict::RunVerdict;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// One run.
#[derive(Clone, Debug)]
pub struct Job {
    /// What it is counted under.
    pub label: String,
    /// The arguments after `verify`.
    pub arguments: Vec<String>,
    /// Which of n it is.
    pub number: u32,
}

/// What it came to.
pub struct Ran {
    /// The job.
    pub job: Job,
    /// The verdict document, or why there is none.
    pub verdict: Result<RunVerdict, String>,
    /// Where its bundle is.
    pub folder: PathBuf,
}

/// Runs all jobs, `side_by_side` at a time; bundles go below `out`.
pub fn all(program: &Path, jobs: Vec<Job>, side_by_side: usize, out: &Path, told: impl Fn(&Ran) + Sync) -> Vec<Ran> {
    let queue = Mutex::new(jobs.into_iter().collect::<VecDeque<_>>());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..side_by_side.max(1) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(job) = next else { break };
                    let ran = one(program, job, out);
                    told(&ran);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(ran);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn one(program: &Path, job: Job, out: &Path) -> Ran {
    let safe: String = job
        .label
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let folder = out.join(format!("{safe}-{}", job.number));
    let folder_text = folder.display().to_string();
    // The owner comes last, behind `--`: our own options go before it.
    let split = job
        .arguments
        .iter()
        .position(|word| word == "--")
        .unwrap_or(job.arguments.len());
    let (before, owner) = job.arguments.split_at(split);
    let output = Command::new(program)
        .arg("verify")
        .args(before)
        .args(["--quiet", "--json", "--out", &folder_text])
        .args(owner)
        .current_dir(out)
        .stdin(Stdio::null())
        .output();
    let verdict = match output {
        Err(error) => Err(error.to_string()),
        Ok(output) => serde_json::from_slice(&output.stdout).map_err(|error| {
            let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            format!("no verdict ({error}): status {:?}: {words}", output.status.code())
        }),
    };
    Ran { job, verdict, folder }
}
