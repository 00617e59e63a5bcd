//! The plan's JSON Schema knows what the plan's reader knows, no more and no less.

#[path = "../../leaseproof-report/tests/schema/mod.rs"]
mod schema;

use leaseproof_check::PLAN_SCHEMA;
use leaseproof_check::plan::PlanFile;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The keys of a table, by the reader's own complaint about one that it doesn't know.
fn keys_of_reader(table: &str) -> BTreeSet<String> {
    let error = toml::from_str::<PlanFile>(&format!("{table}\nno_such_key = 1\n")).expect_err(table);
    let names = error.message().split('`').skip(3).step_by(2).map(str::to_owned);
    names.collect()
}

#[test]
fn every_key_is_in_the_schema_ok() {
    let schema: Value = serde_json::from_str(PLAN_SCHEMA).expect("JSON");
    for (table, pointer) in [
        ("", ""),
        ("[budget]", "/properties/budget"),
        ("[connection]", "/properties/connection"),
        ("[store]", "/properties/store"),
        ("[owner]", "/properties/owner"),
        ("[owner.lines]", "/properties/owner/properties/lines"),
        ("[verify]", "/properties/verify"),
        ("[watch]", "/properties/watch"),
        ("[diagnose]", "/properties/diagnose"),
        ("[diagnose.owner]", "/properties/diagnose/properties/owner"),
        ("[diagnose.resource]", "/properties/diagnose/properties/resource"),
        ("[[watch.lease]]", "/properties/watch/properties/lease/items"),
        (
            "[[watch.lease]]\n[watch.lease.owner]",
            "/properties/watch/properties/lease/items/properties/owner",
        ),
    ] {
        let of_schema = schema.pointer(pointer).expect(pointer)["properties"]
            .as_object()
            .expect("properties");
        let of_schema: BTreeSet<String> = of_schema.keys().cloned().collect();
        let of_reader = keys_of_reader(table);
        assert!(of_reader.len() > 1, "{table}: {of_reader:?}");
        assert_eq!(of_schema, of_reader, "{table}");
    }
}

/// The TOML between two marks of a file of this repository.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).expect("it begins");
    rest.split_once(to).expect("it ends").0
}

/// The keys that a plan shows as comments, in force.
fn uncommented(plan: &str) -> String {
    let line = |line: &str| {
        let rest = line.strip_prefix("# ").unwrap_or_default();
        let name = rest.split(" = ").next().unwrap_or_default();
        let is_key =
            rest.contains(" = ") && name.chars().all(|c| c.is_ascii_lowercase() || c == '_') && name != "margin";
        if is_key || rest.starts_with('[') {
            rest.to_owned()
        } else {
            line.to_owned()
        }
    };
    plan.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_plans_of_the_docs_keep_to_it_ok() {
    let docs = between(include_str!("../../../docs/plan.md"), "```toml\n", "```");
    let init = between(include_str!("../../leaseproof-lab/src/plan/init.rs"), "r#\"", "\"#");
    for plan in [docs.to_owned(), init.to_owned(), uncommented(docs), uncommented(init)] {
        let value: Value = toml::from_str(&plan).unwrap_or_else(|error| panic!("{error}\n{plan}"));
        assert_eq!(schema::plan_1().errors(&value), Vec::<String>::new(), "{plan}");
        toml::from_str::<PlanFile>(&plan).expect("the reader reads it");
    }
    assert!(uncommented(docs).contains("\nowner_key = "));
}

#[test]
fn plans_that_do_not_keep_to_it_bad() {
    for (plan, needle) in [
        (json!({ "budget": { "ttl": 3 } }), "$.budget.ttl: 3 is not"),
        (json!({ "budget": { "ttl": "3" } }), "does not match"),
        (json!({ "budget": { "tll": "3s" } }), "tll is not in the schema"),
        (json!({ "verify": { "cycles": 0 } }), "below 1"),
        (json!({ "owner": { "env": { "A": 1 } } }), "$.owner.env.A"),
        (
            json!({ "diagnose": { "owner": { "lost": 1 } } }),
            "$.diagnose.owner.lost",
        ),
    ] {
        let errors = schema::plan_1().errors(&plan).join("\n");
        assert!(errors.contains(needle), "{errors}");
    }
}
