//! `[diagnose.owner]` and `[diagnose.resource]` of a plan: the user's expressions for lines.

use leaseproof_check::plan::{Place, PlanError, PlanFile, Text, nearest};
use leaseproof_evidence::patterns::{OwnerLine, PatternError, Patterns, ResourceLine};
use regex::Regex;

const OF_OWNER: [&str; 5] = ["token", "key", "holder", "reason", "ttl"];
const OF_RESOURCE: [&str; 5] = ["token", "key", "sender", "status", "serial"];

/// The expressions of a plan.
///
/// # Errors
/// File, line and column of an expression that is wrong, or that has a group that nobody reads.
pub fn of_plan(file: &PlanFile, place: &Place<'_>) -> Result<Patterns, PlanError> {
    let mut patterns = Patterns::default();
    let own = &file.diagnose.owner;
    for (key, text) in own.given() {
        let name = format!("diagnose.owner.{key}");
        if let Some(line) = OwnerLine::named(key) {
            let added = patterns.owner(line, &name, text.get_ref());
            added.map_err(|error| wrong(place, text, &error))?;
        }
        groups(place, &name, text, &OF_OWNER)?;
    }
    // What `verify` reads an owner's output with is good for its log as well.
    let lines = file.owner.lines.iter().flat_map(|lines| lines.given());
    for (key, text) in lines.filter(|(key, _)| own.given().all(|(given, _)| given != *key)) {
        if let Some(line) = OwnerLine::named(key) {
            let added = patterns.owner(line, &format!("owner.lines.{key}"), text.get_ref());
            added.map_err(|error| wrong(place, text, &error))?;
        }
    }
    let resource = &file.diagnose.resource;
    for (key, text) in [
        ("write", &resource.write),
        ("accepted", &resource.accepted),
        ("rejected", &resource.rejected),
    ] {
        let (Some(text), Some(line)) = (text, ResourceLine::named(key)) else {
            continue;
        };
        let name = format!("diagnose.resource.{key}");
        let added = patterns.resource(line, &name, text.get_ref());
        added.map_err(|error| wrong(place, text, &error))?;
        groups(place, &name, text, &OF_RESOURCE)?;
    }
    if let Some(path) = &resource.token_path {
        patterns.token_path(path.get_ref());
    }
    Ok(patterns)
}

/// A wrong expression, at the very letter where the file has it as it is.
fn wrong(place: &Place<'_>, text: &Text, error: &PatternError) -> PlanError {
    let expression = text.get_ref();
    let before: usize = expression
        .split_inclusive('\n')
        .take(error.line - 1)
        .map(str::len)
        .sum();
    let line = expression.get(before..).unwrap_or_default();
    let within = line.chars().take(error.column - 1).map(char::len_utf8).sum::<usize>();
    let says = format!(
        "{}: the regular expression `{expression}` is wrong: {}",
        error.name, error.says
    );
    at(place, text, before + within, &says)
}

/// A complaint about the letter of an expression; about its begin where the file has it with escapes.
fn at(place: &Place<'_>, text: &Text, letter: usize, says: &str) -> PlanError {
    let span = text.span();
    let written = place.text.get(span.clone()).unwrap_or_default();
    match written.find(text.get_ref().as_str()) {
        Some(begin) => {
            let start = span.start + begin + letter;
            // At its end, what is missing there is meant.
            place.at(start..start + 1, says)
        }
        None => place.at(span, says),
    }
}

/// A group that nobody reads is a name mistyped, and what it was to find would be missing in silence.
fn groups(place: &Place<'_>, name: &str, text: &Text, known: &[&str]) -> Result<(), PlanError> {
    let expression = text.get_ref();
    let Ok(regex) = Regex::new(expression) else {
        return Ok(());
    };
    let Some(group) = regex.capture_names().flatten().find(|group| !known.contains(group)) else {
        return Ok(());
    };
    let meant = nearest(group, known.iter().copied());
    let remedy = meant.map_or_else(
        || format!("there are {}; write (?:…) for a group without a name", known.join(", ")),
        |meant| format!("did you mean `{meant}`?"),
    );
    let letter = expression.find(&format!("<{group}>")).map_or(0, |at| at + 1);
    Err(at(
        place,
        text,
        letter,
        &format!("{name}: nobody reads the group `{group}`: {remedy}"),
    ))
}
