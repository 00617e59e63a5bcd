//! What a person reads.

mod sample;

use leaseproof_model::verdict::Verdict;
use leaseproof_report::terminal::{Places, TerminalStyle, render, render_with_moments};
use std::path::PathBuf;

fn places() -> Places {
    Places {
        report: Some(PathBuf::from(".leaseproof/runs/20261130-031502-7f3a/report.html")),
        bundle: Some(PathBuf::from(".leaseproof/runs/20261130-031502-7f3a")),
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
