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

    /// Its value on a page of metrics. Where several series have these labels, the greatest.
    #[must_use]
    pub fn value(&self, page: &str) -> Option<f64> {
        let lines = page.lines().filter(|line| line.starts_with(&self.name));
        lines.filter_map(|line| self.value_in(line)).reduce(f64::max)
    }

    fn value_in(&self, line: &str) -> Option<f64> {
        let (name, labels, rest) = series_of(line)?;
        let fits = name == self.name
            && self
                .labels
                .iter()
                .all(|(label, value)| labels.get(label) == Some(value));
        if !fits {
            return None;
        }
        rest.split_whitespace().next()?.parse().ok()
    }
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
        let holds = self
            .holds
            .value(body)
            .ok_or_else(|| format!("the answer has no series {}", self.holds.name))?;
        let token = match &self.token {
            // A holder without a token is one that can't be told from another.
            Some(token) if holds != 0.0 => Some(
                token
                    .value(body)
                    .ok_or_else(|| format!("the answer has no series {}", token.name))?,
            ),
            _ => None,
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast of a double saturates, and the format has nothing else"
        )]
        Ok(Answer {
            holds: holds != 0.0,
            token: token.map(|token| token as u64),
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
            assert_eq!(selector.value(PAGE), value, "{text}");
        }
        let reader = ReadSeries {
            holds: Selector::parse("worker_held{lease=\"a\"}").expect("a series"),
            token: Some(Selector::parse("worker_token").expect("a series")),
        };
        let answer = Answer {
            holds: true,
            token: Some(41),
        };
        assert_eq!(reader.read(PAGE), Ok(answer));
        assert!(reader.read("<html>").is_err());
    }

    #[test]
    fn series_bad() {
        for text in ["", "{a=\"b\"}", "a{b}", "a{b=\"c}", "a b", "9a", "a{b=c}"] {
            let says = Selector::parse(text).expect_err(text);
            assert!(says.contains("is no series"), "{says}");
        }
    }
}
