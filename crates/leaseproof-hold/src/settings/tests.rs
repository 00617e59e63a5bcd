//! What is made of what was given.

use super::*;

const MS: Duration = Duration::from_millis(1);

fn given() -> Given {
    Given {
        store: "sqlite:/nowhere/locks.db".to_owned(),
        key: "k".to_owned(),
        command: vec!["true".into()],
        ..Given::default()
    }
}

fn read(given: Given, env: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    Settings::from(given, |name| {
        env.iter()
            .find(|(it, _)| *it == name)
            .map(|(_, text)| (*text).to_owned())
    })
}

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

#[test]
fn usual_numbers_leave_a_grace() {
    let settings = read(given(), &[]).expect("they hold");
    assert_eq!(settings.budget.numbers().ttl, 15_000 * MS);
    assert_eq!(settings.timing.grace, 3800 * MS);
    assert_eq!(settings.timing.asked_grace, 5000 * MS);
    assert_eq!(settings.wait, None);
}

#[test]
fn the_contracts_variables_are_the_default_plan() {
    let env = [
        ("LEASEPROOF_TTL_MS", "3000"),
        ("LEASEPROOF_HEARTBEAT_MS", "1000"),
        ("LEASEPROOF_RENEW_TIMEOUT_MS", "200"),
        ("LEASEPROOF_OWNER", "a1"),
    ];
    let settings = read(given(), &env).expect("they hold");
    assert_eq!(settings.budget.numbers().worst_pause, 1500 * MS);
    assert_eq!(settings.timing.grace, 200 * MS);
    assert_eq!(settings.owner.as_deref(), Some("a1"));
    // A TTL of one's own brings a heartbeat of its own.
    let own = Given {
        ttl: text("10s"),
        ..given()
    };
    assert_eq!(
        read(own, &env).expect("they hold").budget.numbers().heartbeat,
        2000 * MS
    );
}

#[test]
fn what_is_wrong_says_what_would_be_right() {
    for (given, part, status) in [
        (
            Given {
                ttl: text("3"),
                ..given()
            },
            "--ttl: `3` has no unit",
            2,
        ),
        (
            Given {
                key: String::new(),
                ..given()
            },
            "the key is empty",
            2,
        ),
        (
            Given {
                store: "http://x".to_owned(),
                ..given()
            },
            "no store",
            2,
        ),
        (
            Given {
                grace: text("5s"),
                ..given()
            },
            "The longest that fits is 3.8s",
            2,
        ),
        (
            Given {
                worst_pause: text("11.9s"),
                ..given()
            },
            "LP019",
            2,
        ),
        (
            Given {
                worst_pause: text("11310ms"),
                ..given()
            },
            "less than the 50ms that a kill may take",
            2,
        ),
        (
            Given {
                command: vec![],
                ..given()
            },
            "give one after --",
            2,
        ),
        (
            Given {
                command: vec!["no-such-command-of-ours".into()],
                ..given()
            },
            "no such command",
            127,
        ),
        (
            Given {
                command: vec!["/etc/passwd".into()],
                ..given()
            },
            "can't be executed",
            126,
        ),
        (
            Given {
                plan: Some("/nowhere/plan.toml".into()),
                ..given()
            },
            "/nowhere/plan.toml",
            2,
        ),
    ] {
        let error = read(given, &[]).expect_err(part);
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(error.status(), status, "{error}");
    }
    let error = read(given(), &[("LEASEPROOF_TTL_MS", "3s")]).expect_err("no number");
    assert!(error.to_string().contains("whole number of milliseconds"), "{error}");
}
