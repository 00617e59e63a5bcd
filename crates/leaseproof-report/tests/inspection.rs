//! One look at a lease, as a person reads it. The document is one that a real look printed.

use leaseproof_model::inspect::Inspection;
use leaseproof_model::inspect::Shown;
use leaseproof_report::json::render_inspection;
use leaseproof_report::terminal::TerminalStyle;
use leaseproof_report::terminal::inspection::render;

const SAMPLE: &str = include_str!("sample/inspect.json");

fn sample() -> Inspection {
    serde_json::from_str(SAMPLE).expect("it is one")
}

#[test]
fn in_full() {
    insta::assert_snapshot!(render(&sample(), &TerminalStyle::default()));
}

#[test]
fn the_document_comes_back() {
    let again: Inspection = serde_json::from_str(&render_inspection(&sample())).expect("it is one");
    assert_eq!(again, sample());
}

#[test]
fn narrow_and_ascii() {
    let style = TerminalStyle {
        width: 60,
        ascii: true,
        ..TerminalStyle::default()
    };
    let mut seen = sample();
    // What is there to be copied is never wrapped.
    seen.by_hand.clear();
    let text = render(&seen, &style);
    assert!(text.is_ascii(), "{text}");
    for line in text.lines() {
        assert!(
            line.len() <= 60 || !line.trim_start().contains(' '),
            "{line:?} is too wide"
        );
    }
}

#[test]
fn text_of_others_can_steer_nothing() {
    let mut seen = sample();
    let evil = "\u{1b}[2Jx\u{202e}\ny".to_owned();
    seen.key.clone_from(&evil);
    seen.says.clone_from(&evil);
    let store = seen.store.as_mut().expect("it has one");
    store.refused.push(evil.clone());
    store.attributes[0].value = Shown::Is(evil.clone());
    if let Shown::Is(connections) = &mut store.connections {
        connections.candidates[0].name = Some(evil.clone());
        connections.candidates[0].last_command.clone_from(&evil);
    }
    seen.lease.as_mut().expect("it has one").at_last.holder = Some(evil.clone());
    seen.owner.as_mut().expect("it has one").program = evil;
    let text = render(&seen, &TerminalStyle::default());
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    assert!(text.contains("\\u{1b}[2Jx\\u{202e}\\u{a}y"), "{text}");
}
