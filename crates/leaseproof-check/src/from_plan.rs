//! A plan as what is judged.

use crate::connection::Connection;
use crate::given::Given;
use crate::plan::{Place, PlanError, PlanFile, Text};
use crate::subject::{Knob, Knobs, Number, Origin, Rules, Shares, Subject, Write};
use leaseproof_model::budget::Budget;
use leaseproof_model::store::StoreFacts;
use std::path::Path;
use std::time::Duration;

/// The default of every number, whose it is.
const OURS: &str = "docs/plan.md";

/// What is judged of a plan: its budget, on each of its stores. `facts` says what is known of the store behind a URL.
///
/// # Errors
/// When a number is none, with file, line and remedy.
pub fn from_plan(
    file: &PlanFile,
    path: &Path,
    text: &str,
    given: &Given,
    facts: &dyn Fn(&str) -> Result<StoreFacts, String>,
) -> Result<Vec<Subject>, PlanError> {
    let place = Place { path: Some(path), text };
    let mut table = file.budget.clone();
    for (value, slot) in [
        (given.ttl, &mut table.ttl),
        (given.heartbeat, &mut table.heartbeat),
        (given.renew_timeout, &mut table.renew_timeout),
        (given.max_clock_drift, &mut table.max_clock_drift),
        (given.worst_pause, &mut table.worst_pause),
    ] {
        if let Some(span) = value {
            *slot = Some(toml::Spanned::new(0..0, format!("{}ns", span.as_nanos())));
        }
    }
    let budget = place.numbers(&table)?;
    let number = |key: &str, value: &Option<Text>, span| read(place, key, value.as_ref(), span);
    let connection = &file.connection;
    let optional = |key: &str, value: &Option<Text>| match value {
        None => Ok(None),
        Some(_) => {
            let span = place.duration(key, value.as_ref(), Duration::ZERO)?;
            Ok(Some(read(place, key, value.as_ref(), span)))
        }
    };
    let toml = |key: &str, least| Knob {
        key: key.to_owned(),
        step: Duration::from_millis(1),
        least,
        most: None,
        write: Write::Toml,
        times: 1,
    };
    let subject = Subject {
        file: path.display().to_string(),
        kind: "plan",
        name: None,
        ttl: number("ttl", &table.ttl, budget.ttl),
        heartbeat: number("heartbeat", &table.heartbeat, budget.heartbeat),
        renew_timeout: number("renew_timeout", &table.renew_timeout, budget.renew_timeout),
        max_clock_drift: number("max_clock_drift", &table.max_clock_drift, budget.max_clock_drift),
        // A default would be a claim about a program that nobody has looked at.
        worst_pause: table
            .worst_pause
            .as_ref()
            .map(|_| number("worst_pause", &table.worst_pause, budget.worst_pause)),
        renewed: true,
        store: None,
        connection: Connection {
            keepalive: optional("keepalive", &connection.keepalive)?,
            user_timeout: optional("user_timeout", &connection.user_timeout)?,
            idle_timeout: optional("idle_timeout", &connection.idle_timeout)?,
            pool_max_idle: optional("pool_max_idle", &connection.pool_max_idle)?,
        },
        unread: None,
        own: Vec::new(),
        rules: Rules::default(),
        shares: Shares::default(),
        knobs: Knobs {
            heartbeat: Some(toml("heartbeat", Budget::LEAST_HEARTBEAT)),
            renew_timeout: Some(toml("renew_timeout", Duration::from_millis(10))),
            worst_pause: table
                .worst_pause
                .as_ref()
                .map(|_| toml("worst_pause", Duration::from_millis(1))),
            ttl: Some(toml("ttl", Duration::from_millis(100))),
        },
    };
    let stores = stores(file, place, given, facts)?;
    let several = stores.len() > 1;
    let on = |facts: StoreFacts| {
        let mut subject = subject.clone();
        // No TTL is in force between two of the store's steps.
        if let Some(knob) = &mut subject.knobs.ttl {
            knob.step = knob.step.max(facts.ttl_step);
        }
        subject.name = several.then(|| format!("on {}", facts.kind));
        subject.store = Some(facts);
        subject
    };
    Ok(stores.into_iter().map(on).collect())
}

/// What is known of the stores that the plan names, or of the one that the call names.
fn stores(
    file: &PlanFile,
    place: Place<'_>,
    given: &Given,
    facts: &dyn Fn(&str) -> Result<StoreFacts, String>,
) -> Result<Vec<StoreFacts>, PlanError> {
    if let Some(store) = &given.store {
        return Ok(vec![store.clone()]);
    }
    let known = |text: &Text, url: &str| facts(url).map_err(|says| place.at(text.span(), &says));
    let table = &file.store;
    let mut stores = Vec::new();
    for text in table.url.iter().chain(table.also.iter().flatten()) {
        stores.push(known(text, text.get_ref())?);
    }
    for text in table.start.iter().flatten() {
        stores.push(known(text, &started(text.get_ref()))?);
    }
    if stores.is_empty() {
        stores.push(facts("sqlite:.leaseproof/locks.db").map_err(PlanError)?);
    }
    Ok(stores)
}

/// `etcd:3` as a URL of that kind: a server that is started for a run is as it comes.
fn started(start: &str) -> String {
    let kind = start.split(':').next().unwrap_or_default();
    match kind {
        "redis-sentinel" => "redis+sentinel://127.0.0.1/service".to_owned(),
        "postgres" => "postgres://127.0.0.1/postgres".to_owned(),
        kind => format!("{kind}://127.0.0.1"),
    }
}

fn read(place: Place<'_>, key: &str, value: Option<&Text>, span: Duration) -> Number {
    let line = value.and_then(|text| place.line(&text.span()));
    let origin = match (value, line) {
        (Some(_), Some(_)) => Origin::Written,
        (Some(_), None) => Origin::CommandLine,
        (None, _) => Origin::Default(OURS.to_owned()),
    };
    Number {
        line,
        ..Number::new(key, span, origin)
    }
}
