//! The fence in Redis: a library of functions (7.0 and later), or a script for EVAL (before). Pure text.
//!
//! The mark is a key of its own beside the fenced key, in the same slot, and never expires: there is no time after
//! which a holder that was paused can't come back. Only what keeps it makes it hold: see docs/gate.md.

use thiserror::Error;

/// What all of them share.
const FENCE: &str = include_str!("fence.lua");

/// A command that is fenced.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Fenced {
    /// SET.
    Set,
    /// DEL.
    Del,
    /// HSET.
    Hset,
}

impl Fenced {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Set, Self::Del, Self::Hset];

    /// `set`, `del`, `hset`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Del => "del",
            Self::Hset => "hset",
        }
    }

    /// What is given after the token.
    #[must_use]
    pub fn arguments(self) -> &'static str {
        match self {
            Self::Set => "VALUE [PX MILLISECONDS]",
            Self::Del => "",
            Self::Hset => "FIELD VALUE [FIELD VALUE ...]",
        }
    }
}

/// The library: `redis-cli -x FUNCTION LOAD REPLACE`.
#[must_use]
pub fn library() -> String {
    let mut text = format!("#!lua name=leaseproof\n{FENCE}\n");
    for it in Fenced::ALL {
        let name = it.as_str();
        text.push_str(&format!("redis.register_function('fenced_{name}', fenced_{name})\n"));
    }
    text
}

/// What takes it away again; the marks stay.
pub const UNDO: &str = "FUNCTION DELETE leaseproof\n";

/// A script for EVAL.
#[must_use]
pub fn script(fenced: Fenced) -> String {
    format!("{FENCE}\nreturn fenced_{}(KEYS, ARGV)\n", fenced.as_str())
}

/// A key that can't be fenced.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum NoMark {
    /// It has no hash tag, and one can't be put around it.
    #[error("`{0}` has a closing brace and no hash tag: no other key can be put in its slot; rename it")]
    Brace(String),
    /// It looks like a mark.
    #[error("`{0}` ends in :fence, as marks do: rename it")]
    Mark(String),
}

/// The key of the mark of a key: in the same slot of a cluster.
///
/// # Errors
/// When there can't be one.
pub fn mark_of(key: &str) -> Result<String, NoMark> {
    if key.ends_with(":fence") {
        return Err(NoMark::Mark(key.to_owned()));
    }
    let tagged = key
        .split_once('{')
        .and_then(|(_, rest)| rest.find('}'))
        .is_some_and(|length| length > 0);
    if tagged {
        return Ok(format!("{key}:fence"));
    }
    if key.contains('}') {
        return Err(NoMark::Brace(key.to_owned()));
    }
    Ok(format!("{{{key}}}:fence"))
}
