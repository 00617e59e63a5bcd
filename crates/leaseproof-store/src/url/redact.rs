//! What may be a password in a text that was meant as a URL, cut out before it is shown.
//!
//! A text that is no whole URL can't be taken apart by its rules, so more is cut out than need be.

use std::ops::Range;

/// Stands where something was cut out.
const CUT: &str = "***";

/// Names whose value is a secret, alone or as a part of a longer name, in any case.
const NAMES: &[&str] = &["password", "passwd", "pass", "pwd", "token", "secret"];

/// Options of the URLs that are understood, none of them a secret. Any other may be a secret's name misspelt.
const OPEN: &[&str] = &[
    "ca",
    "lock_delay",
    "options",
    "recipe",
    "sentinel_user",
    "server_name",
    "sslmode",
    "sslrootcert",
    "table",
];

/// These end the part of a URL in which a login has its place.
const ENDS: [char; 3] = ['/', '?', '#'];

/// A text that may be a URL, with anything that may be a password cut out.
#[must_use]
pub fn redact(text: &str) -> String {
    let options = text.find('?').unwrap_or(text.len());
    let secret = |at: usize, name: &str| is_secret(name) || (at > options && !OPEN.contains(&name));
    cut(text, login(text).into_iter().chain(values(text, secret)).collect())
}

/// Why a URL was refused, without the part of it that may be a password.
pub(super) fn reason(text: &str, why: String) -> String {
    let secret = login(text).map(|range| &text[range]).unwrap_or_default();
    // A password with one of these ends the login early, and what follows is taken for a path or an option.
    let strayed = secret.contains(ENDS) && secret.split(ENDS).any(|part| !part.is_empty() && why.contains(part));
    if strayed {
        return "a / ? or # stands before its @: write them as %2F, %3F and %23 in a user or a password".to_owned();
    }
    let ranges = values(&why, |_, name| is_secret(name));
    if ranges.is_empty() { why } else { cut(&why, ranges) }
}

/// From the first `:` of a login to the last `@`.
fn login(text: &str) -> Option<Range<usize>> {
    let at = text.rfind('@')?;
    let begin = text[..at]
        .find(":/")
        .filter(|end| {
            text[..*end]
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        })
        .map_or(0, |end| end + 2);
    let colon = text[begin..at].find(':')?;
    Some(begin + colon + 1..at)
}

fn is_secret(name: &str) -> bool {
    NAMES.iter().any(|it| name.contains(it))
}

/// The values of all `NAME=VALUE` whose name, at its place, is that of a secret: to a `&`, a space or the closing
/// quote.
fn values(text: &str, secret: impl Fn(usize, &str) -> bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (equals, _) in text.match_indices('=') {
        let name = text[..equals].trim_end();
        let start = name
            .rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-')
            .map_or(0, |before| {
                before + name[before..].chars().next().map_or(1, char::len_utf8)
            });
        let name = name[start..].to_ascii_lowercase();
        if !secret(equals, &name) {
            continue;
        }
        let rest = &text[equals + 1..];
        let value = rest.trim_start();
        let begin = text.len() - value.len();
        let quoted = value.strip_prefix('\'').and_then(|inner| inner.find('\''));
        let length = match quoted {
            Some(inner) => inner + 2,
            None => value
                .find(|c: char| c == '&' || c.is_whitespace())
                .unwrap_or(value.len()),
        };
        found.push(begin..begin + length);
    }
    found
}

/// The text without these parts.
fn cut(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_by_key(|range| range.start);
    let (mut shown, mut end) = (String::new(), 0);
    for range in ranges {
        if range.start >= end {
            shown.push_str(&text[end..range.start]);
            shown.push_str(CUT);
        }
        end = end.max(range.end);
    }
    shown.push_str(&text[end..]);
    shown
}
