//! What a person reads.

mod sample;

use leaseproof_model::verdict::Verdict;
use leaseproof_report::terminal::{Places, TerminalStyle, render, render_with_moments};
use std::path::PathBuf;

fn places() -> Places {
    Places {
        report: Some(PathBuf::from(".leaseproof/runs/20261130-031502-7f3a/report.html")),
        bundle: Some(PathBuf::from(".leaseproof/runs/20261130-031502-7f3a")),
        plan_missing: false,
    }
}

#[test]
fn violated_with_moments() {
    let sample = sample::sample();
    let text = render_with_moments(&sample.run, &sample.histories(), &TerminalStyle::default(), &places());
    insta::assert_snapshot!(text);
}

#[test]
fn violated_narrow_and_ascii() {
    let style = TerminalStyle {
        width: 60,
        ascii: true,
        ..TerminalStyle::default()
    };
    let text = render(&sample::sample().run, &style, &places());
    assert!(text.is_ascii());
    assert!(text.lines().all(|line| line.len() <= 60), "a line is too wide");
    insta::assert_snapshot!(text);
}

#[test]
fn proven() {
    let mut run = sample::sample().run;
    run.scenarios.retain(|it| it.verdict == Verdict::Proven);
    run.verdict = Verdict::Proven;
    insta::assert_snapshot!(render(&run, &TerminalStyle::default(), &places()));
}

#[test]
fn several_stores_are_a_table() {
    let mut run = sample::sample().run;
    let mut again = run.scenarios.clone();
    for it in &mut again {
        it.store = "a-store-of-a-long-name".to_owned();
        it.verdict = Verdict::Proven;
        it.findings.clear();
    }
    run.scenarios.append(&mut again);
    let text = render(&run, &TerminalStyle::default(), &places());
    insta::assert_snapshot!(text);
}

/// Named once, with where it broke and where it did not.
#[test]
fn the_headline_says_on_which_stores() {
    let mut run = sample::sample().run;
    let others = run.scenarios.iter().map(|it| {
        let mut it = it.clone();
        it.store = "redis".to_owned();
        it
    });
    let others: Vec<_> = others.collect();
    run.scenarios.extend(others);
    let headline = |run: &_| {
        let text = render(run, &TerminalStyle::default(), &places());
        text.lines().next().expect("a headline").to_owned()
    };
    let both = "violated: in pause-over-ttl (sqlite, redis); ";
    assert!(headline(&run).starts_with(both), "{}", headline(&run));
    let last = run
        .scenarios
        .iter_mut()
        .rfind(|it| it.verdict == Verdict::Violated)
        .expect("one on redis");
    last.verdict = Verdict::CannotTell;
    let one = "violated: in pause-over-ttl (sqlite); ";
    assert!(headline(&run).starts_with(one), "{}", headline(&run));
}

#[test]
fn an_interrupted_run_says_so_first() {
    let mut run = sample::sample().run;
    run.scenarios.clear();
    run.not_offered.clear();
    run.verdict = Verdict::CannotTell;
    run.incomplete = Some("interrupted by Ctrl-C".to_owned());
    insta::assert_snapshot!(render(&run, &TerminalStyle::default(), &Places::default()));
}

#[test]
fn colour_changes_no_word_ok() {
    let run = sample::sample().run;
    let colour = TerminalStyle {
        colour: true,
        ..TerminalStyle::default()
    };
    let painted = render(&run, &colour, &places());
    assert!(painted.contains("\u{1b}["));
    let mut plain = String::new();
    let mut rest = painted.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').expect("a colour ends in m").1;
    }
    plain.push_str(rest);
    assert_eq!(plain, render(&run, &TerminalStyle::default(), &places()));
}

#[test]
fn foreign_text_can_not_steer_the_terminal_bad() {
    let mut run = sample::sample().run;
    run.scenarios[0].findings[0].says = "before\u{1b}[2J\u{1b}]0;owned\u{7}\r\nproven: all is well".to_owned();
    run.not_offered[0].why = "\u{202e}desrever".to_owned();
    let text = render(&run, &TerminalStyle::default(), &places());
    assert!(!text.contains(['\u{1b}', '\u{7}', '\r', '\u{202e}']));
    assert!(!text.lines().any(|line| line.trim_start().starts_with("proven: all")));
}

fn text_of(run: &leaseproof_model::verdict::RunVerdict, histories: &[&leaseproof_model::history::History]) -> String {
    render_with_moments(run, histories, &TerminalStyle::default(), &places())
}

