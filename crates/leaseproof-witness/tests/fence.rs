//! Properties of the sound fence.

use leaseproof_model::name::{OwnerName, Token};
use leaseproof_model::scenario::WitnessMode;
use leaseproof_witness::fence::{Decision, Fence};
use proptest::prelude::*;

proptest! {
    /// Accepted tokens never go down, the greatest is never refused, and a restart in between
    /// changes nothing.
    #[test]
    fn accepted_tokens_never_go_down(
        writes in prop::collection::vec((0_u64..8, prop::option::weighted(0.9, 0_u64..8), prop::bool::weighted(0.1)), 0..60),
    ) {
        let mut fence = Fence::new(None, None);
        let mut greatest: Option<Token> = None;
        for (owner, token, restart) in writes {
            if restart {
                fence = Fence::new(fence.highest(), None);
            }
            let owner = OwnerName::from(format!("a{owner}"));
            let token = token.map(Token);
            let decision = fence.decide(WitnessMode::Enforce, &owner, token);
            let stale = token.is_some_and(|token| greatest.is_some_and(|mark| token < mark));
            prop_assert_eq!(decision == Decision::Stale, stale);
            if decision == Decision::Accepted {
                let raised = fence.accept(&owner, token);
                prop_assert_eq!(raised, token > greatest);
                greatest = greatest.max(token);
            }
            prop_assert_eq!(fence.highest(), greatest);
        }
    }

    /// Recording accepts all, and keeps the mark all the same.
    #[test]
    fn recording_accepts_all(tokens in prop::collection::vec(0_u64..8, 1..30)) {
        let mut fence = Fence::new(None, None);
        let owner = OwnerName::from("a1");
        for token in &tokens {
            let decision = fence.decide(WitnessMode::Record, &owner, Some(Token(*token)));
            prop_assert_eq!(decision, Decision::Accepted);
            fence.accept(&owner, Some(Token(*token)));
        }
        prop_assert_eq!(fence.highest(), tokens.iter().max().map(|it| Token(*it)));
    }
}
