//! The document of `--json` keeps to its schema, and old documents stay readable.

mod sample;
mod schema;

use leaseproof_model::verdict::RunVerdict;
use leaseproof_report::json;
use serde_json::{Value, json};

fn document() -> Value {
    serde_json::from_str(&json::render(&sample::sample().run)).unwrap()
}

#[test]
fn the_sample_keeps_to_the_schema_ok() {
    assert_eq!(schema::verdict_1().errors(&document()), Vec::<String>::new());
}

#[test]
fn a_twin_keeps_to_the_schema_ok() {
    let mut run = sample::sample().run;
    let twin = run.scenarios[1].clone();
    run.scenarios[0].twin = Some(Box::new(twin));
    run.scenarios[0].availability = None;
    run.incomplete = Some("interrupted".to_owned());
    let document = serde_json::from_str(&json::render(&run)).unwrap();
    assert_eq!(schema::verdict_1().errors(&document), Vec::<String>::new());
}

#[test]
fn what_is_not_in_the_schema_is_seen_bad() {
    let mut missing = document();
    missing["scenarios"][0].as_object_mut().unwrap().remove("safety");
    let mut number = document();
    number["scenarios"][0]["findings"][0]["evidence"][0] = json!(17);
    let mut word = document();
    word["verdict"] = json!("cannot tell");
    for document in [missing, number, word] {
        assert_ne!(schema::verdict_1().errors(&document), Vec::<String>::new());
    }
}

#[test]
fn events_are_named_as_people_read_them_ok() {
    let document = document();
    let id = document["scenarios"][0]["findings"][0]["evidence"][0].as_str().unwrap();
    assert!(id.starts_with('e') && id[1..].parse::<u64>().is_ok(), "{id}");
    assert_eq!(document["budget"]["numbers"]["heartbeat_ms"], json!(1000.0));
}

#[test]
fn the_document_can_be_read_again_ok() {
    let run = sample::sample().run;
    let again: RunVerdict = serde_json::from_str(&json::render(&run)).unwrap();
    assert_eq!(again, run);
}

#[test]
fn a_measure_that_is_no_number_does_not_spoil_the_document_bad() {
    let mut run = sample::sample().run;
    run.scenarios[0].measures.insert("pause_ms".to_owned(), f64::NAN);
    let again: RunVerdict = serde_json::from_str(&json::render(&run)).unwrap();
    assert!(!again.scenarios[0].measures.contains_key("pause_ms"));
}
