//! A complaint about a plan: file, line and column, then what is wrong and what would be right.

use super::nearest::nearest;
use regex::Regex;
use std::ops::Range;
use std::path::Path;

/// The keys whose values are durations.
const DURATIONS: [&str; 12] = [
    "ttl",
    "heartbeat",
    "worst_pause",
    "max_clock_drift",
    "renew_timeout",
    "interval",
    "worst_window",
    "rescan",
    "keepalive",
    "user_timeout",
    "idle_timeout",
    "pool_max_idle",
];

/// A plan that is wrong: place and remedy in one message.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

/// The text that complaints point into.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The file; none for what was given on the command line.
    pub path: Option<&'a Path>,
    /// What is in it.
    pub text: &'a str,
}

impl Place<'_> {
    /// The line of a place in the text, counted from 1; none for a value without a place.
    #[must_use]
    pub fn line(&self, span: &Range<usize>) -> Option<usize> {
        let before = self.text.get(..span.start).filter(|_| !span.is_empty())?;
        Some(before.matches('\n').count() + 1)
    }

    /// A complaint about this part of the file; a value from the command line has no place in it.
    #[must_use]
    pub fn at(&self, span: Range<usize>, says: &str) -> PlanError {
        match self.path {
            Some(path) if span.end > span.start && span.end <= self.text.len() => self.point(path, span.start, says),
            _ => PlanError(says.to_owned()),
        }
    }

    fn point(&self, path: &Path, start: usize, says: &str) -> PlanError {
        let before = self.text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
        PlanError(format!("{}:{line}:{column}: {says}", path.display()))
    }

    /// What the TOML reader complains about, with the place in front and a remedy behind. Its own picture
    /// of the line is left out: the line may hold a password.
    #[must_use]
    pub fn of_toml(&self, path: &Path, error: &toml::de::Error) -> PlanError {
        let start = error.span().map_or(0, |span| span.start);
        let message = without_passwords(error.message());
        let says = self.nearest_name(&message).or_else(|| self.of_type(start, &message));
        self.point(path, start, &says.unwrap_or(message))
    }

    fn nearest_name(&self, message: &str) -> Option<String> {
        let mut quoted = message.split('`').skip(1).step_by(2);
        if !message.starts_with("unknown field") {
            return None;
        }
        let word = quoted.next()?;
        let meant = nearest(word, quoted)?;
        Some(format!("{message}: did you mean `{meant}`?"))
    }

    /// A value of another type: what to write, in the words of the file and not of its reader.
    fn of_type(&self, start: usize, message: &str) -> Option<String> {
        let (got, expected) = message.strip_prefix("invalid ")?.rsplit_once(", expected ")?;
        let line = self.text.get(..start)?.rsplit('\n').next()?;
        let key = line.split('=').next()?.trim();
        let text = got.split_once("string \"").and_then(|(_, rest)| rest.strip_suffix('"'));
        let bare = got.split('`').nth(1);
        let is_duration = DURATIONS.contains(&key);
        let remedy = match expected {
            _ if is_duration => format!(
                "a duration is a text with a unit: write \"{}ms\"",
                bare.unwrap_or("3000")
            ),
            "a sequence" => format!("write a list: {}", list(key, text.unwrap_or("…"))),
            "u32" | "u64" | "usize" => match text.filter(|it| it.parse::<u64>().is_ok()) {
                Some(number) => format!("write a whole number without quotes: {number}"),
                None => "write a whole number, such as 3".to_owned(),
            },
            "a boolean" => match text.filter(|it| ["true", "false"].contains(it)) {
                Some(answer) => format!("write true or false without quotes: {answer}"),
                None => "write true or false".to_owned(),
            },
            "f64" => "write a number without quotes, such as 0.1".to_owned(),
            "a string" => match bare {
                Some(value) => format!("write a text in quotes: \"{value}\""),
                None => "write one text in quotes".to_owned(),
            },
            it if it.starts_with("struct WatchOwner") => "write a table: { log = \"FILE\" }".to_owned(),
            it if it.starts_with("struct ") || it == "a map" => format!("write a table: [{key}]"),
            _ => return None,
        };
        Some(format!("{key}: {remedy}"))
    }
}

/// A text as the list that it was meant to be: a command's words, or names with commas between them.
fn list(key: &str, text: &str) -> String {
    let ends_word = |c: char| c.is_whitespace() || (key != "command" && c == ',');
    let words = text.split(ends_word).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
    format!("[{}]", words.join(", "))
}

/// `redis://user:password@host` without the password.
fn without_passwords(text: &str) -> String {
    match Regex::new(r"//[^/@\s]*@") {
        Ok(userinfo) => userinfo.replace_all(text, "//***@").into_owned(),
        Err(_) => text.to_owned(),
    }
}
