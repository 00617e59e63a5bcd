//! Settings of other systems: a sample that holds and one that does not of each, and files that are none.
#![cfg(feature = "foreign")]

mod programs;
mod support;

use leaseproof_check::foreign::Kind;
use leaseproof_check::report::{Answer, Document};
use leaseproof_check::{Given, faces};
use std::path::Path;
use std::time::Duration;
use support::{SECOND, given, judged, said};

#[path = "../../../leaseproof-report/tests/schema/mod.rs"]
mod schema;

fn sample(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(file);
    std::fs::read_to_string(path).expect(file)
}

/// File, kind, and TTL, heartbeat and renewal time-out in ms.
#[test]
fn samples_ok() {
    for (file, kind, ttl, heartbeat, timeout) in [
        ("redisson-ok.yaml", Kind::Redisson, 30_000.0, 10_000.0, 3000.0),
        ("kubernetes-ok.yaml", Kind::Kubernetes, 15_000.0, 2000.0, 10_000.0),
        ("patroni-ok.yml", Kind::Patroni, 40_000.0, 10_000.0, 20_000.0),
        ("redbeat-ok.py", Kind::Redbeat, 25_000.0, 5000.0, 0.0),
        ("shedlock-ok.java", Kind::ShedLock, 840_000.0, 240_000.0, 0.0),
        ("consul-ok.json", Kind::ConsulSession, 15_000.0, 7500.0, 0.0),
        ("etcd-ok.conf", Kind::EtcdSession, 60_000.0, 20_000.0, 0.0),
        ("zookeeper-ok.cfg", Kind::ZooKeeper, 30_000.0, 10_000.0, 10_000.0),
    ] {
        // A `ttl` alone could be anybody's.
        let named = (kind == Kind::EtcdSession).then_some(kind);
        let all = judged(file, &sample(file), named, &given()).expect(file);
        let first = &all[0];
        assert_eq!(
            (first.kind, first.verdict),
            (kind.name(), Answer::Holds),
            "{}",
            said(first)
        );
        let seen: Vec<f64> = first.terms.iter().take(3).map(|term| term.ms).collect();
        assert_eq!(seen, [ttl, heartbeat, timeout], "{file}");
        let document: serde_json::Value =
            serde_json::from_str(&faces::json(&Document::of(all, Vec::new()))).expect("JSON");
        assert_eq!(schema::check_1().errors(&document), Vec::<String>::new(), "{file}");
    }
}

/// File, kind, line of the complaint, and what is said.
#[test]
fn samples_bad() {
    for (file, kind, line, needle) in [
        ("redisson-bad.json", Kind::Redisson, Some(6), "the margin is 999ms"),
        (
            "kubernetes-bad.yaml",
            Kind::Kubernetes,
            Some(11),
            "client-go demands leaseDuration (15s) > renewDeadline (15s)",
        ),
        (
            "patroni-bad.yml",
            Kind::Patroni,
            Some(6),
            "Patroni demands loop_wait (15s)",
        ),
        (
            "redbeat-bad.py",
            Kind::Redbeat,
            Some(2),
            "must outlive the longest sleep of the scheduler (300s)",
        ),
        (
            "shedlock-bad.properties",
            Kind::ShedLock,
            Some(1),
            "there is no margin: 210s are missing",
        ),
        (
            "consul-bad.json",
            Kind::ConsulSession,
            Some(3),
            "session TTLs from 10 s to 24 h, and this is 5s",
        ),
        ("etcd-bad.sh", Kind::EtcdSession, Some(1), "the margin is 1.333s"),
        ("zookeeper-bad.properties", Kind::ZooKeeper, Some(1), "the margin is 2s"),
    ] {
        let named = (kind == Kind::EtcdSession).then_some(kind);
        let all = judged(file, &sample(file), named, &given()).expect(file);
        let first = &all[0];
        assert_eq!(
            (first.kind, first.verdict),
            (kind.name(), Answer::DoesNotHold),
            "{}",
            said(first)
        );
        let found = first
            .checks
            .iter()
            .find(|it| it.answer == Answer::DoesNotHold && it.says.contains(needle));
        assert_eq!(
            found.unwrap_or_else(|| panic!("{}", said(first))).line,
            line,
            "{}",
            said(first)
        );
    }
}

/// Without a pause, or a run, nobody can tell.
#[test]
fn cannot_tell_ok() {
    for file in ["redisson-ok.yaml", "kubernetes-ok.yaml", "shedlock-ok.java"] {
        let all = judged(file, &sample(file), None, &Given::default()).expect(file);
        assert_eq!(all[0].verdict, Answer::CannotTell, "{}", said(&all[0]));
    }
    let pause_only = Given {
        worst_pause: Some(SECOND),
        ..Given::default()
    };
    let all = judged("s", &sample("shedlock-ok.java"), None, &pause_only).expect("it is read");
    assert_eq!(all[0].verdict, Answer::CannotTell);
    let all = judged("zoo.cfg", "tickTime=2000\nclientPort=2181\n", None, &pause_only).expect("it is read");
    assert!(
        said(&all[0]).contains("what the client asks for is not in the file"),
        "{}",
        said(&all[0])
    );
}

#[test]
fn a_session_without_a_ttl_ok() {
    let given = given();
    for text in [
        "{ \"LockDelay\": \"15s\" }",
        "{ \"LockDelay\": 15000000000, \"TTL\": \"\" }",
    ] {
        let all = judged("f", text, None, &given).expect(text);
        assert_eq!(all[0].verdict, Answer::CannotTell, "{}", said(&all[0]));
        assert!(
            said(&all[0]).contains("for 15s after the session's end"),
            "{}",
            said(&all[0])
        );
    }
}

