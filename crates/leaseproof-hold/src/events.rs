//! What happens, as lines: JSON for programs (the owner contract's events, and `hold`'s own), a sentence for people.
//!
//! A thread of its own writes them, so that nobody who reads slowly holds a renewal or a kill up.

use crate::settings::EventsTo;
use leaseproof::{Event, Line as Said};
use leaseproof_model::clock::WallNanos;
use leaseproof_proc::clock::stamp_now;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Where lines go.
#[derive(Debug)]
pub struct Events {
    lines: Sender<Line>,
    json: bool,
    quiet: bool,
}

#[derive(Debug)]
enum Line {
    Json(String),
    Text(String),
    /// All before it has been written.
    Flush(Sender<()>),
}

/// A reader that takes nothing for so long loses the last lines.
const LAST_LINES: Duration = Duration::from_secs(2);

impl Events {
    /// Opens it; a file is created now, so that a wrong path is found before anything starts.
    ///
    /// # Errors
    /// When the file can't be written, with its name.
    pub fn open(to: &EventsTo, quiet: bool) -> Result<Self, String> {
        let mut out: Option<Box<dyn Write + Send>> = match to {
            EventsTo::Nowhere => None,
            EventsTo::Stdout => Some(Box::new(io::stdout())),
            EventsTo::Stderr => Some(Box::new(io::stderr())),
            EventsTo::File(path) => {
                let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
                Some(Box::new(file))
            }
        };
        let json = out.is_some();
        let (lines, told): (_, Receiver<Line>) = channel();
        std::thread::Builder::new()
            .name("events".to_owned())
            .spawn(move || {
                for line in told {
                    // A reader that went away is no reason to stop: the lease is held all the same.
                    let _ = match (line, &mut out) {
                        (Line::Json(line), Some(out)) => out.write_all(line.as_bytes()).and_then(|()| out.flush()),
                        (Line::Json(_), None) => Ok(()),
                        (Line::Text(line), _) => io::stderr().write_all(line.as_bytes()),
                        (Line::Flush(done), _) => done.send(()).map_err(io::Error::other),
                    };
                }
            })
            .map_err(|error| format!("no thread can be started: {error}"))?;
        Ok(Self {
            lines,
            json,
            // Lines for people between lines for programs would spoil both.
            quiet: quiet || *to == EventsTo::Stderr,
        })
    }

    /// An event of the lease, in the owner contract's words.
    pub fn lease(&self, event: &Event) {
        if let Some(line) = Said::of(event).filter(|_| self.json) {
            let stamp = stamp_now();
            self.write(&line.at(stamp.boot).wall(stamp.wall));
        }
    }

    /// The lease is given up, since the command had to be stopped.
    pub fn given_up(&self, token: u64, why: &str) {
        self.stamped(json!({"lease": "lost", "token": token, "reason": why}));
    }

    /// An event of the command, in `hold`'s own words.
    pub fn command(&self, event: &str, fields: Value) {
        let mut line = json!({"hold": event});
        if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
            line.extend(fields);
        }
        self.stamped(line);
    }

    /// A sentence for people, unless they want none.
    pub fn tell(&self, says: &str) {
        if !self.quiet {
            self.complain(says);
        }
    }

    /// A sentence for people in any case: an error.
    pub fn complain(&self, says: &str) {
        self.send(Line::Text(format!("leaseproof hold: {says}\n")));
    }

    /// Waits until all has been written, for a moment at most.
    pub fn flush(&self) {
        let (done, wait) = channel();
        self.send(Line::Flush(done));
        let _ = wait.recv_timeout(LAST_LINES);
    }

    fn stamped(&self, fields: Value) {
        if !self.json {
            return;
        }
        let stamp = stamp_now();
        let mut line = match fields {
            Value::Object(line) => line,
            _ => Map::new(),
        };
        line.insert("boot_ns".to_owned(), stamp.boot.0.into());
        let WallNanos(wall) = stamp.wall;
        line.insert("wall_ns".to_owned(), wall.into());
        self.write(&line);
    }

    fn write(&self, line: &impl Serialize) {
        // A value of JSON: its fields are in the order of their names, in each line.
        if let Ok(line) = serde_json::to_value(line)
            && self.json
        {
            self.send(Line::Json(format!("{line}\n")));
        }
    }

    fn send(&self, line: Line) {
        // The thread ends only after this sender.
        let _ = self.lines.send(line);
    }
}
