//! The contract test, on sound resources and on flawed ones: each flaw is caught, and by what it breaks.

mod controls;
mod flawed;
#[path = "../mariadb_server/mod.rs"]
mod mariadb_server;
#[path = "../../../leaseproof-store/tests/postgres_server/mod.rs"]
mod postgres_server;
mod real;
#[path = "../../../leaseproof-store/tests/redis_server/mod.rs"]
mod redis_server;

#[path = "../../../leaseproof-report/tests/schema/mod.rs"]
#[allow(dead_code, reason = "it has the schemas of other documents, too")]
mod schema;

use leaseproof_gate::contract::{Plan, Report, Target, run, scratch_key};
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// How long any answer may take.
const LONG: Duration = Duration::from_secs(20);

/// A plan that asks for everything.
fn plan(key: &str, restart: Option<String>) -> Plan {
    Plan {
        key: key.to_owned(),
        from: 1,
        large: true,
        restart,
        restart_patience: LONG,
        rounds: 10,
    }
}

fn asked(target: &dyn Target, key: &str, restart: Option<String>) -> Report {
    let report = run(target, &plan(key, restart));
    let document = serde_json::to_value(&report).expect("a document");
    assert_eq!(
        schema::fence_test_1().errors(&document),
        Vec::<String>::new(),
        "{document:#}"
    );
    report
}

/// `DEMAND RULE` of each fault.
fn faults(report: &Report) -> Vec<String> {
    report
        .checks
        .iter()
        .filter(|check| check.holds == Truth::No)
        .map(|check| {
            let fault = check.fault.as_ref().expect("a fault has its proof");
            format!("{} {}", check.demand.as_str(), fault.rule)
        })
        .collect()
}

fn key() -> String {
    scratch_key()
}
