//! The server's end of the socket to the lab.

use crate::message::{Command, Report};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

/// The socket to the lab.
pub(crate) struct Control {
    pub(crate) socket: UnixStream,
    pub(crate) rest: Vec<u8>,
}

impl Control {
    /// The commands that have come; `None` at its end.
    pub(crate) fn commands(&mut self) -> io::Result<Option<Vec<Command>>> {
        let mut chunk = [0; 4096];
        let ended = loop {
            match self.socket.read(&mut chunk) {
                Ok(0) => break true,
                Ok(got) => self.rest.extend_from_slice(&chunk[..got]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        let mut commands = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            commands.push(serde_json::from_slice(&line)?);
        }
        Ok((!ended || !commands.is_empty()).then_some(commands))
    }

    /// Blocks while the lab doesn't read: a lost report would be a hole in the record.
    pub(crate) fn send(&mut self, report: &Report) -> io::Result<()> {
        let mut line = serde_json::to_vec(report)?;
        line.push(b'\n');
        self.socket.set_nonblocking(false)?;
        let sent = self.socket.write_all(&line);
        self.socket.set_nonblocking(true)?;
        sent
    }
}
