//! Slots of a cluster: which server has a key, and how a key and its counter come into one slot.

use crate::redis::server::text;
use crate::url::Place;
use redis::{ServerError, Value};
use std::collections::HashMap;

/// How many slots a cluster has.
const SLOTS: u16 = 16384;

/// CRC16 as XMODEM has it, by which a cluster spreads its keys.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            }
        })
    })
}

/// What stands between the first `{` and the next `}`, if anything does.
fn tag(key: &[u8]) -> Option<&[u8]> {
    let inside = &key[key.iter().position(|byte| *byte == b'{')? + 1..];
    let end = inside.iter().position(|byte| *byte == b'}')?;
    (end > 0).then(|| &inside[..end])
}

/// The slot of a key.
pub(crate) fn slot(key: &[u8]) -> u16 {
    crc16(tag(key).unwrap_or(key)) % SLOTS
}

/// The token counter of a lease in a cluster, in the lease's own slot.
pub(crate) fn counter(key: &[u8]) -> Vec<u8> {
    if tag(key).is_some() {
        [key, b":token"].concat()
    } else if !key.contains(&b'}') {
        [b"{", key, b"}:token"].concat()
    } else {
        // It can't be a tag itself: the smallest number of the same slot is one. Each slot has one far below a million.
        let wanted = slot(key);
        let mut numbers = 0_u32..;
        let number = numbers.find(|number| crc16(number.to_string().as_bytes()) % SLOTS == wanted);
        let number = number.unwrap_or_default();
        [format!("{{{number}}}").as_bytes(), key, b":token"].concat()
    }
}

/// The lease whose counter this is.
pub(crate) fn counted(counter: &[u8]) -> Option<&[u8]> {
    let name = counter.strip_suffix(b":token")?;
    let braced = name.strip_prefix(b"{");
    if let Some(key) = braced.and_then(|it| it.strip_suffix(b"}"))
        && !key.contains(&b'}')
    {
        return Some(key);
    }
    if let Some(inside) = braced
        && let Some(end) = inside.iter().position(|byte| *byte == b'}')
        && end > 0
        && inside[..end].iter().all(u8::is_ascii_digit)
        && self::counter(&inside[end + 1..]) == counter
    {
        return Some(&inside[end + 1..]);
    }
    Some(name)
}

/// Which server has which slots, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    spans: Vec<(u16, u16, Place)>,
    /// What a server said since.
    moved: HashMap<u16, Place>,
}

impl Routes {
    /// Reads the answer of a server at `asked` to CLUSTER SLOTS.
    pub(crate) fn parse(answer: &Value, asked: &Place) -> Option<Self> {
        let Value::Array(spans) = answer else { return None };
        let span = |value: &Value| {
            let Value::Array(parts) = value else { return None };
            let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = &parts[..] else {
                return None;
            };
            let [host, Value::Int(port), ..] = &primary[..] else {
                return None;
            };
            // A server that does not know its own address gives none.
            let host = text(host).filter(|host| !host.is_empty() && host != "?");
            let place = Place {
                host: host.unwrap_or_else(|| asked.host.clone()),
                port: u16::try_from(*port).ok()?,
            };
            Some((u16::try_from(*first).ok()?, u16::try_from(*last).ok()?, place))
        };
        Some(Self {
            spans: spans.iter().map(span).collect::<Option<_>>()?,
            moved: HashMap::new(),
        })
    }

    /// One server for all, until it says otherwise.
    pub(crate) fn all_at(place: Place) -> Self {
        Self {
            spans: vec![(0, SLOTS - 1, place)],
            moved: HashMap::new(),
        }
    }

    pub(crate) fn are_known(&self) -> bool {
        !self.spans.is_empty()
    }

    /// The server of a slot; without a slot any.
    pub(crate) fn of(&self, slot: Option<u16>) -> Option<&Place> {
        let Some(slot) = slot else {
            return self.spans.first().map(|(.., place)| place);
        };
        let span = || {
            self.spans
                .iter()
                .find(|(first, last, _)| (*first..=*last).contains(&slot))
        };
        self.moved.get(&slot).or_else(|| span().map(|(.., place)| place))
    }

    /// A server said that this slot is elsewhere.
    pub(crate) fn moved(&mut self, slot: u16, place: Place) {
        self.moved.insert(slot, place);
    }

    /// The servers that have slots, each once.
    pub(crate) fn servers(&self) -> Vec<Place> {
        let mut servers: Vec<Place> = self
            .spans
            .iter()
            .map(|(.., place)| place)
            .chain(self.moved.values())
            .cloned()
            .collect();
        servers.sort();
        servers.dedup();
        servers
    }
}

/// A server's word that another has the key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Redirect {
    /// From now on.
    Moved(u16, Place),
    /// For this question: the slot is on its way.
    Ask(Place),
}

impl Redirect {
    /// The first in these answers of a server at `asked`. Where there is one, nothing was done.
    pub(crate) fn of(answers: &[Value], asked: &Place) -> Option<Self> {
        answers.iter().find_map(|answer| match answer {
            Value::ServerError(error) => Self::parse(error, asked),
            _ => None,
        })
    }

    fn parse(error: &ServerError, asked: &Place) -> Option<Self> {
        let (slot, place) = error.details()?.split_once(' ')?;
        let (host, port) = place.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let place = Place {
            host: if host.is_empty() {
                asked.host.clone()
            } else {
                host.to_owned()
            },
            port: port.parse().ok()?,
        };
        match error.code() {
            "MOVED" => Some(Self::Moved(slot.parse().ok()?, place)),
            "ASK" => Some(Self::Ask(place)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        for (key, slot_of) in [
            (&b"foo"[..], 12182),
            (b"{user1000}.following", slot(b"user1000")),
            (b"foo{}{bar}", crc16(b"foo{}{bar}") % SLOTS),
            (b"foo{{bar}}zap", slot(b"{bar")),
            (b"foo{bar}{zap}", slot(b"bar")),
        ] {
            assert_eq!(slot(key), slot_of, "{key:?}");
        }
    }

    #[test]
    fn a_counter_is_in_the_slot_of_its_lease() {
        for (key, name) in [
            ("canary/demo", Some("{canary/demo}:token")),
            ("a{b}c", Some("a{b}c:token")),
            ("a{b", Some("{a{b}:token")),
            ("a{}b", None),
            ("a}b", None),
            ("{}", None),
            ("", Some("{}:token")),
        ] {
            let counter = counter(key.as_bytes());
            if !key.is_empty() {
                assert_eq!(slot(&counter), slot(key.as_bytes()), "{key}");
                assert_eq!(counted(&counter), Some(key.as_bytes()), "{key}");
            }
            if let Some(name) = name {
                assert_eq!(counter, name.as_bytes());
            }
        }
        assert_eq!(counted(b"no counter"), None);
        assert_eq!(counted(b"{1}x:token"), Some(&b"{1}x"[..]), "a tag of the key's own");
    }

    #[test]
    fn every_slot_has_a_small_number() {
        let mut seen = vec![false; usize::from(SLOTS)];
        for number in 0..1_000_000_u32 {
            seen[usize::from(crc16(number.to_string().as_bytes()) % SLOTS)] = true;
        }
        assert!(seen.iter().all(|it| *it));
    }
}
