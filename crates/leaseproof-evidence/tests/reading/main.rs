//! What is read of what: never a crash, never a guess that looks like a fact.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod clocks;
mod files;
mod formats;
mod words;

use leaseproof_evidence::evidence::{Evidence, ProblemKind};
use leaseproof_evidence::input::Input;
use leaseproof_evidence::options::Options;
use leaseproof_evidence::read;
use std::sync::Arc;

fn bytes(name: &str, bytes: &[u8]) -> Input {
    Input::Bytes {
        name: Arc::from(name),
        bytes: Arc::from(bytes),
    }
}

fn text(content: &str) -> Evidence {
    read(&[bytes("a.log", content.as_bytes())], &Options::default())
}

fn kinds(evidence: &Evidence) -> Vec<ProblemKind> {
    evidence.problems.iter().map(|problem| problem.kind).collect()
}
