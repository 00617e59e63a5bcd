//! Settings in programs, and what could not be read of them.

use crate::support::{SECOND, facts, given, judged, said};
use leaseproof_check::foreign::{self, Kind};
use leaseproof_check::report::{Answer, Document};
use leaseproof_check::{Demands, Given, faces, judge};

/// A kind that is named, and a file that has none of its settings, or one that could not be read: never a pass, and
/// never a failure by defaults either.
#[test]
fn unread_bad() {
    let harsh = Given {
        worst_pause: Some(SECOND * 3600),
        ..Given::default()
    };
    for (text, kind, needle) in [
        ("", Kind::Patroni, "no setting of patroni was found"),
        ("", Kind::Redisson, "no setting of redisson was found"),
        ("server:\n  timeout: 5\n", Kind::Redisson, "no setting of redisson"),
        ("a: 1\n", Kind::Kubernetes, "no setting of kubernetes"),
        ("x = 1\n", Kind::Redbeat, "no setting of redbeat"),
        ("", Kind::ConsulSession, "no setting of consul-session"),
        ("", Kind::ZooKeeper, "no setting of zookeeper"),
        (
            "s, err := concurrency.NewSession(cli, options...)",
            Kind::EtcdSession,
            "no setting of etcd-session",
        ),
        (
            "s, err := concurrency.NewSession(cli, concurrency.WithTTL(ttl))",
            Kind::EtcdSession,
            "WithTTL is `ttl`, and no literal of that name",
        ),
        (
            "config.useSingleServer().setTimeout(3000);\nconfig.setLockWatchdogTimeout(\n    10_000L);",
            Kind::Redisson,
            "what lockWatchdogTimeout is in line 2 could not be read",
        ),
        (
            "ctrl.Options{\n\tLeaseDuration: &leaseDuration,\n\tRenewDeadline: &d,\n}\nd := 10 * time.Second\n",
            Kind::Kubernetes,
            "LeaseDuration is `&leaseDuration`",
        ),
    ] {
        for given in [&given(), &harsh, &Given::default()] {
            let all = judged("f", text, Some(kind), given).unwrap_or_else(|says| panic!("{text}: {says}"));
            assert_eq!(all[0].verdict, Answer::CannotTell, "{text}: {}", said(&all[0]));
            assert!(said(&all[0]).contains(needle), "{text}: {}", said(&all[0]));
            assert!(all[0].changes.is_empty(), "{text}");
            let shown = faces::explain(&Document::of(all, Vec::new()), faces::Style::default());
            assert!(!shown.contains("margin"), "{shown}");
        }
    }
    let all = judged("f", "--leader-elect\n", Some(Kind::Kubernetes), &given()).expect("flags");
    let remedy = all[0].checks[0].remedy.clone().unwrap_or_default();
    assert!(
        remedy.contains("--ttl (leaseDuration), --renew-timeout (renewDeadline) and --heartbeat (retryPeriod)"),
        "{remedy}"
    );
    let told = Given {
        ttl: Some(SECOND * 10),
        ..given()
    };
    let all = judged("f", "", Some(Kind::Redisson), &told).expect("the call says it");
    assert_eq!(all[0].verdict, Answer::Holds, "{}", said(&all[0]));
}

/// Java, Go and Spring, and the default beside what was found.
#[test]
fn programs_ok() {
    let given = given();
    for (text, kind, terms, line) in [
        (
            "s, err := concurrency.NewSession(cli,\n    concurrency.WithTTL(10))\n",
            Some(Kind::EtcdSession),
            [10_000.0, 3334.0, 0.0],
            Some(2),
        ),
        (
            "concurrency.NewSession(cli, concurrency.WithTTL(10))",
            Some(Kind::EtcdSession),
            [10_000.0, 3334.0, 0.0],
            Some(1),
        ),
        (
            "const n = 12\nconcurrency.NewSession(cli, concurrency.WithTTL(n))",
            Some(Kind::EtcdSession),
            [12_000.0, 4000.0, 0.0],
            Some(1),
        ),
        (
            "s, err := concurrency.NewSession(cli)",
            Some(Kind::EtcdSession),
            [60_000.0, 20_000.0, 0.0],
            None,
        ),
        (
            "config.setLockWatchdogTimeout(10_000L);",
            None,
            [10_000.0, 3334.0, 3000.0],
            Some(1),
        ),
        (
            "spring:\n  redis:\n    redisson:\n      config: |\n        singleServerConfig:\n          timeout: 1000\n        \
             lockWatchdogTimeout: 10000\n",
            None,
            [10_000.0, 3334.0, 1000.0],
            Some(7),
        ),
        (
            "leaseDuration := 30 * time.Second\nrenew := 20 * time.Second\nmgr, err := ctrl.NewManager(c, ctrl.Options{\n\t\
             LeaseDuration: &leaseDuration,\n\tRenewDeadline: &renew,\n})\n",
            None,
            [30_000.0, 2000.0, 20_000.0],
            Some(1),
        ),
    ] {
        let all = judged("f", text, kind, &given).unwrap_or_else(|says| panic!("{text}: {says}"));
        let seen: Vec<f64> = all[0].terms.iter().take(3).map(|term| term.ms).collect();
        assert_eq!(seen, terms, "{text}: {}", said(&all[0]));
        assert_eq!(all[0].terms[0].line, line, "{text}");
    }
    let all = judged("f", "loop_wait: 5\n", None, &given).expect("it is read");
    assert!(
        said(&all[0]).contains("taken as the default: ttl 30s (Patroni's ttl, 30 s), 2 × retry_timeout 20s"),
        "{}",
        said(&all[0])
    );
}

/// client-go gives up after renewDeadline, however long the lease is.
#[test]
fn kubernetes_attempts_ok() {
    for (text, may) in [
        ("leaseDuration: 60s\nrenewDeadline: 15s\nretryPeriod: 5s\n", 2),
        ("leaseDuration: 15s\nrenewDeadline: 10s\nretryPeriod: 2s\n", 4),
    ] {
        for (demanded, verdict) in [(may, Answer::Holds), (may + 1, Answer::DoesNotHold)] {
            let subjects = foreign::read("f", text, None, &given(), &facts).expect("settings");
            let seen = judge(
                &subjects[0],
                None,
                Demands {
                    renewals: Some(demanded),
                },
            );
            assert_eq!(
                (seen.renewals_that_may_fail, seen.verdict),
                (Some(may), verdict),
                "{}",
                said(&seen)
            );
        }
    }
}