#[test]
fn other_forms_ok() {
    let given = given();
    for (text, kind, ttl) in [
        ("lockWatchdogTimeout=45000", None, 45_000.0),
        ("{ \"lockWatchdogTimeout\": 45000 }", None, 45_000.0),
        ("leaseDuration=16s renewDeadline=10s retryPeriod=2s", None, 16_000.0),
        (
            "LeaseDuration: 15 * time.Second,\nRenewDeadline: 10 * time.Second,\n",
            None,
            15_000.0,
        ),
        (
            "--leader-elect-lease-duration 20s --leader-elect-renew-deadline 10s",
            None,
            20_000.0,
        ),
        ("app.conf.redbeat_lock_timeout = 900", None, 900_000.0),
        ("shedlock:\n  defaults:\n    lock-at-most-for: 10m\n", None, 600_000.0),
        (
            "@SchedulerLock(name = \"a\", lockAtMostFor = \"PT15M\")",
            None,
            900_000.0,
        ),
        ("etcdctl lock jobs", Some(Kind::EtcdSession), 10_000.0),
        ("", Some(Kind::EtcdSession), 60_000.0),
        ("zookeeper.session.timeout=1000", None, 6000.0),
        ("loop_wait: 5\n", None, 30_000.0),
    ] {
        let all = judged("f", text, kind, &given).unwrap_or_else(|says| panic!("{text}: {says}"));
        assert_eq!(all[0].terms[0].ms, ttl, "{text}: {}", said(&all[0]));
    }
}

/// What the systems' own defaults come to: the files are empty, and nothing is told of them.
#[test]
fn defaults_ok() {
    for (kind, margin) in [
        (Kind::Redisson, 16_999.0),
        (Kind::Kubernetes, 3000.0),
        (Kind::Patroni, 0.0),
        (Kind::Redbeat, 1_199_999.0),
        (Kind::ConsulSession, 7500.0),
        (Kind::EtcdSession, 40_000.0),
    ] {
        let all = judged("f", "", Some(kind), &Given::default()).expect("defaults");
        assert_eq!(all[0].margin_ms, margin, "{kind:?}: {}", said(&all[0]));
    }
}

/// A lock time-out that is a multiple of the interval follows the interval of the call.
#[test]
fn what_follows_from_a_given_number_ok() {
    let given = Given {
        heartbeat: Some(Duration::from_secs(100)),
        ..given()
    };
    for (text, ttl) in [
        ("beat_max_loop_interval = 60\n", 500_000.0),
        (
            "beat_max_loop_interval = 60\nredbeat_lock_timeout = beat_max_loop_interval * 3\n",
            300_000.0,
        ),
        ("beat_max_loop_interval = 60\nredbeat_lock_timeout = 900\n", 900_000.0),
    ] {
        let all = judged("f", text, Some(Kind::Redbeat), &given).expect(text);
        assert_eq!(all[0].terms[0].ms, ttl, "{text}: {}", said(&all[0]));
    }
}

#[test]
fn files_bad() {
    for (text, kind, needle) in [
        ("a: 1\n", None, "f: no lock settings of a known system are in it"),
        ("", None, "no lock settings"),
        (
            "lockWatchdogTimeout: 1\nloop_wait: 2\n",
            None,
            "it has settings of redisson and of patroni",
        ),
        (
            "lockWatchdogTimeout: soon\n",
            None,
            "f:1: lockWatchdogTimeout: `soon` is no duration",
        ),
        ("lockWatchdogTimeout: 0\n", None, "f:1: lockWatchdogTimeout is zero"),
        ("lockWatchdogTimeout: -5\n", None, "no time that a lease could live"),
        ("lockWatchdogTimeout: [1\n", None, "f:"),
        (
            "leaseDuration: 15\n",
            None,
            "f:1: leaseDuration: `15` has no unit: write `15s`",
        ),
        ("leaseDuration: ${LEASE}\n", None, "is a placeholder"),
        (
            "a:\n  leaseDuration: 15s\nb:\n  leaseDuration: 16s\n",
            None,
            "f:4: b.leaseDuration is 16s here, and a.leaseDuration is 15s in line 2",
        ),
        (
            "redbeat_lock_timeout = x * 5",
            None,
            "f:1: redbeat_lock_timeout: `x` is no duration",
        ),
        (
            "a: 1\n",
            Some(Kind::ShedLock),
            "no lockAtMostFor is in it: give it with --ttl",
        ),
        (
            "TTL: forever\n",
            Some(Kind::ConsulSession),
            "f:1: TTL: `forever` is no duration",
        ),
        ("a: 1\n", Some(Kind::Plan), "a plan is TOML"),
    ] {
        let says = judged("f", text, kind, &Given::default()).expect_err(text);
        assert!(says.contains(needle), "{text}: {says}");
    }
    let says = "redison".parse::<Kind>().expect_err("no kind");
    assert!(says.contains("did you mean `redisson`?"), "{says}");
}

/// Whatever is cut off or put in: an answer or a complaint, never a panic.
#[test]
fn damaged_samples_ok() {
    let given = given();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")).expect("samples") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a text");
        for at in (0..text.len()).step_by(5).filter(|at| text.is_char_boundary(*at)) {
            let (before, after) = text.split_at(at);
            let less = after.chars().skip(1).collect::<String>();
            for damaged in [
                before.to_owned(),
                format!("{before}{less}"),
                format!("{before}9{after}"),
                format!("{before}\n{after}"),
                format!("{before}: {after}"),
            ] {
                for kind in [None, Some(Kind::EtcdSession)] {
                    let _ = judged("f", &damaged, kind, &given);
                }
            }
        }
    }
}
