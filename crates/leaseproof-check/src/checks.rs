//! What is checked of one set of settings, each check a function of its numbers alone. A candidate for an advice goes
//! through the same functions as what was read.

use crate::connection;
use crate::judge::{Demands, Measured, keys};
use crate::report::{Answer, Check};
use crate::subject::{Origin, Subject};
use leaseproof_model::budget::{Budget, above};
use leaseproof_model::store::{StoreClock, StoreFacts};
use std::time::Duration;

/// The settings with everything that follows from them, and all checks of them.
pub(crate) struct Checked {
    /// The pause that the margin is held against.
    pub pause: Option<Duration>,
    /// The numbers in force.
    pub budget: Budget,
    /// Each check.
    pub checks: Vec<Check>,
}

/// Checks settings whose derived numbers are settled.
pub(crate) fn checked(subject: &Subject, measured: Option<&Measured>, demands: Demands) -> Checked {
    let (ttl, granted) = granted(subject);
    let assumed = subject.worst_pause.as_ref().map(|number| number.span);
    let pause = assumed.max(measured.map(|seen| seen.pause));
    let budget = subject.budget(ttl, pause.unwrap_or_default());
    let mut checks = vec![margin(subject, &budget, pause)];
    checks.extend(defaults(subject));
    checks.extend(granted);
    checks.extend(measured.map(|seen| against(subject, &budget, seen)));
    checks.extend(renewals(subject, &budget, demands));
    checks.extend(overlap(subject));
    checks.extend(connection::checks(subject, ttl));
    checks.extend(subject.store.as_ref().and_then(|facts| drift(subject, facts)));
    checks.extend(subject.rules.of(subject));
    checks.extend(subject.own.iter().cloned());
    Checked { pause, budget, checks }
}

/// Which numbers of the inequality are not in the file: the system's defaults beside those that are.
fn defaults(subject: &Subject) -> Option<Check> {
    let all: Vec<String> = [&subject.ttl, &subject.heartbeat, &subject.renew_timeout]
        .into_iter()
        .filter(|number| subject.kind != "plan" && !number.span.is_zero())
        .filter_map(|number| match &number.origin {
            Origin::Default(whose) => Some(format!("{} {:?} ({whose})", number.key, number.span)),
            _ => None,
        })
        .collect();
    let says = format!("not in the file, and taken as the default: {}", all.join(", "));
    (!all.is_empty()).then(|| Check::new("defaults", Answer::Notice, says))
}

/// The TTL in force, and what is to be said where it is not the one that was asked for.
fn granted(subject: &Subject) -> (Duration, Option<Check>) {
    let (asked, line) = (subject.ttl.span, subject.ttl.line);
    let Some(facts) = &subject.store else {
        return (asked, None);
    };
    let check = |answer, says: String| Check::new("granted-ttl", answer, says).rule("LP022").at(line);
    let (kind, key) = (&facts.kind, &subject.ttl.key);
    if let Some(ceiling) = facts.ttl_ceiling.filter(|&ceiling| ceiling < asked) {
        let says = format!("{kind} grants no TTL above {ceiling:?}, and {key} is {asked:?}: it is cut, or refused");
        let remedy = format!("{key} of at most {ceiling:?}, or raise the server's limit");
        return (ceiling, Some(check(Answer::DoesNotHold, says).remedy(remedy)));
    }
    let floored = asked.max(facts.ttl_floor.unwrap_or_default());
    let ttl = match facts.ttl_step {
        step if step.is_zero() => floored,
        step => above(floored.saturating_sub(Duration::from_nanos(1)), step),
    };
    if ttl == asked {
        return (asked, None);
    }
    let says = match facts.ttl_floor.filter(|&floor| floor > asked) {
        Some(floor) => format!(
            "{kind} grants no TTL below {floor:?}, and {key} is {asked:?}: with {ttl:?} in force, or none at all, a \
             takeover takes longer than the file says"
        ),
        None => format!(
            "{kind} grants TTLs in steps of {:?}: {ttl:?} is in force, not {asked:?}",
            facts.ttl_step
        ),
    };
    let remedy = format!("write what is in force: {ttl:?}");
    (ttl, Some(check(Answer::Notice, says).remedy(remedy)))
}

fn margin(subject: &Subject, budget: &Budget, pause: Option<Duration>) -> Check {
    let line = subject.line_of(&[&subject.heartbeat, &subject.ttl, &subject.renew_timeout]);
    let check = |answer, says: String| Check::new("margin", answer, says).rule("LP019").at(line);
    let sum = sum(subject, budget);
    let says = match budget.ttl.checked_sub(budget.reserved()) {
        Some(margin) => format!("the margin is {margin:?} ({sum})"),
        None => format!(
            "there is no margin: {:?} are missing ({sum})",
            budget.reserved() - budget.ttl
        ),
    };
    match pause {
        None if budget.ttl <= budget.reserved() => {
            check(Answer::DoesNotHold, format!("{says}, and no pause at all is survived"))
        }
        None => check(
            Answer::CannotTell,
            format!("{says}; what pause it must survive is not said"),
        )
        .remedy("measure the worst pause, and give it: worst_pause in a plan, --worst-pause, --observed or --gc-log"),
        Some(pause) if budget.holds() => check(
            Answer::Holds,
            format!("{says}, greater than the worst pause of {pause:?}"),
        ),
        Some(pause) => check(
            Answer::DoesNotHold,
            format!("{says}, and it must be greater than the worst pause of {pause:?}"),
        ),
    }
}

