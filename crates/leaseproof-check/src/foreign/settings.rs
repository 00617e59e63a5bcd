//! A file of settings, flattened: dotted keys, values, lines. The formats differ, and what is looked for does not.

use super::{assignments, yaml};

/// A setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Its dotted path.
    pub key: String,
    /// Its value, without quotes.
    pub value: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// All settings of a file, in its order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    all: Vec<Setting>,
    /// Whether they are assignments, in which a value can be the name of another.
    pub(super) code: bool,
}

/// How keys are compared: without case, dashes and underscores. Dots still separate.
pub(super) fn plain(key: &str) -> String {
    key.chars()
        .filter(|c| !matches!(c, '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect()
}

impl Settings {
    /// Reads YAML, JSON, properties, flags, assignments, or Java's annotations.
    ///
    /// # Errors
    /// When it looks like YAML or JSON and is none.
    pub fn read(file: &str, text: &str) -> Result<Self, String> {
        let code = assignments::looks_like(text);
        let all = match code {
            true => assignments::read(text),
            false => yaml::read(file, text)?,
        };
        Ok(Self { all, code })
    }

    /// The settings that one of these names ends the path of.
    pub fn find<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a Setting> {
        self.all.iter().filter(|setting| {
            let key = plain(&setting.key);
            names.iter().map(|name| plain(name)).any(|name| {
                key.strip_suffix(&name)
                    .is_some_and(|before| before.is_empty() || before.ends_with('.'))
            })
        })
    }

    /// The one setting of these names.
    ///
    /// # Errors
    /// When it is there more than once with different values.
    pub fn one<'a>(&'a self, file: &str, names: &'a [&str]) -> Result<Option<&'a Setting>, String> {
        let mut found = self.find(names);
        let Some(first) = found.next() else { return Ok(None) };
        match found.find(|other| other.value != first.value) {
            None => Ok(Some(first)),
            Some(other) => Err(format!(
                "{file}:{}: {} is {} here, and {} is {} in line {}: leave one of them",
                other.line, other.key, other.value, first.key, first.value, first.line
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_ok() {
        let settings = Settings::read("f", "a:\n  lease-duration: 15s\nrenew_deadline: 10s\n").expect("YAML");
        for (name, line) in [("leaseDuration", 2), ("a.LeaseDuration", 2), ("renewDeadline", 3)] {
            assert_eq!(settings.find(&[name]).next().expect(name).line, line);
        }
        assert_eq!(settings.find(&["duration"]).next(), None);
    }

    #[test]
    fn one_bad() {
        let settings = Settings::read("f", "a: { ttl: 1 }\nb: { ttl: 2 }\n").expect("YAML");
        let says = settings.one("f", &["ttl"]).expect_err("two values");
        assert_eq!(
            says,
            "f:2: b.ttl is 2 here, and a.ttl is 1 in line 1: leave one of them"
        );
    }
}
