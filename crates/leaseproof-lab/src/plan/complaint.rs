//! A complaint about a plan: file, line and column, then what is wrong and what would be right.

use super::nearest::nearest;
use regex::Regex;
use std::ops::Range;
use std::path::Path;

/// A plan that is wrong: place and remedy in one message.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

/// The text that complaints point into.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub path: Option<&'a Path>,
    pub text: &'a str,
}

impl Place<'_> {
    /// A complaint about this part of the file; a value from the command line has no place in it.
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
    pub fn of_toml(&self, path: &Path, error: &toml::de::Error) -> PlanError {
        let start = error.span().map_or(0, |span| span.start);
        let message = without_passwords(error.message());
        let says = match self.remedy(start, &message) {
            Some(remedy) => format!("{message}: {remedy}"),
            None => message,
        };
        self.point(path, start, &says)
    }

    fn remedy(&self, start: usize, message: &str) -> Option<String> {
        let mut quoted = message.split('`').skip(1).step_by(2);
        if message.starts_with("unknown field") {
            let word = quoted.next()?;
            let meant = nearest(word, quoted)?;
            return Some(format!("did you mean `{meant}`?"));
        }
        let line = self.text.get(..start)?.rsplit('\n').next()?;
        let key = line.split('=').next()?.trim();
        let is_duration = ["ttl", "heartbeat", "worst_pause", "max_clock_drift", "renew_timeout"].contains(&key);
        (is_duration && message.starts_with("invalid type")).then(|| {
            let number = quoted.next().unwrap_or("3");
            format!("a duration is a text with a unit: write \"{number}ms\"")
        })
    }
}

/// `redis://user:password@host` without the password.
fn without_passwords(text: &str) -> String {
    match Regex::new(r"//[^/@\s]*@") {
        Ok(userinfo) => userinfo.replace_all(text, "//***@").into_owned(),
        Err(_) => text.to_owned(),
    }
}
