//! The words that every format uses for the model's enums, so that they never differ between formats.

use leaseproof_model::event::{FaultKind, FaultPhase, OwnerEvent, Source, WireSeen, WithinSeen};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::Class;
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::{RunVerdict, ScenarioVerdict, Verdict};
use std::time::Duration;

pub(crate) fn truth(truth: Truth) -> &'static str {
    match truth {
        Truth::Yes => "yes",
        Truth::No => "no",
        Truth::CannotTell => "cannot tell",
    }
}

pub(crate) fn class(class: Class) -> &'static str {
    match class {
        Class::Breach => "breach",
        Class::Availability => "availability",
        Class::Mechanism => "mechanism",
        Class::Cause => "cause",
        Class::Notice => "notice",
    }
}

pub(crate) fn subject(subject: Subject) -> &'static str {
    match subject {
        Subject::Owner => "owner",
        Subject::Resource => "resource",
        Subject::Store => "store",
        Subject::Configuration => "configuration",
        Subject::Network => "network",
        Subject::Rig => "our own rig",
    }
}

pub(crate) fn source(source: Source) -> &'static str {
    match source {
        Source::Lab => "lab",
        Source::Fault => "fault",
        Source::Process => "process",
        Source::Store => "store",
        Source::Witness => "resource",
        Source::Owner => "owner",
        Source::Relay => "relay",
        Source::Shim => "clock shim",
    }
}

pub(crate) fn fault(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::PauseTree => "pause of the whole tree",
        FaultKind::PauseParent => "pause of the parent only",
        FaultKind::PauseChild => "pause of the children only",
        FaultKind::KillTree => "kill of the whole tree",
        FaultKind::Terminate => "request to end (SIGTERM)",
        FaultKind::ClockStep => "step of the wall clock",
        FaultKind::Blackhole => "black hole to the store",
        FaultKind::Reset => "reset of the connection",
        FaultKind::IdleDrop => "silent drop of the connection",
        FaultKind::HoldWrite => "write held in flight",
        FaultKind::HoldRead => "answer to a read held back",
        FaultKind::DeleteKey => "lease deleted",
        FaultKind::StealKey => "lease given to another",
        FaultKind::DelayRequests => "requests held back",
        FaultKind::DelayAnswers => "answers held back",
        FaultKind::PauseStore => "the store's server stopped",
        FaultKind::PauseLeader => "the store's leader stopped",
        FaultKind::RestartStore => "the store's server killed and started again",
        FaultKind::EmptyStore => "the store's server killed and started again without its data",
        FaultKind::StepStoreClock => "the clock of the store's server stepped",
    }
}

pub(crate) fn phase(phase: FaultPhase) -> &'static str {
    match phase {
        FaultPhase::Asked => "asked",
        FaultPhase::Confirmed => "confirmed",
        FaultPhase::Due => "due to end",
        FaultPhase::Undone => "undone",
        FaultPhase::Failed => "failed",
    }
}

pub(crate) fn said(event: OwnerEvent) -> &'static str {
    match event {
        OwnerEvent::Waiting => "waiting",
        OwnerEvent::Acquired => "acquired",
        OwnerEvent::RenewSent => "renewal sent",
        OwnerEvent::Renewed => "renewed",
        OwnerEvent::RenewFailed => "renewal failed",
        OwnerEvent::Lost => "lost",
        OwnerEvent::Released => "released",
        OwnerEvent::Write => "write",
        OwnerEvent::WriteRefused => "write refused",
    }
}

pub(crate) fn wire(seen: WireSeen) -> &'static str {
    match seen {
        WireSeen::Opened => "connected",
        WireSeen::Request => "request",
        WireSeen::Answer => "answer",
        WireSeen::RequestSwallowed => "request swallowed",
        WireSeen::AnswerSwallowed => "answer swallowed",
        WireSeen::Delivered => "held-back bytes delivered",
        WireSeen::Reset => "connection reset",
        WireSeen::Forgotten => "connection forgotten in silence",
        WireSeen::Closed => "connection closed",
    }
}

pub(crate) fn within(seen: WithinSeen) -> String {
    match seen {
        WithinSeen::Stood => "the connection stood at the first look".to_owned(),
        WithinSeen::Opened => "connected".to_owned(),
        WithinSeen::Unread(bytes) => format!("{bytes} bytes lie there unread"),
        WithinSeen::Gone => "the connection is gone".to_owned(),
    }
}

/// A length of time with three or four figures and its unit.
pub(crate) fn span(span: Duration) -> String {
    let ms = span.as_secs_f64() * 1000.0;
    if ms >= 10_000.0 {
        format!("{:.1} s", ms / 1000.0)
    } else if ms >= 1000.0 {
        format!("{:.2} s", ms / 1000.0)
    } else if ms >= 10.0 {
        format!("{ms:.0} ms")
    } else {
        format!("{ms:.1} ms")
    }
}

