//! One look, from the first question to the answer.

use super::against::against;
use super::answer::{answer, findings};
use super::holder::suspects;
use super::host::Host;
use super::keep::Keep;
use super::overdue::slowest;
use super::sample::Sample;
use super::sampling;
use super::settings::{MONITOR_LINES, Progress, Settings};
use super::side::{Evidence, first_look};
use super::steps::Steps;
use super::view::{Span, view};
use crate::mend::mend;
use leaseproof_model::inspect::owner_view::OwnerView;
use leaseproof_model::inspect::store_view::{Form, KeyForm, StoreView};
use leaseproof_model::inspect::{FirstLook, INSPECT_SCHEMA, Inspection, Side};
use leaseproof_model::verdict::Verdict;
use leaseproof_proc::clock::{boot_now, stamp_now};
use leaseproof_store::{Hints, Inspect, StoreError, open_inspector, shown_key};

/// The call is wrong, in words for people: nothing was looked at.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// Everything that was seen, before it is judged.
#[derive(Default)]
struct Seen {
    unreachable: Option<String>,
    store: Option<StoreView>,
    samples: Vec<Sample>,
    span: Span,
    owners: Vec<OwnerView>,
    /// The near ends of the named processes' connections when the store was asked for its list.
    addresses: Vec<String>,
    by_hand: Vec<String>,
}

/// Looks.
///
/// # Errors
/// Where the call itself is wrong: credentials, another protocol, a process that is not there, a
/// folder that can't be written. What keeps the store from answering is an answer, not an error.
pub fn run(settings: &Settings) -> Result<Inspection, Refused> {
    let began = stamp_now();
    let hosts = hosts(settings)?;
    let mut opened = open_inspector(&settings.url, settings.timeout);
    if let Err(error) = &opened
        && let Some(refused) = refused(error)
    {
        return Err(refused);
    }
    if let (Err(error @ StoreError::Unreachable { .. }), Some(_)) = (&opened, settings.url.path()) {
        return Err(Refused(format!("{error}\n  name the file of the leases: sqlite:PATH")));
    }
    // Before the first question, so that what follows is kept as it comes.
    let mut keep = Keep::start(settings.save.as_deref(), &shown_key(&settings.key)).map_err(Refused)?;
    let mut seen = Seen::default();
    let looked = match &mut opened {
        Ok(store) => look(store.as_mut(), settings, &hosts, &mut keep, &mut seen),
        Err(error) => {
            seen.unreachable = Some(error.to_string());
            seen.owners = hosts.iter().map(Host::view).collect();
            Ok(())
        }
    };
    if let Err(error) = looked {
        if let Some(refused) = refused(&error) {
            return Err(refused);
        }
        seen.unreachable = Some(error.to_string());
        if seen.owners.is_empty() {
            seen.owners = hosts.iter().map(Host::view).collect();
        }
    }
    let mut inspection = judge(settings, opened.as_deref().ok(), seen);
    if let Some(owner) = &inspection.owner {
        keep.document("owner.json", owner);
    }
    for (place, other) in inspection.others.iter().enumerate() {
        keep.document(&format!("owner-{}.json", place + 2), other);
    }
    inspection.began_unix_ms = began.wall.0 / 1_000_000;
    inspection.took_ms = u64::try_from(boot_now().since(began.boot).as_millis()).unwrap_or(u64::MAX);
    if let Err(why) = keep.finish(&mut inspection) {
        // What was to be kept and wasn't is no pass.
        if inspection.verdict == Verdict::Proven {
            inspection.verdict = Verdict::CannotTell;
            inspection.says.clone_from(&why);
        }
        inspection.first.why.push(why);
    }
    Ok(inspection)
}

/// Each process that was named, once.
fn hosts(settings: &Settings) -> Result<Vec<Host>, Refused> {
    let mut hosts: Vec<Host> = Vec::new();
    for (place, pid) in settings.owner_pids.iter().enumerate() {
        if !settings.owner_pids[..place].contains(pid) {
            hosts.push(host(settings, *pid)?);
        }
    }
    Ok(hosts)
}

fn host(settings: &Settings, pid: u32) -> Result<Host, Refused> {
    let port = settings.url.host_port().map(|(_, port)| port);
    Host::look(pid, port).map_err(|error| {
        Refused(format!(
            "--owner-pid {pid}: there is no such process on this host ({error}): give the owner's pid on its own host"
        ))
    })
}

