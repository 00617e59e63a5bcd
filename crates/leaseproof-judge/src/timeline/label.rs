//! Grants and their holders as people read them in a sentence: by the owner's name, where that is known.

use super::{By, Grant, Timeline};

impl Timeline<'_> {
    /// Who has the grant: its owner's name, the lab, or what the store has as its holder.
    pub(crate) fn holder(&self, grant: &Grant<'_>) -> String {
        match grant.by {
            By::Owner(owner) => self.owners[owner].name.to_string(),
            By::Lab => "the lab".to_owned(),
            By::Unknown => grant.holder.to_string(),
        }
    }

    /// The lease. Its owner may have had others: the token tells them apart, or else the value under the key.
    pub(crate) fn label(&self, grant: &Grant<'_>) -> String {
        let holder = self.holder(grant);
        match grant.token.or(grant.said_token.map(|(token, _)| token)) {
            Some(token) => format!("the grant of {holder} with token {token}"),
            None if holder == grant.holder.as_str() => format!("the grant of {holder}"),
            None => format!("the grant of {holder} ({})", grant.holder),
        }
    }
}