/// The day of a moment of the wall clock, in s since 1970, UTC.
pub(crate) fn day(seconds: i64) -> String {
    // Howard Hinnant's days to civil date.
    let shifted = seconds.div_euclid(86_400) + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A measure whose name ends in its unit: the words and the value apart.
pub(crate) fn measure(name: &str, value: f64) -> (String, String) {
    let units = [
        ("_ms", " ms"),
        ("_us", " µs"),
        ("_ns", " ns"),
        ("_s", " s"),
        ("_percent", " %"),
    ];
    let (stem, unit) = units
        .iter()
        .find_map(|(end, unit)| Some((name.strip_suffix(end)?, *unit)))
        .unwrap_or((name, ""));
    let value = not_negative(value);
    let number = if unit.is_empty() && value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    };
    // What is nobody's fault is not to be read as one.
    let stem = match name {
        "straddling_writes" => "writes that may have been checked in time (straddling)".to_owned(),
        "store_window_ms" => "writes after an early end, before its owner could know".to_owned(),
        _ => stem.replace('_', " "),
    };
    (stem, format!("{number}{unit}"))
}

/// A measure as it is shown: below zero lies only what two clocks' readings don't resolve.
pub(crate) fn not_negative(value: f64) -> f64 {
    if value <= 0.0 { 0.0 } else { value }
}

/// "cycle 2", "cycles 1, 2, 3"; nothing where none is named.
pub(crate) fn cycles(cycles: impl Iterator<Item = u32>) -> String {
    let mut all: Vec<u32> = cycles.filter(|it| *it > 0).collect();
    all.sort_unstable();
    all.dedup();
    let listed: Vec<String> = all.iter().map(ToString::to_string).collect();
    match listed.len() {
        0 => String::new(),
        1 => format!("cycle {}", listed[0]),
        _ => format!("cycles {}", listed.join(", ")),
    }
}

/// The places of the run's scenarios: violated first, then those that can't be told, then proven.
pub(crate) fn worst_first(run: &RunVerdict) -> Vec<usize> {
    let mut places: Vec<usize> = (0..run.scenarios.len()).collect();
    places.sort_by_key(|at| std::cmp::Reverse(run.scenarios[*at].verdict));
    places
}

/// Whether somebody stopped the run: then what is open says nothing about the owner.
pub(crate) fn interrupted(run: &RunVerdict) -> bool {
    run.incomplete
        .as_deref()
        .map(|why| why.strip_prefix("it was ").unwrap_or(why))
        .is_some_and(|why| why.starts_with("interrupted") || why.starts_with("stopped"))
}

/// "1 cycle", "3 cycles".
pub(crate) fn count(n: usize, one: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {one}s")
    }
}

/// "held in n of m cycles of k scenarios": what was shown, and no more.
pub(crate) fn held(run: &RunVerdict) -> String {
    let counted = || run.scenarios.iter().filter(|it| in_the_count(it));
    let held: usize = counted().map(|it| it.cycles_held as usize).sum();
    let all: usize = counted().map(|it| it.cycles as usize).sum();
    let scenarios = count(counted().count(), "scenario");
    if held == all {
        format!("held in {} of {scenarios}", count(all, "cycle"))
    } else {
        format!("held in {held} of {} of {scenarios}", count(all, "cycle"))
    }
}

/// Whether a finding moved its scenario's verdict: a proven breach; one of availability only where
/// availability was asked about and no breach had moved it already.
pub(crate) fn weighs(scenario: &ScenarioVerdict, finding: &Finding) -> bool {
    scenario.verdict == Verdict::Violated
        && finding.certainty == Truth::Yes
        && match finding.class {
            Class::Breach => true,
            Class::Availability => scenario.safety != Verdict::Violated,
            Class::Mechanism | Class::Cause | Class::Notice => false,
        }
}

/// Whether a finding says why a scenario is violated whose verdict no finding moved: the lease was lost,
/// or not freed, without need, and this is what brought it about.
pub(crate) fn stands_for(scenario: &ScenarioVerdict, finding: &Finding) -> bool {
    scenario.verdict == Verdict::Violated
        && finding.certainty == Truth::Yes
        && matches!(finding.class, Class::Mechanism | Class::Cause)
        && !scenario.findings.iter().any(|it| weighs(scenario, it))
}

/// The self-check of the rig says nothing of the user's lock, so it is outside "n of m".
pub(crate) fn in_the_count(scenario: &ScenarioVerdict) -> bool {
    scenario.id != leaseproof_model::scenario::ScenarioId::StaleToken
}
