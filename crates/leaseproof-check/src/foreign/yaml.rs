//! YAML, and JSON, which is YAML too: from the parser's events straight to settings with lines.

use super::assignments::flags;
use super::settings::Setting;
use saphyr_parser::{Event, Parser};

/// A container that is open.
enum Open {
    Map { path: String, key: Option<String> },
    List { path: String, next: usize },
}

impl Open {
    /// The path of the next thing in it, which it is then past.
    fn child(&mut self) -> Option<String> {
        match self {
            Self::Map { path, key } => key.take().map(|key| join(path, &key)),
            Self::List { path, next } => {
                *next += 1;
                Some(join(path, &(*next - 1).to_string()))
            }
        }
    }
}

fn join(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}

/// The settings of all documents in the text.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<Setting>, String> {
    let mut parser = Parser::new_from_str(text);
    let (mut settings, mut open) = (Vec::new(), Vec::<Open>::new());
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            let place = error.marker();
            format!(
                "{file}:{}:{}: it is neither YAML nor JSON: {}",
                place.line(),
                place.col() + 1,
                error.info()
            )
        })?;
        let line = span.start.line();
        match event {
            Event::Scalar(value, ..) => scalar(&mut settings, open.last_mut(), value.into_owned(), line),
            // What it stands for was given elsewhere; where it matters, its value will be no number.
            Event::Alias(_) => scalar(&mut settings, open.last_mut(), "an alias".to_owned(), line),
            Event::MappingStart(..) => {
                let path = within(file, line, open.last_mut())?;
                open.push(Open::Map { path, key: None });
            }
            Event::SequenceStart(..) => {
                let path = within(file, line, open.last_mut())?;
                open.push(Open::List { path, next: 0 });
            }
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {}
        }
    }
    Ok(settings)
}

fn within(file: &str, line: usize, open: Option<&mut Open>) -> Result<String, String> {
    match open {
        None => Ok(String::new()),
        Some(open) => open
            .child()
            .ok_or_else(|| format!("{file}:{line}: a mapping or a list stands for a key: no settings look like that")),
    }
}

fn scalar(settings: &mut Vec<Setting>, open: Option<&mut Open>, value: String, line: usize) {
    match open {
        Some(Open::Map { key: key @ None, .. }) => *key = Some(value),
        // The arguments of a container.
        Some(Open::List { .. }) if value.starts_with("--") => {
            settings.extend(flags(&value).map(|(key, value)| Setting { key, value, line }));
        }
        Some(open) => {
            let Some(key) = open.child() else { return };
            // A file within the file: Spring's `config: |`, a ConfigMap's.
            let inner = match value.contains('\n') {
                true => read("", &value).unwrap_or_default(),
                false => Vec::new(),
            };
            settings.extend(inner.into_iter().map(|it| Setting {
                key: join(&key, &it.key),
                // It begins in the line of its own first.
                line: line + it.line - 1,
                ..it
            }));
            settings.push(Setting { key, value, line });
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_ok() {
        let seen: Vec<String> = read(
            "f",
            "a:\n  b: 1\n  c: [x, 'y']\n---\nargs:\n- --lease=15s --retry 2s\nd: !<t> {}\n\"e\": \"5\"\n",
        )
        .expect("YAML")
        .into_iter()
        .map(|it| format!("{}={}@{}", it.key, it.value, it.line))
        .collect();
        assert_eq!(
            seen,
            [
                "a.b=1@2",
                "a.c.0=x@3",
                "a.c.1=y@3",
                "lease=15s@6",
                "retry=2s@6",
                "e=5@8"
            ]
        );
    }

    #[test]
    fn read_bad() {
        for text in ["{ \"a\": 1", "a: [1, 2", "a: b: c", "? {a: 1}\n: 2", "a: \"x"] {
            let says = read("f", text).expect_err(text);
            assert!(says.starts_with("f:"), "{says}");
        }
    }
}
