//! What is tested: any resource that takes a write with a token, and says yes or no.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// What a resource made of one write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It said yes.
    Accepted,
    /// It said no, in these words.
    Refused(String),
    /// It can't be told: no answer, or one that is neither.
    Unknown(String),
}

/// A resource.
pub trait Target: Sync {
    /// A new writer; the first, second and so on holder. It connects when it is used.
    fn writer(&self, holder: usize) -> Box<dyn Writer>;

    /// Whether writers can read what was written.
    fn reads(&self) -> bool;
}

/// One holder's way to the resource.
pub trait Writer: Send {
    /// Writes this value under this token.
    fn write(&mut self, token: u64, value: &str) -> Outcome;

    /// What the resource has now.
    ///
    /// # Errors
    /// When it doesn't say.
    fn read(&mut self) -> Result<String, String>;
}

/// A text with `{token}`, `{value}`, `{key}` and `{mark}` in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    text: String,
    key: String,
}

impl Template {
    /// A text for this run's key.
    #[must_use]
    pub fn new(text: &str, key: &str) -> Self {
        Self {
            text: text.to_owned(),
            key: key.to_owned(),
        }
    }

    /// Whether the text has this in it.
    #[must_use]
    pub fn has(&self, what: &str) -> bool {
        self.text.contains(what)
    }

    /// The text for one write. What is put in is digits, letters and dashes only: it needs no quoting anywhere.
    #[must_use]
    pub fn fill(&self, token: u64, value: &str) -> String {
        let text = self.text.replace("{token}", &token.to_string());
        self.fixed(&text.replace("{value}", value))
    }

    /// The text where nothing is written.
    #[must_use]
    pub fn plain(&self) -> String {
        self.fixed(&self.text)
    }

    fn fixed(&self, text: &str) -> String {
        // A run's own key can always have a mark.
        let mark = crate::redis::mark_of(&self.key).unwrap_or_default();
        text.replace("{mark}", &mark).replace("{key}", &self.key)
    }
}

/// A key that nobody else has: a test must not raise the mark of a resource in use.
#[must_use]
pub fn scratch_key() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("leaseproof-{:x}-{:x}-{count}", now.as_micros(), std::process::id())
}
