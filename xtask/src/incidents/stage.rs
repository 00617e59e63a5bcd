//! Processes of an incident: started in the warden's care, their lines kept with the moment at which they came.

use leaseproof_fault::launch::{Launch, Launched, Target, launch};
use leaseproof_fault::shim::ShimFile;
use leaseproof_fault::warden::Warden;
use leaseproof_proc::clock::stamp_now;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The wall clock now, in ns since 1970.
pub fn wall_now() -> i64 {
    stamp_now().wall.0
}

/// What is behind a lock, whoever panicked.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A line of output.
#[derive(Clone, Debug)]
pub struct Line {
    pub wall_ns: i64,
    pub text: String,
}

/// A running process.
pub struct Process {
    launched: Option<Launched>,
    target: Target,
    lines: Arc<Mutex<Vec<Line>>>,
    readers: Vec<JoinHandle<()>>,
}

/// What to start.
pub struct Start<'a> {
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: &'a Path,
    pub cgroup: bool,
    pub shim: Option<Arc<ShimFile>>,
}

impl Process {
    /// Starts it.
    ///
    /// # Errors
    /// Why it did not start.
    pub fn start(warden: &Warden, start: Start<'_>) -> Result<Self, String> {
        let os = |text: String| OsString::from(text);
        let wanted = Launch {
            argv: start.argv.into_iter().map(os).collect(),
            env: start
                .env
                .into_iter()
                .map(|(name, value)| (os(name), os(value)))
                .collect(),
            cwd: Some(start.cwd.to_owned()),
            shim: start.shim,
            cgroup: start.cgroup,
        };
        let launched = launch(warden, &wanted).map_err(|error| error.to_string())?;
        let lines = Arc::new(Mutex::new(Vec::new()));
        let mut readers = Vec::new();
        if let Some(out) = launched.take_stdout() {
            readers.push(read(out, &lines));
        }
        if let Some(err) = launched.take_stderr() {
            readers.push(read(err, &lines));
        }
        Ok(Self {
            target: launched.target().clone(),
            launched: Some(launched),
            lines,
            readers,
        })
    }

    /// Its tree as the target of faults.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Asks it to release and end.
    pub fn terminate(&self) {
        if let Some(launched) = &self.launched {
            let _ = launched.terminate();
        }
    }

    /// Whether its root has ended.
    pub fn has_ended(&self) -> bool {
        self.target.pidfd().has_ended()
    }

    /// Its lines so far.
    pub fn lines(&self) -> Vec<Line> {
        lock(&self.lines).clone()
    }

    /// Ends it, and waits for its last line.
    pub fn end(&mut self) {
        drop(self.launched.take());
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn read(from: impl Read + Send + 'static, lines: &Arc<Mutex<Vec<Line>>>) -> JoinHandle<()> {
    let lines = Arc::clone(lines);
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            match from.read_until(b'\n', &mut bytes) {
                Ok(1..) => {}
                _ => return,
            }
            let text = String::from_utf8_lossy(&bytes)
                .trim_end_matches(['\n', '\r'])
                .to_owned();
            lock(&lines).push(Line {
                wall_ns: wall_now(),
                text,
            });
        }
    })
}
