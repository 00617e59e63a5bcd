//! As much of JSON Schema as our own schemas use; an unknown keyword fails, so that none is skipped.

use serde_json::Value;

pub struct Schema(Value);

#[allow(dead_code, reason = "for the tests of verify")]
pub fn verdict_1() -> Schema {
    let text = include_str!("../../../../docs/schema/verdict-1.schema.json");
    Schema(serde_json::from_str(text).expect("the schema is JSON"))
}

#[allow(dead_code, reason = "for the tests of inspect")]
pub fn inspect_1() -> Schema {
    let text = include_str!("../../../../docs/schema/inspect-1.schema.json");
    Schema(serde_json::from_str(text).expect("the schema is JSON"))
}

#[allow(dead_code, reason = "for the tests of diagnose")]
pub fn diagnosis_1() -> Schema {
    let text = include_str!("../../../../docs/schema/diagnosis-1.schema.json");
    Schema(serde_json::from_str(text).expect("the schema is JSON"))
}

#[allow(dead_code, reason = "for the tests of the gate")]
pub fn fence_test_1() -> Schema {
    let text = include_str!("../../../../docs/schema/fence-test-1.schema.json");
    Schema(serde_json::from_str(text).expect("the schema is JSON"))
}

#[allow(dead_code, reason = "for the tests of check")]
pub fn check_1() -> Schema {
    let text = include_str!("../../../../docs/schema/check-1.schema.json");
    Schema(serde_json::from_str(text).expect("the schema is JSON"))
}

#[allow(dead_code, reason = "for the tests of check")]
pub fn plan_1() -> Schema {
    let text = include_str!("../../../../docs/schema/plan-1.schema.json");
    Schema(serde_json::from_str(text).expect("the schema is JSON"))
}

impl Schema {
    pub fn errors(&self, document: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        self.check(&self.0, document, "$", &mut errors);
        errors
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
        for (keyword, rule) in schema.as_object().expect("a schema is an object") {
            match keyword.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" | "examples" | "default" => {}
                "$ref" => {
                    let path = rule.as_str().unwrap().trim_start_matches('#');
                    self.check(self.0.pointer(path).expect("the reference exists"), value, at, errors);
                }
                "type" => {
                    let wanted: Vec<&str> = rule.as_array().map_or_else(
                        || vec![rule.as_str().unwrap()],
                        |all| all.iter().filter_map(Value::as_str).collect(),
                    );
                    if !wanted.iter().any(|it| is(value, it)) {
                        errors.push(format!("{at}: {value} is not {rule}"));
                    }
                }
                "enum" if rule.as_array().unwrap().contains(value) => {}
                "const" if rule == value => {}
                "enum" | "const" => errors.push(format!("{at}: {value} is not {rule}")),
                "minimum" if value.as_f64() >= rule.as_f64() => {}
                "minimum" => errors.push(format!("{at}: {value} is below {rule}")),
                "pattern" => pattern(rule.as_str().unwrap(), value, at, errors),
                "required" => {
                    for name in rule.as_array().unwrap().iter().filter_map(Value::as_str) {
                        if value.get(name).is_none() {
                            errors.push(format!("{at}: {name} is missing"));
                        }
                    }
                }
                "properties" => {
                    for (name, of) in rule.as_object().unwrap() {
                        if let Some(field) = value.get(name) {
                            self.check(of, field, &format!("{at}.{name}"), errors);
                        }
                    }
                    // A field that the schema forgot would be undocumented.
                    for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
                        if rule.get(name).is_none() {
                            errors.push(format!("{at}: {name} is not in the schema"));
                        }
                    }
                }
                // Said by the properties already.
                "additionalProperties" if rule.is_boolean() => {}
                "additionalProperties" => {
                    for (name, field) in value.as_object().into_iter().flatten() {
                        self.check(rule, field, &format!("{at}.{name}"), errors);
                    }
                }
                "items" => {
                    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{at}[{number}]"), errors);
                    }
                }
                "anyOf" => {
                    let fits = rule.as_array().unwrap().iter().any(|of| {
                        let mut inner = Vec::new();
                        self.check(of, value, at, &mut inner);
                        inner.is_empty()
                    });
                    if !fits {
                        errors.push(format!("{at}: {value} fits none of {rule}"));
                    }
                }
                unknown => panic!("the schema uses {unknown}, which this check does not know"),
            }
        }
    }
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => panic!("no such type: {kind}"),
    }
}

/// The patterns in use: a duration, or a prefix and digits.
fn pattern(pattern: &str, value: &Value, at: &str, errors: &mut Vec<String>) {
    if pattern.contains("(ns|us|µs|ms|s|m|min|h)") {
        let text = value.as_str().unwrap_or_default().trim();
        let number = text.trim_end_matches(|c: char| c.is_alphabetic()).trim_end();
        let unit = text[number.len()..].trim_start();
        if number.parse::<f64>().is_err() || !["ns", "us", "µs", "ms", "s", "m", "min", "h"].contains(&unit) {
            errors.push(format!("{at}: {value} does not match {pattern}"));
        }
        return;
    }
    let (prefix, digits) = match pattern {
        "^e[0-9]+$" => ("e", None),
        "^LP[0-9]{3}$" => ("LP", Some(3)),
        _ => panic!("no such pattern: {pattern}"),
    };
    let rest = value.as_str().and_then(|text| text.strip_prefix(prefix));
    let fits = rest.is_some_and(|it| {
        !it.is_empty() && it.chars().all(|c| c.is_ascii_digit()) && digits.is_none_or(|n| it.len() == n)
    });
    if !fits {
        errors.push(format!("{at}: {value} does not match {pattern}"));
    }
}
