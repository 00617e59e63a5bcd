//! Whose layout the keys of a store have: `?recipe=lock`.

use super::refuse;
use crate::error::StoreError;

/// How a lease lies in the store.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Layout {
    /// As leaseproof's reference owner lays it out.
    #[default]
    Reference,
    /// As the store's own lock tools and client libraries do: its lock recipe.
    LockRecipe,
}

impl Layout {
    /// The option `recipe`.
    pub(super) fn parse(text: &str, value: &str) -> Result<Self, StoreError> {
        match value {
            "lock" => Ok(Self::LockRecipe),
            _ => Err(refuse(
                text,
                format!("recipe={value} is not known: lock is, for locks of the store's own tools"),
            )),
        }
    }

    pub(crate) fn is_recipe(self) -> bool {
        self == Self::LockRecipe
    }
}
