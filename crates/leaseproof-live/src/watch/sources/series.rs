//! A belief in Prometheus metrics: one series that says whether the owner holds, one with its token.

use crate::watch::settings::{Answer, ReadAnswer};
use std::collections::BTreeMap;

/// The series of the leaseproof library: 1 while it believes to hold, by key.
pub const EXPORT_HOLDS: &str = "leaseproof_lease_held";
/// The series of the leaseproof library: the token of what it holds, by key.
pub const EXPORT_TOKEN: &str = "leaseproof_lease_token";

/// A series by its name and some of its labels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selector {
    name: String,
    labels: BTreeMap<String, String>,
}

impl Selector {
    /// Reads `name` or `name{label="value",…}`.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no series: write name or name{{label=\"value\"}}");
        let (name, labels, rest) = series_of(text.trim()).ok_or_else(wrong)?;
        if !rest.trim().is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            name: name.to_owned(),
            labels,
        })
    }

    /// The series of this name with `key` as its label of that name.
    #[must_use]
    pub fn of_key(name: &str, key: &str) -> Self {
        Self {
            name: name.to_owned(),
            labels: BTreeMap::from([("key".to_owned(), key.to_owned())]),
        }
    }

    /// Its sample on a page of metrics. Where several series have these labels, the greatest.
    ///
    /// A last line without an end is none: the answer may have been cut in its number.
    #[must_use]
    pub fn sample(&self, page: &str) -> Option<Sample> {
        let lines = page.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let samples = lines
            .filter(|line| line.starts_with(&self.name))
            .filter_map(|line| self.sample_in(line));
        samples.reduce(|one, other| if other.value > one.value { other } else { one })
    }

    fn sample_in(&self, line: &str) -> Option<Sample> {
        let (name, labels, rest) = series_of(line)?;
        let fits = name == self.name
            && self
                .labels
                .iter()
                .all(|(label, value)| labels.get(label) == Some(value));
        if !fits {
            return None;
        }
        let mut words = rest.split_whitespace();
        Some(Sample {
            value: words.next()?.parse().ok()?,
            stamp_ms: words.next().and_then(|stamp| stamp.parse().ok()),
        })
    }

    /// What it says, and when that was, if the page tells.
    fn said(&self, page: &str) -> Result<Sample, String> {
        let sample = self
            .sample(page)
            .ok_or_else(|| format!("the answer has no series {} in a whole line", self.name))?;
        // NaN is the format's word for "no value".
        match sample.value.is_nan() {
            true => Err(format!("{} is NaN: it says nothing", self.name)),
            false => Ok(sample),
        }
    }
}

/// One number on a page, and the moment that stands behind it, where one does: milliseconds since 1970.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Sample {
    /// The number.
    pub value: f64,
    /// When it was so.
    pub stamp_ms: Option<i64>,
}

/// The greatest whole number that a double has exactly, and none above it.
const MOST: f64 = 9_007_199_254_740_992.0;

fn token_of(series: &Selector, sample: Sample) -> Result<u64, String> {
    let value = sample.value;
    if value.fract() != 0.0 || !(0.0..=MOST).contains(&value) {
        return Err(format!(
            "{} is {value}: a token is a whole number from 0 to 2^53 here",
            series.name
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole, not negative, and exact"
    )]
    Ok(value as u64)
}

/// Name, labels, and what comes after them.
fn series_of(line: &str) -> Option<(&str, BTreeMap<String, String>, &str)> {
    let end = line
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))
        .unwrap_or(line.len());
    let (name, mut rest) = line.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut labels = BTreeMap::new();
    rest = rest.trim_start();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside.trim_start();
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once('=')?;
            let mut chars = after.trim_start().strip_prefix('"')?.char_indices();
            let quoted = after.trim_start().strip_prefix('"')?;
            let mut value = String::new();
            let end = loop {
                match chars.next()? {
                    (_, '\\') => match chars.next()?.1 {
                        'n' => value.push('\n'),
                        other => value.push(other),
                    },
                    (at, '"') => break at + 1,
                    (_, other) => value.push(other),
                }
            };
            labels.insert(label.trim().to_owned(), value);
            rest = quoted[end..].trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        rest = &rest[1..];
    }
    Some((name, labels, rest))
}

/// Reads a belief out of a page of metrics.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadSeries {
    /// Not 0 while the owner believes to hold.
    pub holds: Selector,
    /// Its token.
    pub token: Option<Selector>,
}

impl ReadAnswer for ReadSeries {
    fn read(&self, body: &str) -> Result<Answer, String> {
        let holds = self.holds.said(body)?;
        let token = match &self.token {
            // A holder without a token is one that can't be told from another.
            Some(series) if holds.value != 0.0 => Some((series, series.said(body)?)),
            _ => None,
        };
        let stamps = [holds.stamp_ms, token.and_then(|(_, sample)| sample.stamp_ms)];
        Ok(Answer {
            holds: holds.value != 0.0,
            token: token.map(|(series, sample)| token_of(series, sample)).transpose()?,
            stamp_ms: stamps.into_iter().flatten().min(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP worker_held x\nworker_held 0\nworker_held_total 7\n\
        worker_held{lease=\"a\",other=\"x,\\\"}\"} 1 1700000000\nworker_token{lease=\"a\"} 4.1e1\n";

    #[test]
    fn series_ok() {
        for (text, value) in [
            ("worker_held{lease=\"a\"}", Some(1.0)),
            ("worker_held{other=\"x,\\\"}\"}", Some(1.0)),
            ("worker_held", Some(1.0)),
            ("worker_token{}", Some(41.0)),
            ("worker_held{lease=\"b\"}", None),
            ("worker", None),
        ] {
            let selector = Selector::parse(text).expect(text);
            assert_eq!(selector.sample(PAGE).map(|it| it.value), value, "{text}");
        }
        let reader = ReadSeries {
            holds: Selector::parse("worker_held{lease=\"a\"}").expect("a series"),
            token: Some(Selector::parse("worker_token").expect("a series")),
        };
        let answer = Answer {
            holds: true,
            token: Some(41),
            stamp_ms: Some(1_700_000_000),
        };
        assert_eq!(reader.read(PAGE), Ok(answer));
        assert!(reader.read("<html>").is_err());
    }

    /// Each of these was taken for "holds", with a token that nobody has.
    #[test]
    fn what_says_nothing_is_no_belief_bad() {
        let reader = ReadSeries {
            holds: Selector::parse("held").expect("a series"),
            token: Some(Selector::parse("token").expect("a series")),
        };
        for (page, says) in [
            ("held NaN\ntoken NaN\n", "held is NaN"),
            ("held 1\ntoken NaN\n", "token is NaN"),
            ("held 1\ntoken -1\n", "a token is a whole number"),
            ("held 1\ntoken 4.7\n", "a token is a whole number"),
            ("held 1\ntoken 1e300\n", "a token is a whole number"),
            ("held 1\ntoken 1", "no series token in a whole line"),
        ] {
            let why = reader.read(page).expect_err(page);
            assert!(why.contains(says), "{page}: {why}");
        }
    }

    #[test]
    fn series_bad() {
        for text in ["", "{a=\"b\"}", "a{b}", "a{b=\"c}", "a b", "9a", "a{b=c}"] {
            let says = Selector::parse(text).expect_err(text);
            assert!(says.contains("is no series"), "{says}");
        }
    }
}