#[test]
fn the_same_breach_in_three_cycles_is_told_once_ok() {
    let mut run = sample::sample().run;
    let first = run.scenarios[0].findings[0].clone();
    for cycle in [1, 3] {
        let mut again = first.clone();
        again.cycle = cycle;
        again.says = "told by the report".to_owned();
        run.scenarios[0].findings.push(again);
    }
    let text = render(&run, &TerminalStyle::default(), &places());
    assert!(text.contains("LP004 silent-retention  breach, owner b1, cycles 1, 2, 3"));
    assert!(!text.contains("told by the report"));
}

/// A bundle that is judged again has perhaps no report, and none is promised then.
#[test]
fn no_report_is_named_that_is_not_there_bad() {
    let sample = sample::sample();
    let places = Places {
        report: None,
        ..places()
    };
    let text = render(&sample.run, &TerminalStyle::default(), &places);
    assert!(!text.contains("report"), "{text}");
    assert!(text.contains("measures (`--json` has all of them)"), "{text}");
    assert!(text.contains("more: `--json` names them"), "{text}");
}

/// A restart sits on the same seat, and what it did is one finding with what came before.
#[test]
fn a_restart_is_told_with_its_seat_ok() {
    let mut run = sample::sample().run;
    let findings = &mut run.scenarios[0].findings;
    findings[0].owner = Some("b1kqwrt".to_owned());
    let mut again = findings[0].clone();
    again.owner = Some("b2kqwrt".to_owned());
    again.cycle = 1;
    findings.push(again);
    let text = render(&run, &TerminalStyle::default(), &places());
    assert!(text.contains("breach, owner b1kqwrt, b2kqwrt, cycles 1, "), "{text}");
}

#[test]
fn what_the_other_owner_did_is_told_apart_bad() {
    let mut run = sample::sample().run;
    let mut other = run.scenarios[0].findings[0].clone();
    other.owner = Some("a1".to_owned());
    other.says = "a1 did so, too".to_owned();
    run.scenarios[0].findings.push(other);
    assert!(render(&run, &TerminalStyle::default(), &places()).contains("a1 did so, too"));
}

#[test]
fn a_violated_scenario_comes_before_a_proven_one_ok() {
    let mut run = sample::sample().run;
    run.scenarios.reverse();
    let text = render(&run, &TerminalStyle::default(), &places());
    let at = |name: &str| text.find(&format!("{name} ")).unwrap();
    assert!(at("✗ pause-over-ttl") < at("? key-stolen"));
    assert!(at("? key-stolen") < at("✓ pause-uncontested"));
}

#[test]
fn availability_alone_shows_the_sentence_that_moved_it_ok() {
    let mut run = sample::sample().run;
    let scenario = &mut run.scenarios[0];
    scenario.safety = Verdict::Proven;
    scenario.availability = Some(Verdict::Violated);
    let mut moved = scenario.findings[0].clone();
    moved.rule = "LP016".to_owned();
    moved.class = leaseproof_model::rule::Class::Availability;
    moved.says = "it gave up without need".to_owned();
    scenario.findings.retain(|it| it.rule == "LP007");
    scenario.findings.push(moved);
    let text = render(&run, &TerminalStyle::default(), &places());
    assert!(text.contains("safety proven, availability violated: LP016 moved the verdict"));
    assert!(text.find("it gave up without need").unwrap() < text.find("LP007").unwrap());
}

#[test]
fn a_straddling_write_is_named_beside_the_last_act_and_nothing_is_below_zero() {
    let mut run = sample::sample().run;
    let measures = &mut run.scenarios[0].measures;
    measures.insert("straddling_writes".to_owned(), 1.0);
    measures.insert("last_act_after_due_ms".to_owned(), 12.5);
    measures.insert("thaw_late_ms".to_owned(), -0.2);
    let text = render(&run, &TerminalStyle::default(), &places());
    assert!(
        text.contains("last act 12.5 ms after its lease was due, in pause-over-ttl; 1 write may have been checked")
    );
    assert!(text.contains("latest thaw 0.0 ms"));
    assert!(!text.contains("-0.2"));
}

#[test]
fn writes_before_an_owner_could_know_are_nobody_s() {
    let mut run = sample::sample().run;
    let measures = &mut run.scenarios[0].measures;
    measures.insert("straddling_writes".to_owned(), 2523.0);
    measures.insert("last_act_after_due_ms".to_owned(), 900.0);
    measures.insert("store_window_ms".to_owned(), 398.7);
    let text = render(&run, &TerminalStyle::default(), &places());
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        joined.contains("2523 writes may have been checked before that and sent after it (straddling)"),
        "{text}"
    );
    assert!(
        joined.contains("writes went on for 398.7 ms after a lease had ended early"),
        "{text}"
    );
    assert_eq!(joined.matches("nobody is charged with").count(), 2, "{text}");
}

