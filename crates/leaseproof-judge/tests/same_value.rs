//! Owners that write one and the same value under the key, whoever they are: the store tells nobody who holds it.

mod story;

use leaseproof_model::event::What;
use leaseproof_model::scenario::PremiseName;
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::Verdict;
use story::pauses::{self, THAW};
use story::{Story, accusations};

/// What both write.
const VALUE: &str = "value#1f2e3d4c5b6a7988";

/// `a1` and `b1` write the same value; with tokens or without, and they say what they do or nothing.
fn same_value(tokens: bool, speaks: bool) -> Story {
    let mut s = pauses::over_ttl();
    s.ask.store_shows_token = tokens;
    if !speaks {
        s.without(|event| matches!(event.what, What::Said(_)));
    }
    s.each(|event| match &mut event.what {
        What::Reading(reading) => {
            if !tokens {
                reading.counter = None;
            }
            if let Some(held) = &mut reading.held {
                held.holder = VALUE.into();
                held.token = held.token.filter(|_| tokens);
            }
        }
        What::Said(said) if !tokens => said.token = None,
        What::Write(write) if !tokens => write.token = None,
        _ => {}
    });
    s
}

/// The same where nobody saw the key free in between: the contender took it as it ended.
fn never_free(tokens: bool, speaks: bool) -> Story {
    let mut s = same_value(tokens, speaks);
    s.without(|event| {
        matches!(&event.what, What::Reading(it) if it.held.is_none()) && event.at.earliest > story::at(1000.0)
    });
    s
}

fn taken_over(story: &Story) -> (Verdict, Truth, String, Vec<String>) {
    let judged = story.judged();
    let premise = judged.premises.iter().find(|it| it.name == PremiseName::TakenOver);
    let premise = premise.expect("it is asked for");
    (
        judged.verdict,
        premise.holds,
        premise.says.clone(),
        accusations(&judged),
    )
}

/// What both owners' words show, what else is certain, and what can only be guessed.
const BOTH: &str = "both owners write the same value under the key";
const EACH: &str = "each grant has the same value under the key: if both owners write it";
const NO_GRANT: &str = "no grant of the target is known at the fault";

/// Tokens, words, the story of the two, and what the premise says.
type Case = (bool, bool, fn(bool, bool) -> Story, &'static str);

const CASES: &[Case] = &[
    (true, true, same_value, BOTH),
    (true, true, never_free, BOTH),
    (false, true, same_value, BOTH),
    (false, true, never_free, BOTH),
    (true, false, same_value, EACH),
    (true, false, never_free, EACH),
    (false, false, same_value, EACH),
    // One lease throughout, as far as anything shows.
    (false, false, never_free, NO_GRANT),
];

#[test]
fn no_takeover_is_proven_and_the_cause_is_named_ok() {
    for (place, (tokens, speaks, story, cause)) in CASES.iter().enumerate() {
        let (verdict, holds, says, accused) = taken_over(&story(*tokens, *speaks));
        assert_eq!((verdict, holds), (Verdict::CannotTell, Truth::CannotTell), "{place}");
        assert!(says.contains(cause), "{place}: {says}");
        let sure: Vec<_> = accused.iter().filter(|it| !it.ends_with('?')).collect();
        assert!(sure.is_empty(), "{place}: {sure:?}");
    }
}

/// Writes prove it all the same, unless nothing shows that a lease ended.
#[test]
fn an_owner_that_writes_on_is_seen_by_its_writes_bad() {
    for (place, (tokens, speaks, story, cause)) in CASES.iter().enumerate() {
        let mut late = story(*tokens, *speaks);
        late.works(THAW + 2.0, 2900.0, "a1", u64::from(*tokens));
        let expected = match *cause {
            NO_GRANT => Verdict::CannotTell,
            _ => Verdict::Violated,
        };
        assert_eq!(taken_over(&late).0, expected, "{place}: {late:?}", late = late.judged());
    }
}
