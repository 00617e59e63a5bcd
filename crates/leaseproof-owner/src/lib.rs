//! The reference owner: sound by default, broken in one known way by a flaw.
