//! What must not be written: passwords, taken out of everything that an owner prints.

use leaseproof_model::event::Said;

/// What stands in a secret's place.
const STARS: &str = "***";

/// The secrets of a run.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// These secrets, as they stand in a URL and as they are meant.
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut all = Vec::new();
        for secret in secrets {
            let plain = percent_encoding::percent_decode_str(&secret)
                .decode_utf8_lossy()
                .into_owned();
            all.extend([secret, plain].into_iter().filter(|it| !it.is_empty()));
        }
        // The longest first: one may be a part of another.
        all.sort_by_key(|it| std::cmp::Reverse(it.len()));
        all.dedup();
        Self(all)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without them.
    #[must_use]
    pub fn out_of(&self, text: &str) -> String {
        self.0
            .iter()
            .fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), STARS))
    }

    /// The bytes without them, which need not be text.
    #[must_use]
    pub fn out_of_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.iter().fold(bytes.to_vec(), |bytes, secret| {
            let secret = secret.as_bytes();
            let mut out = Vec::with_capacity(bytes.len());
            let mut rest = bytes.as_slice();
            while let Some(found) = rest.windows(secret.len()).position(|window| window == secret) {
                out.extend_from_slice(&rest[..found]);
                out.extend_from_slice(STARS.as_bytes());
                rest = &rest[found + secret.len()..];
            }
            out.extend_from_slice(rest);
            out
        })
    }

    /// What an owner said, without them. Numbers stay: they are what is judged.
    #[must_use]
    pub fn out_of_said(&self, said: Said) -> Said {
        if self.is_empty() {
            return said;
        }
        let out_of = |text: Option<String>| text.map(|text| self.out_of(&text));
        Said {
            thread: out_of(said.thread),
            grant: out_of(said.grant),
            reason: out_of(said.reason),
            ..said
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_ok() {
        let secrets = Secrets::new(["p%40ss".to_owned(), String::new()]);
        assert_eq!(secrets.out_of("redis://:p%40ss@h p@ss"), "redis://:***@h ***");
        assert_eq!(secrets.out_of_bytes(b"\xffp@ss\x00p%40ss"), b"\xff***\x00***");
        assert!(Secrets::new([String::new()]).is_empty());
    }

    #[test]
    fn secrets_bad() {
        let secrets = Secrets::new(["p%40ss".to_owned()]);
        for text in ["", "p", "p@s", "pass"] {
            assert_eq!(secrets.out_of(text), text);
            assert_eq!(secrets.out_of_bytes(text.as_bytes()), text.as_bytes());
        }
    }
}
