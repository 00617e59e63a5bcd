//! One GET on loopback.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The body of the answer. HTTP/1.0, so that it ends with the connection and has no chunks.
pub fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text.split_once("\r\n\r\n")?.1.to_owned())
}

/// A series without labels, from a page of metrics.
pub fn series(page: &str, name: &str) -> Option<f64> {
    page.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?
        .parse()
        .ok()
}
