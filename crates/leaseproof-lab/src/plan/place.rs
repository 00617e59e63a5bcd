//! The text of a plan that is being resolved.

use leaseproof_check::plan;
use std::ops::Deref;
use std::path::Path;

/// As the plan's own [`Place`](plan::Place), which says where a complaint belongs; this one knows what a run needs.
#[derive(Clone, Copy)]
pub(super) struct Place<'a>(plan::Place<'a>);

impl<'a> Place<'a> {
    pub fn new(path: Option<&'a Path>, text: &'a str) -> Self {
        Self(plan::Place { path, text })
    }
}

impl<'a> Deref for Place<'a> {
    type Target = plan::Place<'a>;

    fn deref(&self) -> &plan::Place<'a> {
        &self.0
    }
}
