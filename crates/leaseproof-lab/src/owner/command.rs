//! The owner's command line and environment: the contract's placeholders and variables.

use std::collections::BTreeMap;

/// The values that a command's arguments and environment are filled with.
#[derive(Clone, Debug)]
pub struct Placeholders {
    /// The store's URL, which may point at a relay.
    pub store: String,
    /// Its host, where it has one.
    pub store_host: String,
    /// Its port, where it has one.
    pub store_port: String,
    /// The lease key.
    pub key: String,
    /// The TTL in ms.
    pub ttl_ms: u128,
    /// The heartbeat in ms.
    pub heartbeat_ms: u128,
    /// How long a renewal may take, in ms.
    pub renew_timeout_ms: u128,
    /// A name unique to this owner process.
    pub owner: String,
    /// The witness's base URL for this owner.
    pub resource: String,
}

impl Placeholders {
    /// The command with `{key}` and the others replaced.
    #[must_use]
    pub fn fill(&self, command: &[String]) -> Vec<String> {
        // Rounded up: a client that takes whole seconds must not get a shorter TTL than the plan's.
        let ttl_s = self.ttl_ms.div_ceil(1000).to_string();
        let pairs: [(&str, &str); 9] = [
            ("{store}", &self.store),
            ("{store_host}", &self.store_host),
            ("{store_port}", &self.store_port),
            ("{key}", &self.key),
            ("{ttl_ms}", &self.ttl_ms.to_string()),
            ("{ttl_s}", &ttl_s),
            ("{heartbeat_ms}", &self.heartbeat_ms.to_string()),
            ("{owner}", &self.owner),
            ("{resource}", &self.resource),
        ];
        command.iter().map(|word| replace_once(word, &pairs)).collect()
    }

    /// The contract's variables.
    #[must_use]
    pub fn environment(&self) -> BTreeMap<String, String> {
        [
            ("LEASEPROOF_STORE", self.store.clone()),
            ("LEASEPROOF_KEY", self.key.clone()),
            ("LEASEPROOF_TTL_MS", self.ttl_ms.to_string()),
            ("LEASEPROOF_HEARTBEAT_MS", self.heartbeat_ms.to_string()),
            ("LEASEPROOF_RENEW_TIMEOUT_MS", self.renew_timeout_ms.to_string()),
            ("LEASEPROOF_OWNER", self.owner.clone()),
            ("LEASEPROOF_RESOURCE", self.resource.clone()),
            // Python would block-buffer a pipe, and its events would arrive kilobytes late.
            ("PYTHONUNBUFFERED", "1".to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
    }
}

/// Replaces left to right in one pass, so that a value that looks like a placeholder stays as it is.
fn replace_once(word: &str, pairs: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        match pairs.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                out.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_replaced_again() {
        let pairs = [("{key}", "a{owner}"), ("{owner}", "b")];
        assert_eq!(replace_once("x{key}-{owner}{nope}{", &pairs), "xa{owner}-b{nope}{");
    }
}
