//! Redis' append-only file: what was applied, with deadlines on the store's own wall clock. It is read by the protocol's
//! lengths, not by lines, so that a value may hold anything.

use crate::reading::Reading;
use crate::reading::line::{Layers, Line};
use crate::record::{Author, SourceKind};
use crate::says::{MoveKind, Says, StoreSays};
use crate::source::Packed;
use crate::when::{Domain, Interval, StampMeans, When};
use std::borrow::Cow;
use std::io::{self, BufRead, Read};
use std::time::Duration;

const BY: &str = "redis-aof";

/// The longest argument that is kept; the rest of it is skipped.
const WORD_MOST: usize = 4096;
/// More arguments than any request of a lock has.
const WORDS_MOST: u64 = 1 << 20;

/// Reads the whole file.
pub(crate) fn read(reader: &mut dyn BufRead, reading: &mut Reading<'_>, packed: Packed) -> u64 {
    let mut file = File {
        reader,
        total: 0,
        lines: 0,
        when: None,
        database: None,
    };
    loop {
        match file.request() {
            Ok(Some((number, words))) => {
                reading.lines = file.lines;
                reading.format(Layers::default(), BY);
                file.select(&words);
                say(number, &words, &file, reading);
            }
            Ok(None) => break,
            Err(error) => {
                reading.lines = file.lines;
                // A cut tail is normal: the server was writing, or had died.
                reading.cut = true;
                if error.kind() == io::ErrorKind::UnexpectedEof {
                    reading.problem(
                        Some(file.lines),
                        crate::evidence::ProblemKind::Truncated,
                        "the append-only file ends in the middle of a request, which is normal for one that was being written",
                    );
                } else {
                    crate::read::broken(reading, &error, packed);
                }
                break;
            }
        }
    }
    reading.lines = file.lines;
    file.total
}

/// A line of the manifest beside the files: `file appendonly.aof.2.incr.aof seq 2 type i`. It has no times.
pub(crate) fn manifest(line: &Line<'_>, _: &mut Reading<'_>) -> Option<&'static str> {
    let (_, rest) = line.text.strip_prefix("file ")?.rsplit_once(" seq ")?;
    let (number, kind) = rest.split_once(" type ")?;
    let sound = number.bytes().all(|byte| byte.is_ascii_digit()) && matches!(kind.trim_end(), "b" | "i" | "h");
    sound.then_some("redis-aof-manifest")
}

struct File<'r> {
    reader: &'r mut dyn BufRead,
    total: u64,
    lines: u64,
    /// The annotation that applies: whole seconds, for all that follows it.
    when: Option<When>,
    /// The database that was selected; `None`: the first.
    database: Option<u32>,
}

