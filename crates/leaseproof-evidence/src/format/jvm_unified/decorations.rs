//! The bracketed decorations in front of a line.

use crate::record::Author;
use crate::stamp::{Stamps, Zone, counted, written};
use crate::when::{Domain, Interval, When};
use std::sync::Arc;
use std::time::Duration;

/// What a line's decorations say.
pub(super) struct Decorated<'a> {
    pub(super) when: Option<When>,
    pub(super) other: Option<When>,
    pub(super) author: Author,
    pub(super) text: &'a str,
}

/// What a decoration is that is no time.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Word {
    Level,
    /// A set of tags that only the JVM writes like that.
    Tags,
    /// A process or a thread.
    Id(u32),
    /// A host's name.
    Host(Arc<str>),
}

impl Word {
    /// `None`: no decoration at all.
    fn of(part: &str, first: bool) -> Option<Self> {
        let word = part.trim_end();
        if matches!(word, "error" | "warning" | "info" | "debug" | "trace") {
            return Some(Self::Level);
        }
        let tags = !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b',' || byte == b'+');
        if tags && word.split([',', '+']).next().is_some_and(|tag| TAGS.contains(&tag)) {
            return Some(Self::Tags);
        }
        if !tags && let Ok(id) = word.parse::<u32>() {
            return Some(Self::Id(id));
        }
        let host = !first
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
        host.then(|| Self::Host(word.into()))
    }
}

/// How many texts of one place are remembered.
const MOST: usize = 32;

/// Decorations that were seen before: host, process, thread, level and tags come again on every line, and so does the
/// time on the lines of one collection.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    places: Vec<Vec<(Box<str>, Word)>>,
    time: Option<(String, When)>,
}

impl Words {
    fn word(&mut self, place: usize, part: &str) -> Option<Word> {
        if let Some(known) = self.places.get(place)
            && let Some((_, word)) = known.iter().find(|(text, _)| **text == *part)
        {
            return Some(word.clone());
        }
        let word = Word::of(part, place == 0)?;
        if place < MOST {
            self.places.resize_with(self.places.len().max(place + 1), Vec::new);
            if let Some(known) = self.places.get_mut(place).filter(|known| known.len() < MOST) {
                known.push((part.into(), word.clone()));
            }
        }
        Some(word)
    }

    fn time(&mut self, part: &str, stamps: &mut Stamps) -> Option<When> {
        if let Some((text, when)) = &self.time
            && text == part
        {
            return Some(*when);
        }
        let (stamp, used) = written::iso(part.as_bytes())?;
        if used != part.len() {
            return None;
        }
        let when = stamps.calendar(&stamp)?;
        // Without a zone it may mean something else later in the file.
        if stamp.zone != Zone::None {
            let (text, known) = self.time.get_or_insert_with(|| (String::new(), when));
            *known = when;
            text.clear();
            text.push_str(part);
        }
        Some(when)
    }
}

/// Reads the bracketed decorations. At least one of them must be a time, a level or a tag set.
pub(super) fn read<'a>(raw: &'a str, words: &mut Words, stamps: &mut Stamps) -> Option<Decorated<'a>> {
    let mut rest = raw;
    let mut wall = None;
    let mut count: Option<When> = None;
    let mut author = Author::default();
    let (mut tagged, mut levelled) = (false, false);
    let mut parts = 0;
    while let Some(inside) = rest.strip_prefix('[') {
        let end = memchr::memchr(b']', inside.as_bytes())?;
        let (part, more) = (inside.get(..end)?, inside.get(end + 1..)?);
        let bytes = part.as_bytes();
        let stamp = match bytes.first()? {
            b'0'..=b'9' if bytes.len() > 19 && bytes.get(4) == Some(&b'-') => Some(words.time(part, stamps)?),
            b'0'..=b'9' => uptime(part, stamps),
            _ => None,
        };
        match stamp {
            Some(stamp) if stamp.domain == Domain::Wall => wall = Some(stamp),
            // Uptime and the machine's own count may both be there: the process's is the anchor that can be used.
            Some(stamp) => {
                count = Some(count.map_or(stamp, |known| if known.domain == Domain::Proc { known } else { stamp }))
            }
            None => match words.word(parts, part)? {
                Word::Level => levelled = true,
                Word::Tags => tagged = true,
                Word::Id(id) => author.pid = author.pid.or(Some(id)),
                Word::Host(host) => author.host = Some(host),
            },
        }
        parts += 1;
        rest = more;
    }
    if parts == 0 {
        return None;
    }
    let text = rest.strip_prefix(' ')?;
    // Other programs write brackets, too: a tag or a level that only the JVM writes like that, or a text that is its own.
    let timed = wall.is_some() || count.is_some();
    let own = timed && (tagged || levelled) || (tagged && levelled);
    if !own && !own_text(text) {
        return None;
    }
    let (when, other) = match (wall, count) {
        (Some(wall), count) => (Some(wall), count),
        (None, count) => (count, None),
    };
    Some(Decorated {
        when,
        other,
        author,
        text,
    })
}

/// `2.492s`, `39ms`, `4977917ns`, and `1796007139281ms`, which is an epoch: told by its size.
fn uptime(part: &str, stamps: &mut Stamps) -> Option<When> {
    if let Some(seconds) = part.strip_suffix("ns") {
        let nanos: i64 = seconds.parse().ok()?;
        // Nanoseconds may be the machine's or the process's count; nothing in the line tells them apart.
        return Some(counted(Domain::Proc, nanos, 1));
    }
    if let Some(ms) = part.strip_suffix("ms") {
        let ms: i64 = ms.parse().ok()?;
        if ms > 100_000_000_000 {
            return Some(stamps.epoch(ms.checked_mul(1_000_000)?, 1_000_000));
        }
        let nanos = ms.checked_mul(1_000_000)?;
        return Some(When {
            domain: Domain::Proc,
            span: Interval::cut(nanos, Duration::from_millis(1)),
            resolution: Duration::from_millis(1),
        });
    }
    let seconds = part.strip_suffix('s')?;
    let (nanos, unit, used) = written::seconds(seconds.as_bytes())?;
    (used == seconds.len()).then(|| counted(Domain::Proc, nanos, unit))
}

/// First tags of the JVM's lines.
const TAGS: [&str; 24] = [
    "gc",
    "safepoint",
    "os",
    "class",
    "jit",
    "thread",
    "metaspace",
    "startuptime",
    "arguments",
    "cds",
    "codecache",
    "compilation",
    "heap",
    "logging",
    "module",
    "monitorinflation",
    "nmt",
    "pagesize",
    "stringdedup",
    "stringtable",
    "tracking",
    "vmthread",
    "init",
    "handshake",
];

/// Whether a text can be only the JVM's, whatever its decorations are.
fn own_text(text: &str) -> bool {
    [
        "GC(",
        "Safepoint \"",
        "Entering safepoint region: ",
        "Leaving safepoint region",
        "Total time for which application threads were stopped: ",
        "Application time: ",
    ]
    .iter()
    .any(|begin| text.starts_with(begin))
}
