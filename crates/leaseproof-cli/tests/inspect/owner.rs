//! A reference owner that runs beside a look, and is ended with the test.

use crate::rig::Room;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

/// The owner.
pub struct Owner(Child);

impl Owner {
    /// Starts one and waits until it has acquired the lease.
    pub fn start(room: &Room, url: &str, key: &str, ttl_ms: u64, heartbeat_ms: u64) -> Self {
        let numbers = [ttl_ms.to_string(), heartbeat_ms.to_string()];
        let mut child = room
            .command([
                "owner",
                "--store",
                url,
                "--key",
                key,
                "--owner",
                "a1",
                "--ttl-ms",
                &numbers[0],
                "--heartbeat-ms",
                &numbers[1],
                // Nobody listens there: the protected resource is of no interest here.
                "--resource",
                "http://127.0.0.1:1",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the owner starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        while !line.contains("\"acquired\"") {
            line.clear();
            assert_ne!(lines.read_line(&mut line).expect("its output"), 0, "it ended");
        }
        // Read on, or it would block on a full pipe.
        std::thread::spawn(move || {
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|count| count > 0) {
                line.clear();
            }
        });
        Self(child)
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Stops it, and waits until the kernel says so.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        crate::rig::until("the owner stops", || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).expect("it is there");
            let state = stat.rsplit(')').next().map(str::trim_start);
            state.is_some_and(|state| state.starts_with('T'))
        });
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a child has a pid"), signal).expect("our child can be signalled");
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
