//! One line of an owner's output → what it says about itself. Never fails: what is no event line is chatter.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{OwnerEvent, Said};
use leaseproof_model::name::Token;
use regex::Regex;
use serde_json::Value;

/// Regular expressions for owners that print no JSON, in the order in which they are tried.
#[derive(Clone, Debug, Default)]
pub struct LinePatterns(Vec<(OwnerEvent, Regex)>);

impl LinePatterns {
    /// Adds one.
    ///
    /// # Errors
    /// The regular expression's own complaint, without its picture of the pattern.
    pub fn add(&mut self, event: OwnerEvent, pattern: &str) -> Result<(), String> {
        let compiled = Regex::new(pattern).map_err(|error| {
            let whole = error.to_string();
            let last = whole.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        })?;
        self.0.push((event, compiled));
        Ok(())
    }
}

/// What a line says, if it is an event line.
#[must_use]
pub fn parse_line(line: &str, patterns: &LinePatterns) -> Option<Said> {
    let trimmed = line.trim();
    if trimmed.starts_with('{')
        && let Some(said) = parse_json(trimmed)
    {
        return Some(said);
    }
    patterns.0.iter().find_map(|(event, pattern)| {
        let found = pattern.captures(trimmed)?;
        let group = |name: &str| found.name(name).map(|it| it.as_str().to_owned());
        Some(Said {
            token: group("token").and_then(|text| text.parse().ok()).map(Token),
            thread: group("thread"),
            grant: group("grant"),
            reason: group("reason"),
            ..said(*event)
        })
    })
}

fn said(event: OwnerEvent) -> Said {
    Said {
        event,
        token: None,
        boot: None,
        wall_ns: None,
        valid_until: None,
        thread: None,
        grant: None,
        attempt: None,
        reason: None,
        definite: None,
    }
}

fn parse_json(line: &str) -> Option<Said> {
    let value: Value = serde_json::from_str(line).ok()?;
    let event = serde_json::from_value(value.get("lease")?.clone()).ok()?;
    let text = |name: &str| match value.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let number = |name: &str| text(name)?.parse::<u64>().ok();
    Some(Said {
        token: number("token").map(Token),
        boot: number("boot_ns").map(BootNanos),
        wall_ns: text("wall_ns").and_then(|it| it.parse().ok()),
        valid_until: number("valid_until_boot_ns").map(BootNanos),
        thread: text("thread"),
        grant: text("grant"),
        attempt: number("attempt"),
        reason: text("reason"),
        definite: value.get("definite").and_then(Value::as_bool),
        ..said(event)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_lines_ok() {
        let none = LinePatterns::default();
        let said = parse_line(r#" {"lease":"acquired","token":41,"boot_ns":7,"thread":3} "#, &none).expect("an event");
        assert_eq!(
            (said.event, said.token, said.boot),
            (OwnerEvent::Acquired, Some(Token(41)), Some(BootNanos(7)))
        );
        assert_eq!(said.thread.as_deref(), Some("3"));
        let mut patterns = LinePatterns::default();
        patterns
            .add(OwnerEvent::Lost, r"lost it: (?P<reason>.*)")
            .expect("a pattern");
        let said = parse_line("12:00 lost it: frozen", &patterns).expect("an event");
        assert_eq!((said.event, said.reason.as_deref()), (OwnerEvent::Lost, Some("frozen")));
    }

    #[test]
    fn event_lines_bad() {
        let none = LinePatterns::default();
        for line in [
            "",
            "hello",
            "{",
            r#"{"lease":"dancing"}"#,
            r#"{"token":4}"#,
            "{\"lease\":[]}",
            "\u{0}\u{1}",
        ] {
            assert_eq!(parse_line(line, &none), None, "{line:?}");
        }
        assert!(LinePatterns::default().add(OwnerEvent::Lost, "(").is_err());
    }
}