/// What the caller has to mend, not the store.
fn refused(error: &StoreError) -> Option<Refused> {
    let next = mend(error)?;
    Some(Refused(format!("{error}{next}")))
}

fn look(
    store: &mut dyn Inspect,
    settings: &Settings,
    hosts: &[Host],
    keep: &mut Keep,
    seen: &mut Seen,
) -> Result<(), StoreError> {
    let key = &settings.key;
    seen.by_hand = store.by_hand(key);
    let form = store.form(key)?;
    let mut hints = Hints {
        holder: None,
        addresses: hosts.iter().flat_map(Host::addresses).collect(),
    };
    let readable = matches!(form.form, Form::Lease | Form::Absent);
    let mut first = None;
    if readable {
        // The span begins here: what is asked next lies inside it.
        let sample = sampling::first(store, settings, keep)?;
        hints.holder = sample.held().map(|held| held.holder.clone());
        first = Some(sample);
    }
    seen.addresses.clone_from(&hints.addresses);
    let mut view = store.look(key, &form, &hints)?;
    // What was found may have a name by now that those commands need.
    seen.by_hand = store.by_hand(key);
    keep.document("store.json", &view);
    if let Some(span) = settings.monitor {
        (settings.progress)(&Progress::Monitoring(span));
        view.monitored = Some(store.monitor(key, span, MONITOR_LINES)?);
        keep.document("monitor.json", &view.monitored);
        // A span with a hole of seconds at its begin would be worth less.
        first = None;
    }
    seen.store = Some(view);
    if readable {
        (seen.samples, seen.span) = sampling::take(store, settings, keep, first);
        later_form(store, settings, &form, seen);
    }
    seen.owners = hosts.iter().map(Host::view).collect();
    Ok(())
}

/// A key that was absent may have come to be something else meanwhile; then its form is told anew.
fn later_form(store: &mut dyn Inspect, settings: &Settings, first: &KeyForm, seen: &mut Seen) {
    if seen.samples.last().is_some_and(|sample| sample.seen.is_ok()) {
        return;
    }
    if let (Ok(form), Some(view)) = (store.form(&settings.key), &mut seen.store)
        && form.form != first.form
    {
        view.key = form;
    }
}

fn judge(settings: &Settings, store: Option<&dyn Inspect>, mut seen: Seen) -> Inspection {
    let empty = || (None, Steps::default());
    let (lease, steps) = store.map_or_else(empty, |store| {
        let words = |held: Option<&_>, now| store.ttl_words(held, now);
        match view(&seen.samples, store.facts(), seen.span, &words) {
            Some((lease, steps)) => (Some(lease), steps),
            None => empty(),
        }
    });
    let failed = seen.samples.iter().rev().find_map(|it| it.seen.as_ref().err());
    let unreachable = seen.unreachable.as_ref().or(failed.filter(|_| lease.is_none()));
    let budget = settings.plan.as_ref().map(|plan| {
        let mut budget = plan.budget;
        budget.early_slack = store.map_or(budget.early_slack, |store| store.facts().early_slack);
        budget
    });
    let plan = settings
        .plan
        .as_ref()
        .zip(budget.as_ref())
        .zip(lease.as_ref())
        .map(|((plan, budget), lease)| against(&plan.path, budget, lease));
    suspects(&mut seen.owners, lease.as_ref(), seen.store.as_ref());
    let mut owners = std::mem::take(&mut seen.owners).into_iter();
    let (owner, others): (_, Vec<OwnerView>) = (owners.next(), owners.collect());
    let evidence = Evidence {
        unreachable: unreachable.map(String::as_str),
        store: seen.store.as_ref(),
        lease: lease.as_ref(),
        plan: plan.as_ref(),
        budget: budget.as_ref(),
        owner: owner.as_ref(),
        others: &others,
        addresses: &seen.addresses,
        slowest: slowest(&seen.samples),
    };
    let first: FirstLook = first_look(&evidence);
    let findings = findings(&evidence, &seen.samples, &steps);
    let (verdict, says) = answer(&evidence, &findings, &first);
    debug_assert!(verdict != Verdict::Proven || first.side == Side::Neither);
    Inspection {
        schema: INSPECT_SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        began_unix_ms: 0,
        took_ms: 0,
        url: settings.url.to_string(),
        key: shown_key(&settings.key),
        verdict,
        says,
        first,
        findings,
        store: seen.store,
        lease,
        plan,
        owner,
        others,
        by_hand: seen.by_hand,
        saved: None,
    }
}
