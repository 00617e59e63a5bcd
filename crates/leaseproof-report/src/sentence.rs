//! One event in words, the same in every format.

use crate::visible::visible;
use crate::words;
use leaseproof_model::event::{
    Coverage, Deed, Event, FaultEvent, LabDeed, Outcome, Reading, Said, Source, What, Write,
};
use leaseproof_model::name::Token;
use leaseproof_model::scenario::WitnessMode;
use std::fmt::Write as _;

/// What happened, in one sentence without a full stop; foreign text in it is already [`visible`].
pub(crate) fn of(event: &Event) -> String {
    let owner = event
        .owner
        .as_ref()
        .map_or_else(|| "an owner".to_owned(), |it| visible(it.as_str()).into_owned());
    match &event.what {
        What::CycleBegan {
            target,
            successor,
            witness,
        } => {
            let mut text = format!("cycle begins: {} will meet the fault", visible(target.as_str()));
            if let Some(successor) = successor {
                let _ = write!(text, ", {} may take over", visible(successor.as_str()));
            }
            text + match witness {
                WitnessMode::Record => ", the resource records",
                WitnessMode::Enforce => ", the resource fences",
            }
        }
        What::CycleEnded => "cycle ends".to_owned(),
        What::LabDid(deed) => lab_did(deed),
        What::Coverage(coverage) => covered(coverage),
        What::Starved { by } => format!("ordinary threads of this machine woke {} late", words::span(*by)),
        What::RigLate { by, what } => format!("the lab was late by {} at: {}", words::span(*by), visible(what)),
        What::WriterFrozen => "a writer was frozen inside its transaction and blocks the store".to_owned(),
        What::Abandoned { why } => format!("the scenario was abandoned: {}", visible(why)),
        What::Started { process, slot, restart } => format!(
            "{owner} {}, pid {}, slot {}",
            if *restart { "started anew" } else { "started" },
            process.pid,
            visible(slot)
        ),
        What::Ended { status, signal, by_lab } => {
            let how = match (status, signal) {
                (_, Some(signal)) => format!("ended by signal {signal}"),
                (Some(status), None) => format!("exited with {status}"),
                (None, None) => "ended".to_owned(),
            };
            format!("{owner} {how}{}", if *by_lab { ", caused by the lab" } else { "" })
        }
        What::Fault(fault) => fault_phase(fault, event.owner.as_ref().map(|_| owner.as_str())),
        What::Reading(reading) => seen(reading),
        What::Write(write) => written(&owner, write),
        What::WriteHeld { token, .. } => format!("a write of {owner} is held in flight{}", with_token(*token)),
        What::ReadHeld { value, version, .. } => {
            format!(
                "{owner} read value {value}{}; the answer is held back",
                with_version(*version)
            )
        }
        What::Fill(fill) => {
            let verb = if fill.accepted { "accepted" } else { "rejected" };
            format!(
                "{owner} fills the cache with value {}{}, after write {}: {verb}",
                fill.value,
                with_version(fill.token),
                fill.after
            )
        }
        What::WitnessRestarted { highest } => match highest {
            Some(token) => format!("the resource was killed and restarted; it still knows token {token}"),
            None => "the resource was killed and restarted; it knows no token".to_owned(),
        },
        What::Said(said) => says(&owner, said),
        What::Chatter { lines } => format!(
            "{owner} printed {} that are no events",
            words::count(lines_of(*lines), "line")
        ),
        What::Wire(wire) => format!(
            "{owner} to store, connection {}: {}, {} bytes",
            wire.connection,
            words::wire(wire.seen),
            wire.bytes
        ),
        What::Within(within) => format!(
            "{owner}: process {} to process {}, which stands still ({}): {}",
            within.from.pid,
            within.to.pid,
            within.connection,
            words::within(within.seen)
        ),
        What::Roles(roles) => match roles.leader() {
            Some((leader, term)) => format!(
                "the member of the store with process {} says that it leads, in term {term}",
                leader.process.pid
            ),
            None => "no member of the store says that it leads".to_owned(),
        },
        What::WallReads {
            count,
            offset_ns,
            mapped,
        } => format!(
            "{owner} has read the wall clock {count} times, offset {:.3} s{}",
            *offset_ns as f64 / 1e9,
            if *mapped {
                ""
            } else {
                ", but the clock shim is not mapped everywhere"
            }
        ),
    }
}

/// An act that breaks a rule, as its headline: who did what, first.
pub(crate) fn accusing(event: &Event) -> String {
    let owner = event
        .owner
        .as_ref()
        .map_or_else(|| "an owner".to_owned(), |it| visible(it.as_str()).into_owned());
    match &event.what {
        What::Write(write) => {
            let end = match (write.accepted, write.mode) {
                (false, _) => "the resource rejected it",
                (true, WitnessMode::Enforce) => "the resource accepted it",
                (true, WitnessMode::Record) => "the resource, which only records, took it",
            };
            format!("{owner} wrote{}; {end}", with_token(write.token))
        }
        _ => of(event),
    }
}

