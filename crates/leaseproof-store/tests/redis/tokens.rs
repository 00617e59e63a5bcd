//! Tokens up to the end of the counter's range: Lua's numbers are exact to 2^53 only.

use super::*;
use leaseproof_store::{Operation, Ticket, What, open_pipelined};

const COUNTER: &str = "canary/redis:token";
/// 2^53 - 2: the next is the last that a double tells from its neighbours.
const LAST_EXACT: u64 = 9_007_199_254_740_990;

#[test]
fn tokens_rise_beyond_2_to_the_53() {
    let server = server!("tokens_rise_beyond_2_to_the_53");
    server.cli(&["SET", COUNTER, &LAST_EXACT.to_string()]);
    let url = url(&server.url());
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let mut lab = open_administrator(&url, PATIENT).expect("it opens");
    for next in 1..=8 {
        let token = LAST_EXACT + next;
        let grant = if next % 2 == 0 {
            lab.steal(KEY, "lab", LONG).value.expect("stolen")
        } else {
            owner.acquire(KEY, "a", LONG, PATIENT).value.expect("granted")
        };
        assert_eq!(grant.token.0, token);
        assert_eq!(server.cli(&["GET", COUNTER]), token.to_string());
        let value = server.cli(&["GET", KEY]);
        assert!(value.ends_with(&format!("#{token}")), "{value}");
        assert_eq!(owner.renew(&grant, LONG, PATIENT).outcome, Outcome::Applied);
        assert_eq!(owner.release(&grant, PATIENT).outcome, Outcome::Applied);
    }
    let mut many = open_pipelined(&url, PATIENT).expect("it opens");
    server.cli(&["SET", COUNTER, "9007199254740992"]);
    many.put(
        Ticket { whose: 1, number: 1 },
        Operation::Acquire {
            key: KEY,
            holder: "a",
            ttl: LONG,
        },
        PATIENT,
    );
    let mut answers = Vec::new();
    while answers.is_empty() {
        many.turn(BRIEF, &mut answers);
    }
    let What::Acquire(done) = &answers[0].what else {
        panic!("{answers:?}");
    };
    let grant = done.value.as_ref().expect("granted");
    assert_eq!(grant.token.0, 9_007_199_254_740_993);
}

#[test]
fn a_counter_that_can_not_count_on_grants_nothing() {
    let server = server!("a_counter_that_can_not_count_on_grants_nothing");
    let url = url(&server.url());
    let mut owner = open_lease(&url, PATIENT).expect("lazy");
    let mut lab = open_administrator(&url, PATIENT).expect("it opens");
    server.cli(&["SET", COUNTER, "9223372036854775806"]);
    let last = owner.acquire(KEY, "a", LONG, PATIENT).value.expect("the last one");
    assert_eq!(last.token.0, 9_223_372_036_854_775_807);
    assert_eq!(owner.release(&last, PATIENT).outcome, Outcome::Applied);
    for counter in [
        "9223372036854775807",
        "9223372036854775808",
        "10000000000000000000",
        "-1",
        "-3",
        "x",
        "",
    ] {
        server.cli(&["SET", COUNTER, counter]);
        for done in [owner.acquire(KEY, "a", LONG, PATIENT), lab.steal(KEY, "lab", LONG)] {
            assert_eq!((done.outcome, done.refusal), (Outcome::NotApplied, None), "{done:?}");
            let why = done.reason.expect("a reason");
            assert!(
                why.contains(&format!("the token counter {COUNTER} holds {counter}: ")),
                "{why}"
            );
            assert!(why.contains("set it to the greatest token"), "{why}");
        }
        assert_eq!(server.cli(&["EXISTS", KEY]), "0", "no ghost, with {counter:?}");
        assert_eq!(server.cli(&["GET", COUNTER]), counter);
    }
}
