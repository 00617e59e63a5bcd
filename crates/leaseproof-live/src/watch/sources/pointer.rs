//! A belief in a JSON document, found by JSON pointers.

use crate::watch::settings::{Answer, ReadAnswer};
use serde_json::Value;

/// Reads a belief out of a JSON document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadPointers {
    /// Where it says whether the owner believes to hold: true or false, or a number.
    pub holds: String,
    /// Where its token is.
    pub token: Option<String>,
}

impl ReadAnswer for ReadPointers {
    fn read(&self, body: &str) -> Result<Answer, String> {
        let document: Value = serde_json::from_str(body).map_err(|error| format!("the answer is no JSON: {error}"))?;
        let at = |pointer: &str| {
            document
                .pointer(pointer)
                .ok_or_else(|| format!("the answer has nothing at {pointer}"))
        };
        let holds = match at(&self.holds)? {
            Value::Bool(holds) => *holds,
            Value::Number(number) => number.as_f64() != Some(0.0),
            other => return Err(format!("{} is {other}: true or false is needed", self.holds)),
        };
        let token = match &self.token {
            Some(pointer) if holds => Some(match at(pointer)? {
                Value::Number(number) => number.as_u64(),
                Value::String(text) => text.parse().ok(),
                _ => None,
            })
            .map(|token| token.ok_or_else(|| format!("{pointer} is no whole number")))
            .transpose()?,
            _ => None,
        };
        Ok(Answer {
            holds,
            token,
            stamp_ms: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Answer, String> {
        let reader = ReadPointers {
            holds: "/lease/held".to_owned(),
            token: Some("/lease/token".to_owned()),
        };
        reader.read(body)
    }

    #[test]
    fn documents_ok() {
        for (body, holds, token) in [
            (r#"{"lease":{"held":true,"token":7}}"#, true, Some(7)),
            (
                r#"{"lease":{"held":1,"token":"9007199254740993"}}"#,
                true,
                Some(9_007_199_254_740_993),
            ),
            (r#"{"lease":{"held":false}}"#, false, None),
            (r#"{"lease":{"held":0,"token":null}}"#, false, None),
        ] {
            assert_eq!(
                read(body),
                Ok(Answer {
                    holds,
                    token,
                    stamp_ms: None
                }),
                "{body}"
            );
        }
    }

    #[test]
    fn documents_bad() {
        for body in [
            "",
            "<html>",
            "{}",
            r#"{"lease":{"held":"yes"}}"#,
            r#"{"lease":{"held":true}}"#,
            r#"{"lease":{"held":true,"token":-1}}"#,
        ] {
            assert!(read(body).is_err(), "{body}");
        }
    }
}
