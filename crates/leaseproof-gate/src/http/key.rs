//! Which resource a write is for. Pure.
//!
//! Two spellings of one resource must have one key, or a stale write passes by the other spelling. So what servers
//! read in one way is folded into one key, and what they read in different ways is refused.

use hyper::header::{HeaderMap, HeaderName};
use percent_encoding::percent_decode;
use std::str::FromStr;
use thiserror::Error;

/// No key is longer, in bytes.
pub const LONGEST: usize = 1024;

/// Where the key of a write is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyRule {
    /// The request's path; with a number only its first segments.
    Path(Option<usize>),
    /// The value of a header.
    Header(HeaderName),
    /// All writes are for one resource.
    One,
}

/// Why a write has no key.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadKey {
    /// Servers differ in what it means.
    #[error("the path has {0}, which servers read in different ways: send it in its plain form")]
    Unclear(&'static str),
    /// Fewer segments than the key is made of.
    #[error("the path has fewer than {0} segments, and the resource's key is made of so many")]
    Short(usize),
    /// No header.
    #[error("the write has no {0} header, which names the resource")]
    NoHeader(HeaderName),
    /// More than one.
    #[error("the write has more than one {0} header: which resource is it for?")]
    Duplicated(HeaderName),
    /// Too long.
    #[error("the resource's key is longer than {LONGEST} bytes")]
    Long,
}

impl FromStr for KeyRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = "use path, path:N (its first N segments), header:NAME, or one (all writes are for one resource)";
        match text.split_once(':') {
            None if text == "path" => Ok(Self::Path(None)),
            None if text == "one" => Ok(Self::One),
            Some(("path", number)) => match number.parse() {
                Ok(segments) if segments > 0 => Ok(Self::Path(Some(segments))),
                _ => Err(format!("`{number}` is no number of segments: {known}")),
            },
            Some(("header", name)) => match name.parse() {
                Ok(name) => Ok(Self::Header(name)),
                Err(_) => Err(format!("`{name}` is no name of a header: {known}")),
            },
            _ => Err(format!("`{text}` is not known: {known}")),
        }
    }
}

impl KeyRule {
    /// The header that it is read from, where it is one.
    #[must_use]
    pub fn header(&self) -> Option<&HeaderName> {
        match self {
            Self::Header(name) => Some(name),
            Self::Path(_) | Self::One => None,
        }
    }

    /// The key of a write with this path (as it came, without its query) and these headers.
    ///
    /// # Errors
    /// When the write names none, or names it in a way that isn't clear.
    pub fn key(&self, path: &str, headers: &HeaderMap) -> Result<Vec<u8>, BadKey> {
        let key = match self {
            Self::One => b"one".to_vec(),
            Self::Path(segments) => path_key(path, *segments)?,
            Self::Header(name) => {
                let mut values = headers.get_all(name).iter();
                let value = values.next().ok_or_else(|| BadKey::NoHeader(name.clone()))?;
                if values.next().is_some() {
                    return Err(BadKey::Duplicated(name.clone()));
                }
                if value.is_empty() {
                    return Err(BadKey::NoHeader(name.clone()));
                }
                value.as_bytes().to_vec()
            }
        };
        if key.len() > LONGEST {
            Err(BadKey::Long)
        } else {
            Ok(key)
        }
    }
}

fn path_key(path: &str, segments: Option<usize>) -> Result<Vec<u8>, BadKey> {
    let inner = path.strip_prefix('/').unwrap_or(path);
    // `/a/` and `/a` are one thing to many servers.
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    let mut key = Vec::new();
    let mut count = 0;
    for raw in inner.split('/') {
        if raw.is_empty() && !inner.is_empty() {
            return Err(BadKey::Unclear("an empty segment"));
        }
        // What comes after a semicolon is a parameter to some, and dropped.
        let raw = raw.split(';').next().unwrap_or(raw);
        let segment: Vec<u8> = percent_decode(raw.as_bytes()).collect();
        if segment == b"." || segment == b".." {
            return Err(BadKey::Unclear("a dot segment"));
        }
        if let Some(what) = segment.iter().find_map(|byte| unclear(*byte)) {
            return Err(BadKey::Unclear(what));
        }
        if raw.len() != path_len(raw, &segment) {
            return Err(BadKey::Unclear("a percent sign that begins no byte"));
        }
        if segments.is_some_and(|most| count == most) {
            break;
        }
        key.push(b'/');
        key.extend(segment);
        count += 1;
    }
    match segments {
        Some(least) if count < least || inner.is_empty() => Err(BadKey::Short(least)),
        _ => Ok(key),
    }
}

/// How long the raw text of this segment is if each of its percent signs begins a byte.
fn path_len(raw: &str, decoded: &[u8]) -> usize {
    decoded.len() + 2 * raw.bytes().filter(|byte| *byte == b'%').count()
}

fn unclear(byte: u8) -> Option<&'static str> {
    match byte {
        b'/' => Some("an encoded slash"),
        b'\\' => Some("a backslash"),
        b'%' => Some("an encoded percent sign"),
        b';' => Some("an encoded semicolon"),
        0..0x20 | 0x7f => Some("a control character"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(rule: &str, path: &str) -> Result<String, String> {
        let rule: KeyRule = rule.parse().expect("a rule");
        rule.key(path, &HeaderMap::new())
            .map(|key| String::from_utf8(key).expect("text"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn spellings_of_one_path_have_one_key() {
        for path in ["/a/b", "/a/b/", "/%61/b", "/a/%62", "/a;v=1/b", "/a/b;x"] {
            assert_eq!(key("path", path).as_deref(), Ok("/a/b"), "{path}");
        }
        assert_eq!(key("path", "/").as_deref(), Ok("/"));
        assert_eq!(key("path:2", "/accounts/7/items/3").as_deref(), Ok("/accounts/7"));
        assert_eq!(key("one", "/whatever/..").as_deref(), Ok("one"));
    }

    #[test]
    fn what_servers_read_in_different_ways_is_refused() {
        for path in [
            "//a",
            "/a//b",
            "/a/./b",
            "/a/../b",
            "/a/%2e%2E/b",
            "/a%2fb",
            "/a%5Cb",
            "/a\\b",
            "/a%00",
            "/a%2",
            "/a%zz",
            "/a%2500",
            "/a/.;x/b",
            "/a%3Bx",
        ] {
            assert!(key("path", path).is_err(), "{path}: {:?}", key("path", path));
            assert!(key("path:1", path).is_err(), "{path} by its first segment");
        }
        assert!(key("path:2", "/a").is_err());
        assert!(key("path:1", "/").is_err());
        assert!(key("path", &"/a".repeat(600)).is_err());
    }

    #[test]
    fn a_header_names_it_once() {
        let rule: KeyRule = "header:X-Resource".parse().expect("a rule");
        let mut headers = HeaderMap::new();
        assert!(rule.key("/", &headers).is_err());
        headers.append("x-resource", "a".parse().expect("a value"));
        assert_eq!(rule.key("/", &headers).as_deref(), Ok(&b"a"[..]));
        headers.append("x-resource", "b".parse().expect("a value"));
        assert!(rule.key("/", &headers).is_err());
    }

    #[test]
    fn rules_that_are_none() {
        for text in [
            "",
            "paths",
            "path:0",
            "path:x",
            "header:",
            "header:a b",
            "one:1",
            "query:x",
        ] {
            assert!(text.parse::<KeyRule>().is_err(), "{text}");
        }
    }
}
