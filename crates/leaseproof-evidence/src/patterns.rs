//! The user's own expressions for lines, out of the plan: `[diagnose.owner]` and `[diagnose.resource]`.

use regex::Regex;
use std::fmt;

/// An expression that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{name}` is no regular expression: {says} (column {column} of it)")]
pub struct PatternError {
    /// Its name in the plan.
    pub name: String,
    /// What is wrong.
    pub says: String,
    /// Where in the expression, in characters from 1. The plan's reader adds the line that it begins on.
    pub column: usize,
    /// Which line of the expression, from 1.
    pub line: usize,
}

/// What an owner's line says that an expression finds.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OwnerLine {
    /// `waiting`.
    Waiting,
    /// `acquired`.
    Acquired,
    /// `renewed`.
    Renewed,
    /// `renew_failed`.
    RenewFailed,
    /// `lost`.
    Lost,
    /// `released`.
    Released,
    /// `held`: it says that it holds the lease.
    Held,
    /// `write`.
    Write,
    /// `write_refused`.
    WriteRefused,
}

impl OwnerLine {
    /// All of them, by their names in the plan.
    pub const ALL: [(&'static str, Self); 9] = [
        ("waiting", Self::Waiting),
        ("acquired", Self::Acquired),
        ("renewed", Self::Renewed),
        ("renew_failed", Self::RenewFailed),
        ("lost", Self::Lost),
        ("released", Self::Released),
        ("held", Self::Held),
        ("write", Self::Write),
        ("write_refused", Self::WriteRefused),
    ];

    /// By its name in the plan.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, line)| *line)
    }
}

/// What a line of the protected resource says.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ResourceLine {
    /// `write`: it came; what became of it the line does not say, but for a group `status` or `accepted`.
    Write,
    /// `accepted`.
    Accepted,
    /// `rejected`.
    Rejected,
}

impl ResourceLine {
    /// By its name in the plan.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "write" => Some(Self::Write),
            "accepted" => Some(Self::Accepted),
            "rejected" => Some(Self::Rejected),
            _ => None,
        }
    }
}

/// The user's expressions. Groups named `token`, `key`, `holder`, `reason`, `sender`, `status` and `ttl` are read.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    pub(crate) owner: Vec<(OwnerLine, Regex)>,
    pub(crate) resource: Vec<(ResourceLine, Regex)>,
    pub(crate) token_path: Option<Vec<String>>,
}

impl Patterns {
    /// An expression for an owner's lines.
    ///
    /// # Errors
    /// Where it is no regular expression: what is wrong, and at which column.
    pub fn owner(&mut self, line: OwnerLine, name: &str, pattern: &str) -> Result<(), PatternError> {
        self.owner.push((line, compile(name, pattern)?));
        Ok(())
    }

    /// An expression for the resource's lines.
    ///
    /// # Errors
    /// As for [`Patterns::owner`].
    pub fn resource(&mut self, line: ResourceLine, name: &str, pattern: &str) -> Result<(), PatternError> {
        self.resource.push((line, compile(name, pattern)?));
        Ok(())
    }

    /// Where the token is in the resource's JSON lines: `lease.token`, `$.headers.x-token`.
    pub fn token_path(&mut self, path: &str) {
        let path = path.trim_start_matches('$').trim_start_matches('.');
        self.token_path = Some(path.split('.').map(str::to_owned).collect());
    }
}

fn compile(name: &str, pattern: &str) -> Result<Regex, PatternError> {
    Regex::new(pattern).map_err(|error| {
        let (line, column, says) = match regex_syntax::parse(pattern) {
            Err(regex_syntax::Error::Parse(error)) => place(error.span(), &error.kind()),
            Err(regex_syntax::Error::Translate(error)) => place(error.span(), &error.kind()),
            _ => (1, 1, error.to_string()),
        };
        PatternError {
            name: name.to_owned(),
            says,
            column,
            line,
        }
    })
}

fn place(span: &regex_syntax::ast::Span, kind: &dyn fmt::Display) -> (usize, usize, String) {
    (span.start.line, span.start.column, kind.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_ok() {
        let mut patterns = Patterns::default();
        patterns
            .owner(OwnerLine::Acquired, "acquired", r"got it, token (?P<token>\d+)")
            .expect("an expression");
        patterns.token_path("$.lease.token");
        assert_eq!(patterns.token_path, Some(vec!["lease".to_owned(), "token".to_owned()]));
        assert_eq!(OwnerLine::named("renew_failed"), Some(OwnerLine::RenewFailed));
    }

    #[test]
    fn expressions_bad() {
        for (pattern, column) in [("(abc", 1), ("abc[", 4), (r"x\y", 2), ("a{2,1}", 2)] {
            let error = Patterns::default()
                .owner(OwnerLine::Lost, "lost", pattern)
                .expect_err(pattern);
            assert_eq!(error.column, column, "{pattern}: {error}");
        }
        assert_eq!(OwnerLine::named("renewing"), None);
    }
}
