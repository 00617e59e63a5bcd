//! Premises about processes: frozen, thawed, dead, running.

use super::scene::{Scene, Seen};
use crate::timeline::{By, Fault};
use crate::words::ms;
use leaseproof_model::event::{EventId, FaultKind, OwnerEvent, WireSeen};
use leaseproof_model::truth::Truth;

fn ids(fault: &Fault<'_>) -> Vec<EventId> {
    fault.events().map(|event| event.id).collect()
}

/// Every thread stopped, CPU time flat in nanoseconds, two looks at the tree agree.
pub(super) fn frozen(scene: &Scene<'_, '_, '_>) -> Seen {
    match scene.pause {
        Some(fault) => stood_still(fault),
        None => Seen::unknown("no pause is on record: run the scenario again", []),
    }
}

/// The same of one fault, whoever it met.
pub(super) fn stood_still(fault: &Fault<'_>) -> Seen {
    let Some((_, confirmed)) = fault.confirmed else {
        return Seen::no(
            "the pause was not confirmed by the kernel: try --freeze with the other method",
            ids(fault),
        );
    };
    if fault.failed.is_some() {
        return Seen::no(
            "the pause failed and was undone: try --freeze with the other method",
            ids(fault),
        );
    }
    let last = fault.undone.map(|(_, undone)| undone);
    let threads = confirmed.threads.or(last.and_then(|it| it.threads));
    let looks = last.and_then(|it| it.looks_agree).or(confirmed.looks_agree);
    let flat = last.and_then(|it| it.cpu_flat).or(confirmed.cpu_flat);
    // A cgroup is frozen as a whole: its threads keep their state letters, so that they aren't counted.
    let whole = confirmed.method.starts_with("cgroup");
    let stopped = match threads {
        Some((stopped, all)) => Truth::from(stopped == all && all > 0),
        None if whole => Truth::Yes,
        None => Truth::CannotTell,
    };
    let known = |it: Option<bool>| it.map_or(Truth::CannotTell, Truth::from);
    let agree = if whole && looks.is_none() {
        Truth::Yes
    } else {
        known(looks)
    };
    match stopped.and(agree).and(known(flat)) {
        Truth::Yes => Seen::yes(
            match threads {
                Some((_, all)) => format!("all {all} threads stopped by {}, CPU time flat", confirmed.method),
                None => format!("frozen by {}, CPU time flat", confirmed.method),
            },
            ids(fault),
        ),
        Truth::No => Seen::no(
            format!(
                "not all of the tree stood still (threads {}, looks agree {}, CPU time flat {}): try --freeze with the other method",
                threads.map_or("unknown".to_owned(), |(stopped, all)| format!("{stopped} of {all}")),
                word(looks),
                word(flat),
            ),
            ids(fault),
        ),
        Truth::CannotTell => Seen::unknown(
            "whether every thread stood still was not recorded: run the scenario again",
            ids(fault),
        ),
    }
}

fn word(it: Option<bool>) -> &'static str {
    match it {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    }
}

pub(super) fn thawed(scene: &Scene<'_, '_, '_>) -> Seen {
    match scene.pause.and_then(|fault| Some((fault, fault.undone?))) {
        Some((_, (event, _))) => Seen::yes("it runs again, by the kernel's word", [event.id]),
        None => Seen::unknown(
            "the thaw is not on record: the run was cut, or `leaseproof undo` is needed",
            [],
        ),
    }
}

/// The real length stayed below the margin.
pub(super) fn below_margin(scene: &Scene<'_, '_, '_>) -> Seen {
    let margin = scene.timeline.ask.budget.margin();
    let Some(fault) = scene.pause else {
        return Seen::unknown("no pause is on record: run the scenario again", []);
    };
    let (Some(from), Some(began), Some(ended)) = (fault.earliest(), fault.began(), fault.ended()) else {
        return Seen::unknown(
            "the length of the pause is not known: run the scenario again",
            ids(fault),
        );
    };
    let (most, least) = (ended.latest.since(from), ended.earliest.since(began.latest));
    if most < margin {
        Seen::yes(
            format!("paused for at most {}, the margin is {}", ms(most), ms(margin)),
            ids(fault),
        )
    } else if least >= margin {
        Seen::no(
            format!(
                "paused for {}, and the margin is {}: use fewer --jobs, or a less busy machine",
                ms(least),
                ms(margin)
            ),
            ids(fault),
        )
    } else {
        Seen::unknown(
            format!(
                "paused for {} to {}, and the margin is {}: use fewer --jobs, or a less busy machine",
                ms(least),
                ms(most),
                ms(margin)
            ),
            ids(fault),
        )
    }
}