/// `ttl 3s - heartbeat 1s - …`, by the names of the file.
fn sum(subject: &Subject, budget: &Budget) -> String {
    let mut text = format!("{} {:?}", subject.ttl.key, budget.ttl);
    for (number, term) in keys(subject).into_iter().zip(budget.terms()) {
        let always = subject.kind == "plan" && term.name != "early_slack";
        if always || !term.span.is_zero() {
            text.push_str(&format!(
                " - {} {:?}",
                number.map_or("early_slack", |it| &it.key),
                term.span
            ));
        }
    }
    text
}

/// What was measured against what is assumed.
fn against(subject: &Subject, budget: &Budget, seen: &Measured) -> Check {
    let Measured { pause, from } = seen;
    let check = |answer, says: String| Check::new("measured-pause", answer, says).rule("LP007");
    let Some(assumed) = &subject.worst_pause else {
        return check(Answer::Notice, format!("the longest pause seen is {pause:?} ({from})"));
    };
    let margin = budget.margin();
    if *pause <= assumed.span {
        let says = format!(
            "the longest pause seen is {pause:?} ({from}), within the {:?} assumed",
            assumed.span
        );
        return check(Answer::Holds, says).at(assumed.line);
    }
    let says = format!(
        "the plan assumes a worst pause of {:?}, and {pause:?} was seen ({from}){}",
        assumed.span,
        match *pause < margin {
            true => format!("; the margin of {margin:?} still covers it"),
            false => format!(": longer than the margin of {margin:?}, so that it can lose the lease"),
        }
    );
    check(Answer::DoesNotHold, says).at(assumed.line).remedy(format!(
        "make the pause shorter, or write what was seen: worst_pause = \"{}ms\"",
        up_ms(*pause)
    ))
}

pub(crate) fn up_ms(span: Duration) -> u128 {
    span.as_nanos().div_ceil(1_000_000)
}

/// How many renewals in a row may fail. client-go's loop ends after its deadline, however much of the lease is left.
pub(crate) fn may_fail(subject: &Subject, budget: &Budget) -> Option<u32> {
    if subject.kind != "kubernetes" {
        return budget.renewals_that_may_fail().filter(|_| subject.renewed);
    }
    let fit = |span: Duration| span.as_nanos().checked_div(budget.heartbeat.as_nanos());
    // The first is sent a retryPeriod after the last that succeeded, and the last before the lease is gone.
    let before_the_end = fit(budget.ttl.saturating_sub(Duration::from_nanos(1)))?;
    let attempts = fit(budget.renew_timeout)?.min(before_the_end);
    u32::try_from(attempts).unwrap_or(u32::MAX).checked_sub(1)
}

fn renewals(subject: &Subject, budget: &Budget, demands: Demands) -> Option<Check> {
    let line = subject.heartbeat.line;
    let check = |answer, says: String| Check::new("renewals", answer, says).at(line);
    // Where not even the first is in time there is no margin, which is said already.
    let may = may_fail(subject, budget)?;
    let says = match may {
        n if subject.kind == "kubernetes" => format!(
            "about {} attempts fit into {} {:?}, a {} {:?} apart; after that the leader gives up, so {n} in a row may fail",
            n + 1,
            subject.renew_timeout.key,
            budget.renew_timeout,
            subject.heartbeat.key,
            budget.heartbeat
        ),
        0 => "one failed renewal loses the lease, without any pause".to_owned(),
        1 => "one renewal may fail before the lease is gone, without any pause".to_owned(),
        n => format!("{n} renewals in a row may fail before the lease is gone, without any pause"),
    };
    let answer = match demands.renewals {
        Some(least) if may < least => Answer::DoesNotHold,
        Some(_) => Answer::Holds,
        None if may == 0 => Answer::Notice,
        None => Answer::Holds,
    };
    let short = demands.renewals.filter(|&least| may < least);
    let says = short.map_or(says.clone(), |least| format!("{says}; demanded: {least}"));
    let check = check(answer, says);
    Some(match answer {
        Answer::Holds => check,
        _ => check.remedy("a shorter heartbeat"),
    })
}

/// A renewal that may take longer than a heartbeat meets the next one.
fn overlap(subject: &Subject) -> Option<Check> {
    if subject.kind != "plan" || subject.renew_timeout.span < subject.heartbeat.span {
        return None;
    }
    let says = format!(
        "a renewal may take {:?}, and the next is due after {:?}: they overlap, and the library refuses to start so",
        subject.renew_timeout.span, subject.heartbeat.span
    );
    let check = Check::new("renew-timeout", Answer::DoesNotHold, says)
        .rule("LP019")
        .at(subject.renew_timeout.line);
    Some(check.remedy("a renew_timeout below the heartbeat"))
}

/// A wall clock that can step, and no drift allowed for.
fn drift(subject: &Subject, facts: &StoreFacts) -> Option<Check> {
    let none = subject.max_clock_drift.span.is_zero();
    (none && facts.clock == StoreClock::ServerWall).then(|| {
        let says = format!(
            "{} ends a lease by its wall clock, which can step, and no drift is allowed for",
            facts.kind
        );
        Check::new("clock-drift", Answer::Notice, says)
            .rule("LP018")
            .at(subject.max_clock_drift.line)
            .remedy("give max_clock_drift")
    })
}