impl File<'_> {
    fn text_line(&mut self) -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        let read = self.reader.take(WORD_MOST as u64).read_until(b'\n', &mut bytes)?;
        self.total += read as u64;
        if read == 0 {
            return Ok(None);
        }
        self.lines += 1;
        if bytes.last() != Some(&b'\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()))
    }

    fn select(&mut self, words: &[String]) {
        if let [verb, database] = words
            && verb.eq_ignore_ascii_case("SELECT")
        {
            self.database = database.parse().ok().filter(|database| *database != 0);
        }
    }

    /// The next request, and the line that it begins on.
    fn request(&mut self) -> io::Result<Option<(u64, Vec<String>)>> {
        loop {
            let Some(head) = self.text_line()? else { return Ok(None) };
            let number = self.lines;
            if let Some(seconds) = head.strip_prefix("#TS:") {
                let seconds: i64 = seconds.parse().map_err(|_| invalid("a time stamp is no number"))?;
                self.when = seconds.checked_mul(1_000_000_000).map(|at| When {
                    domain: Domain::Wall,
                    span: Interval::cut(at, Duration::from_secs(1)),
                    resolution: Duration::from_secs(1),
                });
                continue;
            }
            if head.starts_with('#') || head.is_empty() {
                continue;
            }
            let count: u64 = head
                .strip_prefix('*')
                .and_then(|count| count.parse().ok())
                .filter(|count| *count <= WORDS_MOST)
                .ok_or_else(|| invalid("a request begins with something else than `*` and a number"))?;
            let mut words = Vec::new();
            for _ in 0..count {
                let word = self.word()?;
                if words.len() < 64 {
                    words.push(word);
                }
            }
            return Ok(Some((number, words)));
        }
    }

    fn word(&mut self) -> io::Result<String> {
        let head = self.text_line()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let length: u64 = head
            .strip_prefix('$')
            .and_then(|length| length.parse().ok())
            .filter(|length| *length <= 1 << 30)
            .ok_or_else(|| invalid("an argument begins with something else than `$` and a length"))?;
        let mut bytes = Vec::new();
        let kept = length.min(WORD_MOST as u64);
        let read = self.reader.take(kept).read_to_end(&mut bytes)? as u64;
        let skipped = io::copy(&mut self.reader.take(length - kept), &mut io::sink())?;
        let mut end = [0; 2];
        if read + skipped != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.reader.read_exact(&mut end)?;
        self.total += length + 2;
        self.lines += 1 + bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn say(number: u64, words: &[String], file: &File<'_>, reading: &mut Reading<'_>) {
    let when = file.when;
    let raw = words.join(" ");
    let line = Line {
        number,
        raw: &raw,
        text: Cow::Borrowed(""),
        when,
        other: None,
        author: Author {
            database: file.database,
            ..Author::default()
        },
        fields: None,
        layers: Layers::default(),
        continued: false,
    };
    if when.is_some() {
        reading.cover_only(&line);
    }
    let Some(verb) = words.first().map(|verb| verb.to_ascii_uppercase()) else {
        return;
    };
    let mut store = |says: StoreSays| reading.say(&line, SourceKind::Store, BY, StampMeans::Emitted, Says::Store(says));
    if matches!(verb.as_str(), "FLUSHALL" | "FLUSHDB") {
        return store(StoreSays::Moved {
            kind: MoveKind::Flush,
            what: verb.into(),
            term: None,
        });
    }
    let Some(key) = words.get(1).cloned() else { return };
    let wanted = reading.options.key.clone();
    let named = |key: &str| wanted.as_ref().is_none_or(|wanted| key.contains(wanted.as_str()));
    if matches!(verb.as_str(), "DEL" | "UNLINK") {
        for key in words.iter().skip(1).filter(|key| named(key)) {
            let says = StoreSays::Deleted {
                key: key.as_str().into(),
                by: None,
                index: None,
            };
            reading.say(&line, SourceKind::Store, BY, StampMeans::Emitted, Says::Store(says));
        }
        return;
    }
    if !named(&key) {
        return;
    }
    let deadline = |text: Option<&String>, unit: i64| text?.parse::<i64>().ok()?.checked_mul(unit).map(Interval::exact);
    let option = |name: &str| words.iter().position(|word| word.eq_ignore_ascii_case(name));
    let holder = words.get(2).map(|holder| holder.as_str().into());
    let says = match verb.as_str() {
        "SET" => StoreSays::Granted {
            key: key.into(),
            holder,
            token: None,
            ttl: None,
            until: option("PXAT")
                .and_then(|at| deadline(words.get(at + 1), 1_000_000))
                .or_else(|| option("EXAT").and_then(|at| deadline(words.get(at + 1), 1_000_000_000))),
        },
        "SETNX" | "HSET" | "HSETNX" | "HINCRBY" => StoreSays::Granted {
            key: key.into(),
            holder,
            token: None,
            ttl: None,
            until: None,
        },
        "PEXPIREAT" | "EXPIREAT" => StoreSays::RenewalApplied {
            key: key.into(),
            sender: None,
            ttl: None,
            until: deadline(
                words.get(2),
                if verb == "PEXPIREAT" { 1_000_000 } else { 1_000_000_000 },
            ),
        },
        "PEXPIRE" | "EXPIRE" => StoreSays::RenewalApplied {
            key: key.into(),
            sender: None,
            ttl: words.get(2).and_then(|ttl| ttl.parse::<u64>().ok()).map(|ttl| {
                if verb == "PEXPIRE" {
                    Duration::from_millis(ttl)
                } else {
                    Duration::from_secs(ttl)
                }
            }),
            until: None,
        },
        _ => return,
    };
    reading.say(&line, SourceKind::Store, BY, StampMeans::Emitted, Says::Store(says));
}