fn lines_of(lines: u64) -> usize {
    usize::try_from(lines).unwrap_or(usize::MAX)
}

fn with_token(token: Option<Token>) -> String {
    token.map_or_else(|| " without a token".to_owned(), |it| format!(" with token {it}"))
}

fn with_version(version: Option<Token>) -> String {
    version.map_or_else(|| " without a version".to_owned(), |it| format!(", version {it}"))
}

fn lab_did(deed: &LabDeed) -> String {
    let did = match deed.deed {
        Deed::Acquired => "acquired the lease",
        Deed::Released => "released its lease",
        Deed::Deleted => "deleted the owner's lease",
        Deed::Stole => "replaced the owner's lease by its own",
    };
    let outcome = match deed.outcome {
        Outcome::Applied => "applied",
        Outcome::NotApplied => "refused",
        Outcome::Unknown => "outcome unknown",
    };
    let token = deed.token.map(|it| format!(", token {it}")).unwrap_or_default();
    format!("the lab {did} ({outcome}{token})")
}

fn covered(coverage: &Coverage) -> String {
    let of = coverage
        .owner
        .as_ref()
        .map(|it| format!(" of {}", visible(it.as_str())))
        .unwrap_or_default();
    let gap = if coverage.longest_gap.is_zero() {
        String::new()
    } else {
        format!(", longest gap {}", words::span(coverage.longest_gap))
    };
    let dropped = if coverage.dropped == 0 {
        String::new()
    } else {
        let what = match coverage.source {
            Source::Owner => "bytes",
            Source::Witness => "writes",
            Source::Store => "readings",
            _ => "events",
        };
        format!(", {} {what} dropped", coverage.dropped)
    };
    format!(
        "{}{of} was watched for {}{gap}{dropped}",
        words::source(coverage.source),
        words::span(coverage.until.since(coverage.from))
    )
}

fn fault_phase(fault: &FaultEvent, owner: Option<&str>) -> String {
    let mut text = format!("{} {}", words::fault(fault.kind), words::phase(fault.phase));
    if let Some(owner) = owner {
        let _ = write!(text, ", of {owner}");
    }
    let _ = write!(text, " ({}", visible(&fault.method));
    if let Some((stopped, all)) = fault.threads {
        let _ = write!(text, ", {stopped} of {all} threads stopped");
    }
    match fault.cpu_flat {
        Some(true) => text.push_str(", CPU time flat"),
        Some(false) => text.push_str(", CPU time moved"),
        None => {}
    }
    if let Some(span) = fault.kernel_witness {
        let _ = write!(text, ", {} by the kernel", words::span(span));
    }
    text.push(')');
    if let Some(note) = &fault.note {
        let _ = write!(text, ": {}", visible(note));
    }
    text
}

fn seen(reading: &Reading) -> String {
    let Some(held) = &reading.held else {
        return "the store shows the lease as free".to_owned();
    };
    let token = held.token.map(|it| format!(", token {it}")).unwrap_or_default();
    let state = match (&held.expires, held.bound, held.expired) {
        (None, None, _) => ", without a TTL".to_owned(),
        (None, Some(ttl), _) => format!(", granted for {}", words::span(ttl)),
        (Some(_), _, true) => ", but expired".to_owned(),
        (Some(_), _, false) => String::new(),
    };
    format!("the store shows holder {}{token}{state}", visible(held.holder.as_str()))
}

fn written(owner: &str, write: &Write) -> String {
    let verb = if write.accepted { "accepted" } else { "rejected" };
    let mut text = format!("write {} of {owner}{} {verb}", write.serial, with_token(write.token));
    if write.replay {
        text = format!("replay of an old token by the lab: {text}");
    }
    if let Some(bad) = &write.bad_token {
        let _ = write!(text, ", its token is no ordered number: {}", visible(bad));
    }
    if let Some(claimed) = &write.claims_owner {
        let _ = write!(text, ", it claims to be {}", visible(claimed));
    }
    if let Some(highest) = write.highest {
        let _ = write!(text, "; the highest before it was {highest}");
    }
    text
}

fn says(owner: &str, said: &Said) -> String {
    let mut text = format!("{owner} says: {}", words::said(said.event));
    if let Some(token) = said.token {
        let _ = write!(text, ", token {token}");
    }
    match said.definite {
        Some(true) => text.push_str(", a definite refusal"),
        Some(false) => text.push_str(", outcome unknown"),
        None => {}
    }
    if let Some(reason) = &said.reason {
        let _ = write!(text, ", \"{}\"", visible(reason));
    }
    text
}
