//! What the members of a store say of themselves.

use crate::name::ProcessId;
use serde::{Deserialize, Serialize};

/// What each member of a store that leaseproof started says of its role.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Roles {
    /// The members that run, in the order of their numbers.
    pub members: Vec<MemberRole>,
}

/// What one member says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemberRole {
    /// Its root process.
    pub process: ProcessId,
    /// Its word; none: it did not answer.
    pub role: Option<Role>,
}

/// The role of a member, by its own word.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Role {
    /// Whether it leads.
    pub leads: bool,
    /// The term, or epoch, in which it does what it does. Of two that lead the one of the greater term is right;
    /// the other does not know yet.
    pub term: u64,
}

impl Roles {
    /// Who leads: the one of the greatest term, should an old one not know yet.
    #[must_use]
    pub fn leader(&self) -> Option<(&MemberRole, u64)> {
        self.members
            .iter()
            .filter_map(|member| Some((member, member.role.filter(|role| role.leads)?.term)))
            .max_by_key(|(_, term)| *term)
    }
}
