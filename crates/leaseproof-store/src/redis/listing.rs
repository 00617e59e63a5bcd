//! The leases below a prefix, by SCAN: bounded steps, and nothing that blocks the server.

use crate::Listing;
use crate::error::StoreError;
use crate::patience::Patience;
use crate::redis::client::Client;
use crate::redis::server::{refusal, text};
use crate::url::{Place, Way};
use redis::{Value, pipe};
use std::collections::BTreeSet;
use std::time::Duration;

/// How many keys the server looks at in one step.
const STEP: usize = 1000;

/// How many steps at most: two million keys of a shared server are passed over.
const STEPS: usize = 2000;

/// Each step has the whole time-out.
pub(super) fn leases_below(
    client: &mut Client,
    timeout: Duration,
    prefix: &str,
    most: usize,
) -> Result<Listing, StoreError> {
    let mut found = BTreeSet::new();
    let mut not_text = 0;
    let mut more = false;
    let literal = literally(prefix);
    let patterns = match client.url().way {
        // The counter of a lease may begin with a brace.
        Way::Cluster => vec![format!("{literal}*"), format!("{{{literal}*")],
        _ => vec![format!("{literal}*")],
    };
    for place in client.servers(&mut Patience::new(timeout))? {
        for pattern in &patterns {
            more |= below_at(
                client,
                timeout,
                &place,
                (prefix, pattern),
                most,
                (&mut found, &mut not_text),
            )?;
        }
    }
    Ok(Listing {
        more: more || found.len() > most,
        keys: found.into_iter().take(most).collect(),
        not_text,
    })
}

/// What one server has of a pattern; whether it may have more.
fn below_at(
    client: &mut Client,
    timeout: Duration,
    place: &Place,
    (prefix, pattern): (&str, &str),
    most: usize,
    (found, not_text): (&mut BTreeSet<String>, &mut u64),
) -> Result<bool, StoreError> {
    let mut cursor = "0".to_owned();
    for _ in 0..STEPS {
        let mut question = pipe();
        question
            .cmd("SCAN")
            .arg(&cursor)
            .arg("MATCH")
            .arg(pattern)
            .arg("COUNT")
            .arg(STEP);
        let answers = client
            .ask_at(place, &question, &mut Patience::new(timeout))
            .map_err(|failed| failed.into_error())?;
        let (next, keys) = match answers.first() {
            Some(Value::Array(parts)) => match &parts[..] {
                [next, Value::Array(keys)] => (text(next).unwrap_or_default(), keys),
                _ => return Err(StoreError::Unexpected(format!("{answers:?} for SCAN"))),
            },
            Some(Value::ServerError(error)) => return Err(refusal(client.url(), error)),
            _ => return Err(StoreError::Unexpected(format!("{answers:?} for SCAN"))),
        };
        for key in keys {
            match key {
                // A counter outlives its lease, and is a trace of it.
                Value::BulkString(bytes) => match std::str::from_utf8(client.counted(bytes).unwrap_or(bytes)) {
                    Ok(key) if key.starts_with(prefix) => {
                        found.insert(key.to_owned());
                    }
                    Ok(_) => {}
                    Err(_) => *not_text += 1,
                },
                _ => *not_text += 1,
            }
            // The first of the whole are not known before the end, so that any of them will do.
            if found.len() > most {
                return Ok(true);
            }
        }
        if next == "0" {
            return Ok(false);
        }
        cursor = next;
    }
    Ok(true)
}

/// The prefix with nothing in it that SCAN takes for a pattern.
fn literally(prefix: &str) -> String {
    let mut pattern = String::with_capacity(prefix.len());
    for c in prefix.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\' | '^') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_no_pattern() {
        assert_eq!(literally("a*b[c]?\\"), "a\\*b\\[c\\]\\?\\\\");
    }
}
