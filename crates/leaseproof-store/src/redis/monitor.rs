//! MONITOR: what passes at the server, bounded in time, in lines and in the length of a line.

use crate::inspect::shown_key;
use crate::redis::foreign::{names, redacted};
use leaseproof_model::inspect::store_view::{Monitored, MonitoredCommand};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{Instant, timeout_at};

/// Of a longer line the rest is dropped: a value may be as large as 512 MiB.
const LINE: usize = 64 << 10;

/// So many commands on the key are kept.
const KEPT: usize = 1000;

/// Reads the lines of MONITOR until `span` is over or `lines` have passed. `answers` is how many
/// answers come before the first line.
pub(crate) async fn follow(
    mut from: impl AsyncRead + Unpin,
    key: &[u8],
    answers: usize,
    span: Duration,
    lines: u64,
) -> Result<Monitored, String> {
    let began = Instant::now();
    let deadline = began + span;
    let mut seen = Monitored {
        watched_ms: 0,
        commands: 0,
        cut: false,
        named_key: 0,
        on_key: Vec::new(),
    };
    let mut before = answers;
    let mut line = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    'reading: loop {
        let count = match timeout_at(deadline, from.read(&mut buffer)).await {
            Err(_over) => break,
            Ok(Ok(0)) => return Err("the server closed the connection".to_owned()),
            Ok(Ok(count)) => count,
            Ok(Err(error)) => return Err(error.to_string()),
        };
        for &byte in &buffer[..count] {
            if byte != b'\n' {
                if line.len() < LINE {
                    line.push(byte);
                }
                continue;
            }
            let whole = std::mem::take(&mut line);
            if whole.first() == Some(&b'-') {
                return Err(String::from_utf8_lossy(&whole[1..]).trim_end().to_owned());
            }
            if before > 0 {
                before -= 1;
                continue;
            }
            seen.commands += 1;
            if let Some(command) = parse(&whole, key) {
                seen.named_key += 1;
                if seen.on_key.len() < KEPT {
                    seen.on_key.push(command);
                }
            }
            if seen.commands >= lines {
                seen.cut = true;
                break 'reading;
            }
        }
    }
    if before > 0 {
        return Err(format!("no answer within {span:?}"));
    }
    seen.watched_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(seen)
}

/// `+1700000000.123456 [0 127.0.0.1:4711] "SET" "key" …`, if it names the key.
fn parse(line: &[u8], key: &[u8]) -> Option<MonitoredCommand> {
    let text = line.strip_prefix(b"+")?;
    let open = text.iter().position(|&b| b == b'[')?;
    let shut = open + text[open..].iter().position(|&b| b == b']')?;
    let (seconds, micros) = std::str::from_utf8(&text[..open]).ok()?.trim().split_once('.')?;
    let from = std::str::from_utf8(&text[open + 1..shut]).ok()?;
    let arguments = arguments(&text[shut + 1..]);
    names(&arguments, key).then(|| MonitoredCommand {
        unix_us: seconds
            .parse::<i64>()
            .unwrap_or(0)
            .saturating_mul(1_000_000)
            .saturating_add(micros.parse().unwrap_or(0)),
        from: shown_key(from.split_once(' ').map_or(from, |(_db, from)| from).as_bytes()),
        command: redacted(&arguments, key),
    })
}

/// The quoted words of a line, as `sdscatrepr` writes them.
fn arguments(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        let Some(inside) = &mut word else {
            if byte == b'"' {
                word = Some(Vec::new());
            }
            continue;
        };
        match byte {
            b'"' => words.extend(word.take()),
            b'\\' => match bytes.next() {
                Some(b'x') => {
                    let digits = [bytes.next(), bytes.next()];
                    let value = digits.into_iter().try_fold(0_u32, |value, digit| {
                        Some(value * 16 + char::from(digit?).to_digit(16)?)
                    });
                    inside.extend(value.and_then(|value| u8::try_from(value).ok()));
                }
                Some(b'n') => inside.push(b'\n'),
                Some(b'r') => inside.push(b'\r'),
                Some(b't') => inside.push(b'\t'),
                Some(b'a') => inside.push(7),
                Some(b'b') => inside.push(8),
                other => inside.extend(other),
            },
            byte => inside.push(byte),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"+OK\r\n+OK\r\n\
        +1700000000.000001 [0 127.0.0.1:1] \"GET\" \"other\"\r\n\
        +1700000000.123456 [0 127.0.0.1:4711] \"SET\" \"k\\xff\" \"hun\\\"ter2\" \"PX\" \"3000\"\r\n\
        +1700000001.000000 [0 lua] \"PEXPIRE\" \"k\\xff\" \"3000\"\r\n\
        +1700000002.000000 [0 127.0.0.1:1] \"GET\" \"k\"\r\n";

    #[tokio::test]
    async fn what_is_not_kept_is_counted() {
        let lines = "+1.0 [0 127.0.0.1:1] \"GET\" \"k\"\r\n".repeat(KEPT + 5);
        let stream = format!("+OK\r\n{lines}").into_bytes();
        let seen = follow(&stream[..], b"k", 1, Duration::from_secs(5), KEPT as u64 + 5)
            .await
            .expect("it is followed");
        assert_eq!((seen.named_key, seen.on_key.len()), (KEPT as u64 + 5, KEPT));
    }

    #[tokio::test]
    async fn what_names_the_key_is_kept_without_its_values() {
        let seen = follow(Waiting(STREAM), b"k\xff", 2, Duration::from_millis(20), 100)
            .await
            .expect("it is followed");
        assert_eq!((seen.commands, seen.cut), (4, false));
        let kept: Vec<_> = seen
            .on_key
            .iter()
            .map(|it| (it.unix_us, it.from.as_str(), it.command.as_str()))
            .collect();
        assert_eq!(
            kept,
            [
                (1_700_000_000_123_456, "127.0.0.1:4711", "SET k\\xff … PX 3000"),
                (1_700_000_001_000_000, "lua", "PEXPIRE k\\xff 3000"),
            ]
        );
    }

    #[tokio::test]
    async fn lines_are_bounded_and_refusals_told() {
        let seen = follow(Waiting(STREAM), b"k", 2, Duration::from_secs(20), 2)
            .await
            .expect("it is followed");
        assert_eq!((seen.commands, seen.cut), (2, true));
        let refused = follow(Waiting(b"-NOPERM no\r\n"), b"k", 1, Duration::from_secs(20), 2).await;
        assert_eq!(refused, Err("NOPERM no".to_owned()));
        let cut = follow(&STREAM[..9], b"k", 2, Duration::from_secs(20), 2).await;
        assert!(cut.is_err());
    }

    /// Bytes that come, and then nothing for ever.
    struct Waiting(&'static [u8]);

    impl AsyncRead for Waiting {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _context: &mut std::task::Context<'_>,
            buffer: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            if self.0.is_empty() {
                return std::task::Poll::Pending;
            }
            let count = self.0.len().min(buffer.remaining());
            buffer.put_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            std::task::Poll::Ready(Ok(()))
        }
    }
}
