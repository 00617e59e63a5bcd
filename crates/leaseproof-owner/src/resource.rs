//! The protected resource, over plain HTTP on one kept connection.
//!
//! By hand, since the order matters: the connection is there before validity is checked, and one
//! system call sends the write. What lies between the check and the resource is as little as can be,
//! and what remains of it only the resource's fence can cover.

use leaseproof_model::name::Token;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// What became of a write.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It was accepted.
    Accepted,
    /// Its token was stale.
    Stale,
    /// Something else was answered.
    Other(u16),
}

/// A value that was read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Value {
    /// What it is.
    pub number: u64,
    /// Its version: the token of the write that made it.
    pub version: Option<Token>,
}

/// The resource's address, and the connection to it.
#[derive(Debug)]
pub struct Resource {
    host: String,
    path: String,
    owner: String,
    timeout: Duration,
    connection: Option<TcpStream>,
}

impl Resource {
    /// The resource at a base URL `http://host[:port][/path]`.
    ///
    /// # Errors
    /// When it is no such URL.
    pub fn new(url: &str, owner: &str, timeout: Duration) -> Result<Self, String> {
        let rest = url
            .strip_prefix("http://")
            .filter(|rest| !rest.is_empty())
            .ok_or_else(|| format!("the resource {url:?} is no http:// URL: give http://host:port/path"))?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let has_port = host
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let path = path.trim_end_matches('/');
        if owner.contains(['\r', '\n']) || path.contains([' ', '\r', '\n']) {
            return Err(format!(
                "the owner {owner:?} or the resource {url:?} has a character that HTTP can't carry"
            ));
        }
        Ok(Self {
            host: if has_port {
                host.to_owned()
            } else {
                format!("{host}:80")
            },
            path: if path.is_empty() {
                String::new()
            } else {
                format!("/{path}")
            },
            owner: owner.to_owned(),
            timeout,
            connection: None,
        })
    }

    /// Makes sure that a connection is there.
    ///
    /// # Errors
    /// When nothing answers.
    pub fn connect(&mut self) -> io::Result<()> {
        if self.connection.is_some() {
            return Ok(());
        }
        let address = self
            .host
            .to_socket_addrs()?
            .next()
            .ok_or_else(|| io::Error::from(ErrorKind::AddrNotAvailable))?;
        let socket = TcpStream::connect_timeout(&address, self.timeout)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(self.timeout))?;
        socket.set_write_timeout(Some(self.timeout))?;
        self.connection = Some(socket);
        Ok(())
    }

    /// Writes, on the connection that is there. After an error the write may or may not have
    /// happened; it is never sent again.
    ///
    /// # Errors
    /// When the connection broke, or no answer came in time.
    pub fn write(&mut self, token: Option<Token>) -> io::Result<Answer> {
        let (status, _) = self.ask("POST", "/write", token)?;
        Ok(Answer::of(status))
    }

    /// Reads the value, with its version.
    ///
    /// # Errors
    /// When the connection broke, no answer came in time, or it has no value in it.
    pub fn read(&mut self) -> io::Result<Value> {
        let (_, body) = self.ask("GET", "/value", None)?;
        let value: serde_json::Value = serde_json::from_slice(&body)?;
        let number = value["value"].as_u64().ok_or(ErrorKind::InvalidData)?;
        let version = value["version"].as_u64().map(Token);
        Ok(Value { number, version })
    }

    /// Fills the cache with a value that has this version.
    ///
    /// # Errors
    /// When the connection broke, or no answer came in time.
    pub fn fill(&mut self, number: u64, version: Option<Token>) -> io::Result<Answer> {
        let (status, _) = self.ask("PUT", &format!("/cache?value={number}"), version)?;
        Ok(Answer::of(status))
    }

    /// One request on the connection that is there: its status and its body.
    fn ask(&mut self, method: &str, path: &str, token: Option<Token>) -> io::Result<(u16, Vec<u8>)> {
        let mut socket = self
            .connection
            .take()
            .ok_or_else(|| io::Error::from(ErrorKind::NotConnected))?;
        let token = token.map_or(String::new(), |token| format!("Fencing-Token: {token}\r\n"));
        let request = format!(
            "{method} {}{path} HTTP/1.1\r\nHost: {}\r\nLease-Owner: {}\r\n{token}Content-Length: 0\r\n\r\n",
            self.path, self.host, self.owner
        );
        socket.write_all(request.as_bytes())?;
        let (status, body, keep) = answer(&mut socket)?;
        if keep {
            self.connection = Some(socket);
        }
        Ok((status, body))
    }
}

impl Answer {
    fn of(status: u16) -> Self {
        match status {
            200..=299 => Self::Accepted,
            409 => Self::Stale,
            other => Self::Other(other),
        }
    }
}

/// Reads one answer: its status, its body, and whether the connection can be used again.
fn answer(socket: &mut TcpStream) -> io::Result<(u16, Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 2048];
    loop {
        match socket.read(&mut chunk) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
            // A process that was stopped and goes on again meets this.
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut head = httparse::Response::new(&mut headers);
        let parsed = head
            .parse(&bytes)
            .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        let httparse::Status::Complete(head_length) = parsed else {
            if bytes.len() > 64 * 1024 {
                return Err(ErrorKind::InvalidData.into());
            }
            continue;
        };
        let header = |name: &str| {
            head.headers
                .iter()
                .find(|it| it.name.eq_ignore_ascii_case(name))
                .map(|it| String::from_utf8_lossy(it.value).trim().to_ascii_lowercase())
        };
        let status = head.code.unwrap_or(0);
        // A body of unknown length ends the connection's use: its end is not looked for.
        let Some(length) = header("content-length").and_then(|text| text.parse::<usize>().ok()) else {
            return Ok((status, Vec::new(), false));
        };
        if bytes.len() < head_length + length {
            continue;
        }
        let whole = bytes.len() == head_length + length;
        let stays = header("connection").as_deref() != Some("close");
        let body = bytes[head_length..head_length + length].to_vec();
        return Ok((status, body, whole && stays));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        for (url, host, path) in [
            ("http://127.0.0.1:80/o/x", "127.0.0.1:80", "/o/x"),
            ("http://h:1", "h:1", ""),
            ("http://h/", "h:80", ""),
        ] {
            let resource = Resource::new(url, "a1", Duration::from_secs(1)).expect(url);
            assert_eq!((resource.host.as_str(), resource.path.as_str()), (host, path));
        }
        for url in ["https://h", "h:1", "http://", "http://h/a b"] {
            assert!(Resource::new(url, "a1", Duration::from_secs(1)).is_err(), "{url}");
        }
    }
}
