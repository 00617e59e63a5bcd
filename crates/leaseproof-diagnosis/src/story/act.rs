//! What was done as the holder: writes begun, renewals claimed, statements.

use super::Story;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{Decision, OwnerSays, ResourceSays, Says};
use leaseproof_model::name::Token;

/// What kind of act.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ActKind {
    /// A write at the resource, by the resource's word.
    WriteSeen(Decision),
    /// A write, by the owner's word.
    WriteSaid,
    /// A renewal that succeeded, by the owner's word.
    Renewed,
    /// A statement that it holds the lease.
    Believes,
}

/// One act.
#[derive(Copy, Clone, Debug)]
pub struct Act<'e> {
    /// The line.
    pub by: &'e Record,
    /// What kind.
    pub kind: ActKind,
    /// The token that it carries.
    pub token: Option<Token>,
    /// Whose it is.
    pub owner: Option<usize>,
}

/// The acts, in the order of the records.
#[must_use]
pub fn acts<'e>(story: &Story<'e>) -> Vec<Act<'e>> {
    let mut acts = Vec::new();
    for (index, owner) in story.owners.iter().enumerate() {
        let mut token = None;
        for record in &owner.says {
            let Says::Owner(said) = &record.says else { continue };
            if let OwnerSays::Acquired { token: given, .. } = said {
                token = *given;
            }
            let (kind, named) = match said {
                OwnerSays::Wrote { token, .. } => (ActKind::WriteSaid, *token),
                OwnerSays::Renewed { token, .. } => (ActKind::Renewed, *token),
                OwnerSays::BelievesHeld { token, .. } => (ActKind::Believes, *token),
                _ => continue,
            };
            acts.push(Act {
                by: record,
                kind,
                token: named.or(token),
                owner: Some(index),
            });
        }
    }
    for record in story.of(SourceKind::Resource) {
        let Says::Resource(ResourceSays::Write {
            token,
            decision,
            sender,
            ..
        }) = &record.says
        else {
            continue;
        };
        let by_token = token.and_then(|token| {
            story
                .owners
                .iter()
                .position(|owner| owner.tokens.contains(&token))
                .or_else(|| story.grants.iter().find(|grant| grant.token == Some(token))?.owner)
        });
        let by_name = || {
            let sender = sender.as_deref()?;
            story.owners.iter().position(|owner| owner.answers_to(sender))
        };
        acts.push(Act {
            by: record,
            kind: ActKind::WriteSeen(*decision),
            token: *token,
            owner: by_token.or_else(by_name),
        });
    }
    acts
}
