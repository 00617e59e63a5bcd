//! What an operator's loop would have written while it happened: a file of the kernel, or `ss`, again and again.

use super::stage::{lock, wall_now};
use super::words::iso;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// What is looked at.
#[derive(Clone, Debug)]
pub enum Of {
    /// A file of `name value` lines, as one line of `name=value`.
    Counters(PathBuf),
    /// The sockets to a port.
    Sockets(u16),
}

/// A running loop.
pub struct Poll {
    text: Arc<Mutex<String>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Poll {
    /// Starts it.
    pub fn start(of: Of, every: Duration) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (to, stopped) = (Arc::clone(&text), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                if let Some(read) = read(&of) {
                    lock(&to).push_str(&read);
                }
                std::thread::sleep(every);
            }
        });
        Self {
            text,
            stop,
            thread: Some(thread),
        }
    }

    /// Ends it; what it wrote.
    pub fn end(mut self) -> String {
        self.stop();
        lock(&self.text).clone()
    }

    fn stop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Poll {
    fn drop(&mut self) {
        self.stop();
    }
}

fn read(of: &Of) -> Option<String> {
    let at = iso(wall_now(), 0);
    match of {
        Of::Counters(path) => {
            let text = std::fs::read_to_string(path).ok()?;
            let pairs: Vec<String> = text.lines().map(|line| line.replacen(' ', "=", 1)).collect();
            Some(format!("{at} {}\n", pairs.join(" ")))
        }
        Of::Sockets(port) => {
            let output = Command::new("ss")
                .args(["-tino", &format!("dport = :{port}")])
                .stdin(Stdio::null())
                .output()
                .ok()?;
            Some(format!("{at}\n{}", String::from_utf8_lossy(&output.stdout)))
        }
    }
}
