//! Whose a lease is, in words: the owner's name where it is known, not the value that the store has for it.

mod story;

use leaseproof_model::event::What;
use leaseproof_model::verdict::ScenarioVerdict;
use story::{Story, flaws};

/// Owners that store a random value a grant, and say `acquired`; `a1` is late.
fn random_values(tokens: bool) -> Story {
    let mut s = flaws::late();
    s.ask.store_shows_token = tokens;
    s.each(|event| match &mut event.what {
        What::Reading(reading) => {
            if let Some(held) = &mut reading.held {
                held.holder = format!("value#00{}", held.holder.as_str().replace('#', ""))
                    .as_str()
                    .into();
                held.token = held.token.filter(|_| tokens);
            }
            reading.counter = reading.counter.filter(|_| tokens);
        }
        What::Said(said) if !tokens => said.token = None,
        _ => {}
    });
    s
}

fn says(verdict: &ScenarioVerdict, rule: &str) -> String {
    let found = verdict.findings.iter().find(|it| it.rule == rule);
    found.map_or_else(String::new, |it| it.says.clone())
}

#[test]
fn findings_name_the_owner() {
    let judged = random_values(true).judged();
    let two = says(&judged, "LP001");
    assert!(two.contains("the grant of b1 with token 2"), "{two}");
    let values = judged.findings.iter().filter(|it| it.says.contains("value#"));
    assert_eq!(values.count(), 0, "{judged:#?}");
    let premises = judged.premises.iter().map(|it| it.says.as_str());
    assert!(premises.clone().any(|it| it == "b1 took over"), "{judged:#?}");
    assert!(premises.into_iter().all(|it| !it.contains("value#")));
}

/// Without a token it is the value that tells the grants of an owner apart.
#[test]
fn the_value_stays_where_nothing_else_tells_grants_apart() {
    let two = says(&random_values(false).judged(), "LP001");
    assert!(two.contains("the grant of b1 (value#00b12)"), "{two}");
}
