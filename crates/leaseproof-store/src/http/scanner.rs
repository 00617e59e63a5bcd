//! Answers of a pipelined connection, cut out of its bytes: status and body, by length or in chunks.

/// The most that status line and headers may have.
const HEAD: usize = 64 * 1024;

/// Bytes that are answers, or begin one.
pub(super) struct Scanner {
    bytes: Vec<u8>,
    /// What was given out already.
    used: usize,
    limit: usize,
}

impl Scanner {
    /// `limit`: the most that a body may have.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            used: 0,
            limit,
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.used);
        self.used = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next answer, once it is whole.
    pub(super) fn next(&mut self) -> Result<Option<(u16, Vec<u8>)>, &'static str> {
        let rest = &self.bytes[self.used..];
        let Some(end) = rest.windows(4).position(|it| it == b"\r\n\r\n") else {
            return match rest.len() > HEAD || (rest.len() >= 5 && !rest.starts_with(b"HTTP/")) {
                true => Err("what came is no HTTP, or has a head of more than 64 KiB"),
                false => Ok(None),
            };
        };
        let head = std::str::from_utf8(&rest[..end]).map_err(|_| "what came is no HTTP")?;
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.strip_prefix("HTTP/1.1 "))
            .and_then(|line| line.get(..3)?.parse().ok())
            .ok_or("what came is no HTTP/1.1")?;
        let mut length = None;
        let mut chunked = false;
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(value.parse::<usize>().map_err(|_| "a length that is no number")?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                chunked = value.eq_ignore_ascii_case("chunked");
            }
        }
        let body = &rest[end + 4..];
        let whole = match (chunked, length) {
            (true, _) => chunks(body, self.limit)?,
            (false, Some(length)) if length > self.limit => return Err("an answer of more than 1 MiB"),
            (false, Some(length)) => body.get(..length).map(|body| (body.to_vec(), length)),
            (false, None) => return Err("an answer without a length"),
        };
        Ok(whole.map(|(body, took)| {
            self.used += end + 4 + took;
            (status, body)
        }))
    }
}

/// A body in chunks, and how many bytes that took; none while it is not whole.
fn chunks(bytes: &[u8], limit: usize) -> Result<Option<(Vec<u8>, usize)>, &'static str> {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let Some(line) = bytes[at..].windows(2).position(|it| it == b"\r\n") else {
            return match bytes.len() - at > 100 {
                true => Err("a chunk without a length"),
                false => Ok(None),
            };
        };
        let text = std::str::from_utf8(&bytes[at..at + line]).map_err(|_| "a chunk without a length")?;
        let text = text.split(';').next().unwrap_or(text).trim();
        let length = usize::from_str_radix(text, 16).map_err(|_| "a chunk without a length")?;
        if length > limit || body.len() + length > limit {
            return Err("an answer of more than 1 MiB");
        }
        let begin = at + line + 2;
        let Some(chunk) = bytes.get(begin..begin + length + 2) else {
            return Ok(None);
        };
        if !chunk.ends_with(b"\r\n") {
            // Behind the last chunk there may be trailers, which nobody sends here.
            return Err("a chunk that does not end where it says");
        }
        body.extend_from_slice(&chunk[..length]);
        at = begin + length + 2;
        if length == 0 {
            return Ok(Some((body, at)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: y\r\n\r\n{}\
        HTTP/1.1 500 Oh\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab\n\r\n1;x\r\nc\r\n0\r\n\r\nHTTP/1.1 2";

    #[test]
    fn answers_are_cut_out_wherever_they_are_cut() {
        for size in [1, 2, 3, 7, 1000] {
            let mut scanner = Scanner::new(100);
            let mut found = Vec::new();
            for part in TWO.chunks(size) {
                scanner.take(part);
                while let Some(answer) = scanner.next().expect("it is HTTP") {
                    found.push(answer);
                }
            }
            assert_eq!(found, [(200, b"{}".to_vec()), (500, b"ab\nc".to_vec())], "{size}");
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for bytes in [
            &b"SSH-2.0-OpenSSH"[..],
            b"-ERR unknown command\r\n\r\n",
            b"HTTP/1.0 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        ] {
            let mut scanner = Scanner::new(100);
            scanner.take(bytes);
            assert!(scanner.next().is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }
}
