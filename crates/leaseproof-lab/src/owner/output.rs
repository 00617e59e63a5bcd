//! Reads an owner's output: each line with the interval in which it arrived.
//!
//! A line's *earliest* is the last moment at which the pipe was seen empty: a reader that was starved
//! stamps late, and must not make the owner late with it.

use super::lines::{LinePatterns, parse_line};
use super::secrets::Secrets;
use crate::bundle::Recorder;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Coverage, Source, What};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::OwnerName;
use leaseproof_proc::clock::boot_now;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

/// What is kept of one owner's output; more is read on and dropped, or the pipe itself would pause it.
const KEPT_BYTES: u64 = 16 << 20;
/// So many event lines of one owner are kept: a flood of them costs memory like a flood of bytes.
const KEPT_EVENTS: u64 = 20_000;
/// How long a look at an empty pipe lasts.
const LOOK: rustix::event::Timespec = rustix::event::Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
/// A longer line is cut: no event line is.
const LINE_BYTES: usize = 64 << 10;
/// What the record keeps of a raw line.
const RAW_BYTES: usize = 1024;

/// Who reads what, and where it goes.
pub struct Output {
    /// The owner.
    pub owner: OwnerName,
    /// Where events go.
    pub recorder: Recorder,
    /// How lines are understood.
    pub patterns: LinePatterns,
    /// The raw output is kept here.
    pub keep: Option<File>,
    /// What must not be written (passwords).
    pub secrets: Secrets,
    /// Whether lines are events (stdout) or only kept (stderr).
    pub events: bool,
}

impl Output {
    /// Reads `pipe` to its end on a thread of its own.
    ///
    /// # Errors
    /// When no thread can be had or the pipe can't be set to non-blocking.
    pub fn follow(self, pipe: OwnedFd) -> std::io::Result<JoinHandle<()>> {
        let flags = fcntl_getfl(&pipe)?;
        fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?;
        let name = format!("out-{}", self.owner);
        std::thread::Builder::new()
            .name(name)
            .stack_size(256 << 10)
            .spawn(move || {
                let mut reading = Reading {
                    output: self,
                    line: Vec::new(),
                    seen: 0,
                    dropped: 0,
                    chatter: 0,
                    said: 0,
                    from: boot_now(),
                    clean: None,
                };
                reading.read_on(&pipe);
            })
    }
}

struct Reading {
    output: Output,
    line: Vec<u8>,
    seen: u64,
    dropped: u64,
    chatter: u64,
    said: u64,
    from: BootNanos,
    /// When output began to be dropped.
    clean: Option<BootNanos>,
}

impl Reading {
    fn read_on(&mut self, pipe: &OwnedFd) {
        let mut buffer = vec![0u8; 16 << 10];
        let mut empty_at = self.from;
        loop {
            let asked = boot_now();
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let at = Moment::between(empty_at, boot_now());
                    self.take(&buffer[..count], at);
                }
                Err(Errno::AGAIN) => {
                    empty_at = asked;
                    let mut fds = [PollFd::new(pipe, PollFlags::IN)];
                    // Looked at again and again, so that "empty" is never old news.
                    let _ = poll(&mut fds, Some(&LOOK));
                }
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        let end = Moment::between(empty_at, boot_now());
        if !self.line.is_empty() {
            self.whole_line(end);
        }
        self.close(end.latest);
    }

    fn take(&mut self, mut bytes: &[u8], at: Moment) {
        self.seen += bytes.len() as u64;
        if self.seen > KEPT_BYTES || self.said >= KEPT_EVENTS {
            self.clean.get_or_insert(at.earliest);
            self.dropped += bytes.len() as u64;
            self.line.clear();
            return;
        }
        if self.output.secrets.is_empty() {
            self.keep(bytes);
        }
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            self.append(&bytes[..end]);
            self.whole_line(at);
            bytes = &bytes[end + 1..];
        }
        self.append(bytes);
    }

    /// Best effort, and said so: the raw output is for people, the events are the evidence.
    fn keep(&mut self, bytes: &[u8]) {
        if let Some(keep) = &mut self.output.keep {
            let _ = keep.write_all(bytes);
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn whole_line(&mut self, at: Moment) {
        let text = String::from_utf8_lossy(&self.line).into_owned();
        if !self.output.secrets.is_empty() {
            // Only a whole line can be redacted: a secret may come in two reads.
            let mut line = self.output.secrets.out_of_bytes(&self.line);
            line.push(b'\n');
            self.keep(&line);
        }
        self.line.clear();
        let said = self
            .output
            .events
            .then(|| parse_line(&text, &self.output.patterns))
            .flatten();
        let owner = self.output.owner.clone();
        match said {
            Some(said) => {
                self.said += 1;
                let said = self.output.secrets.out_of_said(said);
                let raw = Some(self.redacted(&text));
                self.output
                    .recorder
                    .record_raw(Source::Owner, Some(&owner), at, What::Said(said), raw);
            }
            None => self.chatter += u64::from(!text.trim().is_empty()),
        }
    }

    fn redacted(&self, text: &str) -> String {
        let mut text = self.output.secrets.out_of(text.trim_end());
        let mut cut = RAW_BYTES.min(text.len());
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        text.truncate(cut);
        text
    }

    fn close(&mut self, until: BootNanos) {
        if !self.output.events {
            return;
        }
        let owner = self.output.owner.clone();
        if self.chatter > 0 {
            let what = What::Chatter { lines: self.chatter };
            self.output
                .recorder
                .record(Source::Owner, Some(&owner), Moment::exact(until), what);
        }
        let coverage = Coverage {
            source: Source::Owner,
            owner: Some(owner),
            from: self.from,
            until: self.clean.unwrap_or(until),
            longest_gap: std::time::Duration::ZERO,
            dropped: self.dropped,
        };
        self.output
            .recorder
            .record(Source::Lab, None, Moment::exact(until), What::Coverage(coverage));
    }
}
