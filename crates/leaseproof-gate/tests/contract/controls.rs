//! The negative controls: what each flaw must be caught at, and nothing else.

use crate::flawed::{Flaw, Flawed};
use crate::{LONG, asked, faults, key};
use hyper::{Method, StatusCode};
use leaseproof_gate::contract::command::CommandTarget;
use leaseproof_gate::contract::http::HttpTarget;
use leaseproof_gate::contract::{Report, Template};
use leaseproof_model::verdict::Verdict;

const CONTROLS: &[(Flaw, Verdict, &[&str])] = &[
    (Flaw::None, Verdict::Proven, &[]),
    (
        Flaw::AcceptAll,
        Verdict::Violated,
        &[
            "lower-refused LP002",
            "numbers-not-text LP002",
            "order-not-equality LP002",
            "exact-numbers LP002",
            "restart-remembered LP002",
            "race-in-order LP002",
        ],
    ),
    (Flaw::Equality, Verdict::Violated, &["greater-accepted LP026"]),
    (Flaw::ForgetOnRestart, Verdict::Violated, &["restart-remembered LP002"]),
    (
        Flaw::FirstWriterWins,
        Verdict::Violated,
        &["lower-refused LP002", "greater-accepted LP026"],
    ),
    (Flaw::Text, Verdict::Violated, &["numbers-not-text LP026"]),
    (Flaw::Double, Verdict::Violated, &["exact-numbers LP002"]),
    (Flaw::Strict, Verdict::Violated, &["same-accepted LP026"]),
    (Flaw::Applies, Verdict::Violated, &["refused-not-applied LP002"]),
    (Flaw::CheckThenAct, Verdict::Violated, &["race-in-order LP002"]),
    (Flaw::Nothing, Verdict::CannotTell, &[]),
    (Flaw::Broken, Verdict::CannotTell, &[]),
];

fn target(resource: &Flawed, read: bool) -> HttpTarget {
    let url = format!("http://{}/", resource.address);
    HttpTarget {
        urls: vec![Template::new(&url, "k")],
        method: Method::POST,
        header: "fencing-token".parse().expect("a name"),
        body: Template::new("{value}", "k"),
        read: read.then(|| Template::new(&url, "k")),
        refused: vec![StatusCode::CONFLICT, StatusCode::PRECONDITION_FAILED],
        patience: LONG,
    }
}

fn report(flaw: Flaw) -> Report {
    let resource = Flawed::start(flaw);
    asked(&target(&resource, true), &key(), Some(resource.restart_command()))
}

#[test]
fn each_flaw_is_caught() {
    for (flaw, verdict, expected) in CONTROLS {
        let report = report(*flaw);
        assert_eq!(report.verdict, *verdict, "{flaw:?}: {}", report.text());
        let found = faults(&report);
        if *flaw == Flaw::None {
            assert_eq!(found, Vec::<String>::new());
            assert_eq!(report.not_asked, [], "a sound resource shows all");
        }
        for it in *expected {
            assert!(
                found.iter().any(|found| found == it),
                "{flaw:?} is not caught by {it}: {}",
                report.text()
            );
        }
    }
}

/// A race shows where the value is read; without that, what was not asked is said.
#[test]
fn what_is_not_asked_is_said() {
    let resource = Flawed::start(Flaw::None);
    let report = asked(&target(&resource, false), &key(), None);
    assert_eq!(report.verdict, Verdict::Proven, "{}", report.text());
    let text = report.text();
    assert!(
        text.contains("restart-remembered   not asked: give --restart-command"),
        "{text}"
    );
    assert!(text.contains("refused-not-applied  not asked: give --read;"), "{text}");
}

#[test]
fn a_restart_that_fails_is_no_pass() {
    let resource = Flawed::start(Flaw::None);
    let report = asked(&target(&resource, false), &key(), Some("exit 3".to_owned()));
    assert_eq!(report.verdict, Verdict::CannotTell, "{}", report.text());
}

/// A command's exit status says yes or no; the sound one keeps its mark in a file, under a lock.
#[test]
fn commands() {
    let dir = tempfile::tempdir().expect("a folder");
    let place = dir.path().display();
    let sound = format!(
        "cd '{place}' && exec 9>lock && flock 9 && read mark 2>/dev/null <mark; [ {{token}} -ge ${{mark:-0}} ] || exit 1; \
         echo {{token}} >mark && echo {{value}} >value"
    );
    for (write, verdict) in [
        (sound.clone(), Verdict::Proven),
        (format!("echo {{value}} >'{place}/value'"), Verdict::Violated),
        ("exit 1".to_owned(), Verdict::CannotTell),
        ("no-such-program {token} {value}".to_owned(), Verdict::CannotTell),
    ] {
        let _ = std::fs::remove_file(dir.path().join("mark"));
        let target = CommandTarget {
            write: Template::new(&write, "k"),
            read: Some(Template::new(&format!("cat '{place}/value'"), "k")),
        };
        let report = asked(&target, &key(), Some("true".to_owned()));
        assert_eq!(report.verdict, verdict, "{write}: {}", report.text());
    }
}
