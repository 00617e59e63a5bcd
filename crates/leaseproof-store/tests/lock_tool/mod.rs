//! A lock tool that holds, or waits, as long as a command of its runs; it ends with the test.

#![allow(dead_code, reason = "each test file uses a part of this fixture")]

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A running tool and its command, one process group.
pub struct LockTool {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl LockTool {
    /// Starts it; the error says why it can't be.
    pub fn start(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Self, String> {
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--", program])
            .args(arguments)
            .envs(environment.iter().copied())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{program} can't be started: {error}"))?;
        let out = child.stdout.take().expect("it is piped");
        Ok(Self {
            child,
            out: BufReader::new(out),
        })
    }

    /// The next line that its command prints: it has the lock then.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("its output can be read");
        line.trim().to_owned()
    }

    /// Kills tool and command at once: nothing is released.
    pub fn kill(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Drop for LockTool {
    fn drop(&mut self) {
        self.kill();
    }
}
