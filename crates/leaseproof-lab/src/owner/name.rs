//! What owners are called. A foreign holder is told apart by its text, so that a name must be one that
//! nobody has by chance: hosts and workers are called `a1`.

use leaseproof_model::name::OwnerName;

/// Letters that make no words.
const LETTERS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";

/// Five letters of the run.
#[derive(Copy, Clone, Debug)]
pub struct RunMark([u8; 5]);

impl RunMark {
    /// That of the run with this id: the same for all of its owners, so that they can be read.
    #[must_use]
    pub fn of(run: &str) -> Self {
        // A hash, not a secret: FNV-1a, its bits mixed once more since ids of runs end alike.
        let mut rest = run.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        rest ^= rest >> 29;
        Self([(); 5].map(|()| {
            let letter = LETTERS[(rest % 20) as usize];
            rest /= 20;
            letter
        }))
    }

    /// The name of the `count`th owner on a seat: one word, since lock clients put others beside it.
    #[must_use]
    pub fn name(self, slot: &str, count: u32) -> OwnerName {
        let mark: String = self.0.iter().copied().map(char::from).collect();
        OwnerName::from(format!("{slot}{count}{mark}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn runs_have_marks_of_their_own() {
        let names: BTreeSet<_> = (0..500)
            .map(|seed| RunMark::of(&format!("20261130-101500-7-{seed}")).name("a", 1))
            .collect();
        assert!(names.len() > 498, "{} of 500", names.len());
        for name in &names {
            assert!(name.as_str().starts_with("a1") && name.as_str().len() == 7, "{name}");
            assert!(name.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric()), "{name}");
        }
    }
}