pub(super) fn waiter_ran(scene: &Scene<'_, '_, '_>) -> Seen {
    let (Some(owner), Some(start)) = (scene.owner(), scene.start) else {
        return Seen::unknown("no waiter is on record: run the scenario again", []);
    };
    let told = owner.said.partition_point(|saying| saying.at.latest <= start.latest);
    let said = owner.said[..told]
        .iter()
        .rev()
        .find(|saying| saying.is(OwnerEvent::Waiting))
        .map(|saying| saying.event.id);
    let wired = owner
        .wires
        .partition_point(|(event, _)| event.at.latest <= start.latest);
    let asked = owner.wires[..wired]
        .iter()
        .rev()
        .find(|(_, wire)| wire.seen == WireSeen::Request)
        .map(|(event, _)| event.id);
    match said.or(asked) {
        Some(id) => Seen::yes(format!("{} was waiting before the fault", owner.name), [id]),
        None => Seen::unknown(
            format!(
                "{} was not seen waiting: let it print `waiting`, or use a store that a relay can watch",
                owner.name
            ),
            owner.started.map(|event| event.id),
        ),
    }
}

/// Frozen for longer than its own TTL, while another held the lease.
pub(super) fn frozen_while_other_held(scene: &Scene<'_, '_, '_>) -> Seen {
    let timeline = scene.timeline;
    let Some((fault, began, ended)) = scene.pause.and_then(|it| Some((it, it.began()?, it.ended()?))) else {
        return Seen::unknown("no whole pause is on record: run the scenario again", []);
    };
    let least = ended.earliest.since(began.latest);
    let ttl = timeline.ask.budget.ttl;
    if least <= ttl {
        return Seen::no(
            format!(
                "frozen for {}, the TTL is {}: run the scenario again",
                ms(least),
                ms(ttl)
            ),
            ids(fault),
        );
    }
    // From the freeze until a TTL later others held it without a break.
    let mut at = began.latest;
    let need = began.latest.plus(ttl);
    let mut seen = ids(fault);
    let first = timeline.last_begun(began.latest).unwrap_or(0);
    for grant in &timeline.grants[first.min(timeline.grants.len())..] {
        let target = scene.target.map(By::Owner);
        if grant.begin.latest > at || Some(grant.by) == target {
            break;
        }
        seen.push(grant.first.id);
        at = at.max(grant.lasts_until().map_or(timeline.end, |end| end.earliest));
        if at >= need {
            return Seen::yes(format!("frozen for {} while another held the lease", ms(least)), seen);
        }
    }
    Seen::unknown(
        "another's lease did not stand for the waiter's whole TTL: run the scenario again",
        seen,
    )
}

pub(super) fn dead(scene: &Scene<'_, '_, '_>) -> Seen {
    let ended = scene.owner().and_then(|owner| owner.ended);
    let killed = scene
        .fault(FaultKind::KillTree)
        .filter(|fault| fault.confirmed.is_some());
    match (ended, killed) {
        (Some(ended), Some(fault)) => Seen::yes("the whole tree is dead", ids(fault).into_iter().chain([ended.event])),
        (_, Some(fault)) => Seen::unknown(
            "its end is not on record: look for a process of it that SIGKILL did not end",
            ids(fault),
        ),
        _ => Seen::unknown("no confirmed kill is on record: run the scenario again", []),
    }
}

/// It ran for a heartbeat and a renewal's time-out after its lease was taken away, or ended by itself.
pub(super) fn owner_ran(scene: &Scene<'_, '_, '_>) -> Seen {
    let budget = &scene.timeline.ask.budget;
    let Some(owner) = scene.owner() else {
        return Seen::unknown("no owner is on record: run the scenario again", []);
    };
    let taken = scene
        .grant()
        .and_then(|grant| grant.end)
        .filter(|end| end.kind.is_early());
    let from = taken
        .map(|end| end.at)
        .filter(|at| at.earliest <= scene.over())
        .or(scene.end);
    let Some(from) = from else {
        return Seen::unknown("no fault is on record: run the scenario again", []);
    };
    if let Some(ended) = owner
        .ended
        .filter(|ended| from.earliest <= ended.at.latest && !ended.by_lab)
    {
        return Seen::yes(format!("{} ended by itself", owner.name), [ended.event]);
    }
    let until = owner
        .ended
        .map_or(scene.over(), |ended| ended.at.earliest.min(scene.over()));
    let ran = owner.ran_at_least(from.latest, until);
    let need = budget.heartbeat + budget.renew_timeout;
    if ran >= need {
        Seen::yes(format!("{} ran for {} after it", owner.name, ms(ran)), [])
    } else {
        Seen::unknown(
            format!(
                "{} ran for {} after it, {} are needed: let the cycle go on",
                owner.name,
                ms(ran),
                ms(need)
            ),
            [],
        )
    }
}

pub(super) fn rig_on_time(scene: &Scene<'_, '_, '_>) -> Seen {
    match scene.cycle.rig_late {
        Some(event) => Seen::no(
            "the rig itself was late: use fewer --jobs, or a less busy machine",
            [event.id],
        ),
        None => Seen::yes("the rig kept its times", []),
    }
}
