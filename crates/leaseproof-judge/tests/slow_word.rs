//! A lock tool starts its command once it has the lock, and the command takes its time to say so: whose the
//! last grant of a record is, where the store names nobody.

mod story;

use leaseproof_model::event::{FaultKind, What};
use leaseproof_model::scenario::{PremiseName as P, ScenarioId};
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::ScenarioVerdict;
use story::Story;
use story::pauses::{self, EXPIRY, PAUSE, TAKEOVER, THAW};

/// The parent of `a1`, which holds the lease, stands still, and its child works on throughout. Another takes the
/// lease; `words` says who says so, and when.
fn beside(words: impl FnOnce(&mut Story)) -> ScenarioVerdict {
    let mut s = pauses::held_until_pause(
        ScenarioId::ParentOnly,
        &[P::Exercised, P::Frozen, P::Expired, P::TakenOver, P::Thawed],
    );
    s.started(5.0, "b1");
    s.paused("a1", FaultKind::PauseParent, PAUSE, THAW);
    s.works(PAUSE, 2650.0, "a1", 0);
    s.free(EXPIRY + 4.0).granted(TAKEOVER, "b1#2", 2);
    words(&mut s);
    s.end_cycle(2500.0).watched(0.0, 2700.0);
    s.each(|event| match &mut event.what {
        What::Reading(reading) => {
            reading.counter = None;
            if let Some(held) = &mut reading.held {
                let token = held.token.take().map_or(0, |token| token.0);
                held.holder = format!("lease-{token}f00#{token}").into();
            }
        }
        What::Said(said) => said.token = None,
        What::Write(write) => write.token = None,
        _ => {}
    });
    s.ask.store_shows_token = false;
    s.judged()
}

fn surely(judged: &ScenarioVerdict, code: &str) -> bool {
    judged
        .findings
        .iter()
        .any(|it| it.rule == code && it.certainty == Truth::Yes)
}

#[test]
fn a_late_word_names_the_holder_of_the_last_grant() {
    let judged = beside(|s| {
        s.acquired(TAKEOVER + 400.0, "b1", 2)
            .works(TAKEOVER + 405.0, 2650.0, "b1", 0);
    });
    for code in ["LP001", "LP002", "LP004"] {
        assert!(surely(&judged, code), "{code}: {judged:#?}");
    }
}

#[test]
fn two_late_words_or_one_after_its_end_name_nobody() {
    let both = beside(|s| {
        s.acquired(TAKEOVER + 400.0, "b1", 2)
            .acquired(TAKEOVER + 450.0, "a1", 2)
            .works(TAKEOVER + 405.0, 2650.0, "b1", 0);
    });
    assert!(!surely(&both, "LP001"), "{both:#?}");
    // It was over by then: the word is about another, which no look has shown.
    let over = beside(|s| {
        s.free(TAKEOVER + 300.0)
            .acquired(TAKEOVER + 400.0, "b1", 2)
            .works(TAKEOVER + 405.0, 2650.0, "b1", 0);
    });
    assert!(!surely(&over, "LP001"), "{over:#?}");
}