#[test]
fn fewer_cycles_than_asked_are_explained_ok() {
    let mut sample = sample::sample();
    sample.run.scenarios[0].cycles = 2;
    let text = text_of(&sample.run, &sample.histories());
    assert!(text.contains("ended early, in cycle 2 of 3"), "{text}");
}

#[test]
fn premises_of_an_interrupted_scenario_are_one_sentence_ok() {
    let mut run = sample::sample().run;
    run.verdict = Verdict::CannotTell;
    run.incomplete = Some("it was interrupted: the bundle holds what was seen until then".to_owned());
    run.scenarios.retain(|it| it.verdict == Verdict::CannotTell);
    let text = render(&run, &TerminalStyle::default(), &places());
    assert!(text.contains("(cut off before its end)"));
    assert!(!text.contains("premise expired") && !text.contains("LP020"));
    assert!(text.contains("next    run it again"));
}

#[test]
fn premises_of_a_run_that_nobody_stopped_are_shown_bad() {
    let mut run = sample::sample().run;
    run.verdict = Verdict::CannotTell;
    run.scenarios.retain(|it| it.verdict == Verdict::CannotTell);
    let text = render(&run, &TerminalStyle::default(), &places());
    assert!(text.contains("premise expired"));
    assert!(text.contains("next    change what is named as missing"));
}

#[test]
fn where_only_something_is_not_offered_the_advice_is_a_store_that_offers_it_ok() {
    let mut run = sample::sample().run;
    run.verdict = Verdict::CannotTell;
    run.scenarios.clear();
    let text = render(&run, &TerminalStyle::default(), &places());
    assert!(text.contains("next    use a store (--store URL) and a host where parent-only can be run"));
    assert!(!text.contains("--seed"));
}

/// As `idle-drop` has it: no finding moves the verdict, and the cause is what there is to read.
#[test]
fn availability_without_a_finding_of_its_own_names_the_cause_ok() {
    let mut run = sample::sample().run;
    let scenario = &mut run.scenarios[0];
    scenario.safety = Verdict::Proven;
    scenario.availability = Some(Verdict::Violated);
    scenario.findings.retain(|it| it.rule == "LP007");
    let text = render(&run, &TerminalStyle::default(), &places());
    let flat: Vec<&str> = text.split_whitespace().collect();
    assert!(flat.join(" ").contains("brought about by LP007"), "{text}");
    assert!(text.contains("next    leaseproof explain LP007"), "{text}");
}

#[test]
fn what_is_missing_is_told_in_its_own_cycle_bad() {
    let mut run = sample::sample().run;
    let findings = &mut run.scenarios[2].findings;
    let mut other = findings[0].clone();
    other.cycle = 1;
    other.says = "the output could not all be kept".to_owned();
    findings.push(other);
    for owner in ["b1kqwrt", "b2kqwrt"] {
        let mut silent = findings[0].clone();
        silent.cycle = 0;
        silent.owner = Some(owner.to_owned());
        silent.says = format!("{owner} said nothing");
        findings.push(silent);
    }
    let text = render(&run, &TerminalStyle::default(), &places());
    let below = |head: &str| text.split(head).nth(1).and_then(|rest| rest.lines().nth(1));
    let says = |head: &str| below(head).expect(head).trim_start().to_owned();
    let head = "LP020 evidence-missing  notice, our own rig";
    assert!(says(&format!("{head}, cycle 3")).starts_with("nobody saw the store"));
    assert!(says(&format!("{head}, cycle 1")).starts_with("the output could not"));
    assert!(says(&format!("{head} b1kqwrt, b2kqwrt")).starts_with("b1kqwrt said nothing"));
    assert!(!text.contains("b2kqwrt said nothing"));
}

#[test]
fn a_plan_that_is_not_there_can_not_be_committed_bad() {
    let mut run = sample::sample().run;
    run.scenarios.retain(|it| it.verdict == Verdict::Proven);
    run.verdict = Verdict::Proven;
    let places = Places {
        plan_missing: true,
        ..places()
    };
    let text = render(&run, &TerminalStyle::default(), &places);
    assert!(
        text.contains("next    `leaseproof verify --init` writes a plan"),
        "{text}"
    );
}
