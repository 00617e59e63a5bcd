//! What CI systems show.

mod sample;

use leaseproof_model::truth::Truth;
use leaseproof_report::junit;

#[test]
fn cannot_tell_is_an_error_and_violated_a_failure() {
    insta::assert_snapshot!(junit::render(&sample::sample().run));
}

#[test]
fn an_incomplete_run_never_looks_like_a_pass_bad() {
    let mut run = sample::sample().run;
    run.scenarios.clear();
    run.incomplete = Some("the disk is full \u{1b}[0m <&>".to_owned());
    let xml = junit::render(&run);
    assert!(xml.contains("errors=\"1\""), "{xml}");
    assert!(!xml.contains('\u{1b}'));
}

#[test]
fn what_is_certain_and_a_breach_is_the_headline_ok() {
    let mut run = sample::sample().run;
    let findings = &mut run.scenarios[0].findings;
    findings.reverse();
    let mut doubtful = findings.last().expect("a breach").clone();
    doubtful.certainty = Truth::CannotTell;
    doubtful.says = "nobody knows".to_owned();
    findings.insert(0, doubtful);
    let xml = junit::render(&run);
    assert!(xml.contains("message=\"LP002 stale-write-accepted"), "{xml}");
}
