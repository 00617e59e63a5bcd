//! A believable run: one scenario proven, one violated, one that can't be told, one not offered.

#![allow(dead_code, reason = "each test file uses its own part of the sample")]

pub mod tape;

use leaseproof_model::budget::Budget;
use leaseproof_model::event::*;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::history::History;
use leaseproof_model::name::OwnerName;
use leaseproof_model::rule;
use leaseproof_model::scenario::{Ask, PremiseName, ScenarioId, WitnessMode};
use leaseproof_model::store::{ExpiryProof, StoreClock, StoreFacts};
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::*;
use std::collections::BTreeMap;
use std::time::Duration;
use tape::{Ref, Tape};

/// A key that must never become markup.
pub const HOSTILE: &str = "canary/</script><img src=x onerror=alert(1)>";

pub struct Sample {
    pub run: RunVerdict,
    pub histories: Vec<History>,
}

impl Sample {
    pub fn histories(&self) -> Vec<&History> {
        self.histories.iter().collect()
    }
}

pub fn ask(scenario: ScenarioId, witness: WitnessMode) -> Ask {
    Ask {
        scenario,
        store: StoreFacts {
            version: "3.50.4".to_owned(),
            late_bound: Duration::from_millis(3500),
            clock: StoreClock::Boot,
            expired_means: "a write lock was obtained after the expiry".to_owned(),
            expiry_proof: ExpiryProof::WriteLockAfterExpiry,
            exact_moments: true,
            writer_can_block: true,
            ..StoreFacts::of("sqlite")
        },
        budget: Budget::standard(),
        key: HOSTILE.to_owned(),
        cycles: 3,
        premises: vec![
            PremiseName::Exercised,
            PremiseName::Frozen,
            PremiseName::Expired,
            PremiseName::TakenOver,
            PremiseName::Thawed,
        ],
        availability: false,
        witness,
        require_token: false,
        store_shows_token: true,
        twin: false,
    }
}

/// What a cycle of `pause-over-ttl` came to.
struct Cycle {
    frozen: Ref,
    thawed: Ref,
    expired: Ref,
    taken: Ref,
    first_write: Ref,
    successor_write: Ref,
    late: Vec<Ref>,
    end: f64,
}

/// One cycle from `start`: `old` is paused until its lease expired and `new` took over; then it either
/// gives up, or writes on for 600 ms.
#[expect(clippy::too_many_arguments, reason = "a sample, told in one go")]
fn cycle(
    tape: &mut Tape,
    ask: &Ask,
    start: f64,
    number: u32,
    old: &str,
    new: &str,
    token: u64,
    serial: &mut u64,
    retains: bool,
) -> Cycle {
    tape.cycle.set(number);
    tape.lab(
        start,
        What::CycleBegan {
            target: OwnerName::from(old),
            successor: Some(OwnerName::from(new)),
            witness: ask.witness,
        },
    );
    let mut next = |accept: bool| {
        *serial += u64::from(accept) | 1;
        *serial
    };
    let (old_holder, new_holder) = (format!("{old}#{token}"), format!("{new}#{}", token + 1));
    let granted = if number == 1 { start + 40.0 } else { start - 1100.0 };
    let mut first_write = None;
    let pause = start + 1530.0;
    let renewed = start + 1050.0;
    let expires = renewed + 3000.0;
    if number == 1 {
        tape.said(
            granted + 2.0,
            old,
            OwnerEvent::Acquired,
            Some(token),
            Some(granted + 3000.0),
        );
    }
    tape.said(renewed + 1.5, old, OwnerEvent::Renewed, Some(token), Some(expires));
    let mut at = start + 60.0;
    while at < pause {
        let write = tape.write(at, old, next(true), token, true, ask);
        first_write.get_or_insert(write);
        at += 97.0;
    }
    tape.fault(pause - 0.8, u64::from(number), old, FaultPhase::Asked);
    let frozen = tape.fault(pause, u64::from(number), old, FaultPhase::Confirmed);
    let taken_at = expires + 31.0;
    let thaw = taken_at + 420.0;
    let mut at = start + 45.0;
    while at < expires {
        let shown = if at < renewed { granted + 3000.0 } else { expires };
        tape.read(at, Some((&old_holder, token, granted, shown)));
        at += 50.0;
    }
    let expired = tape.read(expires + 12.0, Some((&old_holder, token, granted, expires)));
    let taken = tape.read(
        taken_at + 6.0,
        Some((&new_holder, token + 1, taken_at, taken_at + 3000.0)),
    );
    tape.said(
        taken_at + 2.0,
        new,
        OwnerEvent::Acquired,
        Some(token + 1),
        Some(taken_at + 3000.0),
    );
    let end = thaw + 700.0;
    let mut successor_write = None;
    let mut at = taken_at + 30.0;
    while at < end {
        let write = tape.write(at, new, next(true), token + 1, true, ask);
        successor_write.get_or_insert(write);
        tape.read(at + 20.0, Some((&new_holder, token + 1, taken_at, taken_at + 3000.0)));
        at += 101.0;
    }
    tape.fault(thaw - 0.3, u64::from(number), old, FaultPhase::Due);
    let thawed = tape.fault(thaw, u64::from(number), old, FaultPhase::Undone);
    let mut late = Vec::new();
    if retains {
        for step in 0..6 {
            let at = thaw + 45.0 + f64::from(step) * 97.0;
            late.push(tape.write(at, old, next(true), token, ask.witness == WitnessMode::Record, ask));
        }
    } else {
        tape.said(thaw + 3.0, old, OwnerEvent::RenewFailed, Some(token), None);
        tape.said(thaw + 3.4, old, OwnerEvent::Lost, Some(token), None);
    }
    tape.lab(end, What::CycleEnded);
    Cycle {
        frozen,
        thawed,
        expired,
        taken,
        first_write: first_write.expect("it wrote"),
        successor_write: successor_write.expect("it wrote"),
        late,
        end,
    }
}

fn record(ask: Ask, retains: &[bool], first_id: u64) -> (History, Vec<EventId>, Vec<Cycle>) {
    let mut tape = Tape::new();
    tape.started(5.0, "a1", 4711);
    tape.started(9.0, "b1", 4712);
    let (mut start, mut serial, mut token) = (200.0, 0, 41);
    let mut cycles = Vec::new();
    for (number, retains) in retains.iter().enumerate() {
        let (old, new) = if number % 2 == 0 { ("a1", "b1") } else { ("b1", "a1") };
        let it = cycle(
            &mut tape,
            &ask,
            start,
            number as u32 + 1,
            old,
            new,
            token,
            &mut serial,
            *retains,
        );
        start = it.end + 20.0;
        token += 1;
        cycles.push(it);
    }
    tape.cycle.set(0);
    for (source, owner, gap) in [
        (Source::Store, None, 51),
        (Source::Witness, None, 0),
        (Source::Owner, Some("a1"), 0),
        (Source::Owner, Some("b1"), 0),
    ] {
        tape.coverage(source, owner, 10.0, start, gap);
    }
    let took = start as u64;
    let (history, ids) = tape.finish(ask, first_id, took);
    (history, ids, cycles)
}

fn premises(cycles: &[Cycle], ids: &[EventId], missing: Option<(u32, PremiseName, &str)>) -> Vec<Premise> {
    let mut all = Vec::new();
    for (number, cycle) in (1..).zip(cycles) {
        for (name, says, evidence) in [
            (
                PremiseName::Exercised,
                "wrote before the pause and in a later grant",
                vec![cycle.first_write],
            ),
            (
                PremiseName::Frozen,
                "4 of 4 threads stopped, CPU time flat",
                vec![cycle.frozen, cycle.thawed],
            ),
            (
                PremiseName::Expired,
                "a write lock was obtained after the expiry",
                vec![cycle.expired],
            ),
            (
                PremiseName::TakenOver,
                "another holder has the lease",
                vec![cycle.taken],
            ),
            (
                PremiseName::Thawed,
                "runs again, by the kernel's word",
                vec![cycle.thawed],
            ),
        ] {
            let gone = missing.filter(|(of, which, _)| (*of, *which) == (number, name));
            all.push(Premise {
                name,
                cycle: number,
                holds: if gone.is_some() { Truth::CannotTell } else { Truth::Yes },
                says: gone.map_or(says, |(_, _, says)| says).to_owned(),
                evidence: evidence.into_iter().map(|it| it.id(ids)).collect(),
            });
        }
    }
    all
}

fn scenario(history: &History, verdict: Verdict, held: u32, premises: Vec<Premise>) -> ScenarioVerdict {
    ScenarioVerdict {
        id: history.ask.scenario,
        store: history.ask.store.kind.clone(),
        verdict,
        safety: verdict,
        availability: Some(Verdict::Proven),
        cycles_held: held,
        cycles: 3,
        took_ms: history.took_ms,
        premises,
        findings: Vec::new(),
        measures: BTreeMap::from([
            ("pause_ms".to_owned(), 2971.4),
            ("expired_after_ms".to_owned(), 2532.0),
            ("takeover_after_ms".to_owned(), 2551.1),
            (
                "last_act_after_thaw_ms".to_owned(),
                if verdict == Verdict::Violated { 530.0 } else { 0.0 },
            ),
            ("straddling_writes".to_owned(), 1.0),
        ]),
        twin: None,
    }
}

/// The whole sample.
pub fn sample() -> Sample {
    let (proven, proven_ids, proven_cycles) = record(
        ask(ScenarioId::PauseUncontested, WitnessMode::Record),
        &[false, false, false],
        1,
    );
    let start = 1 + proven.events.len() as u64;
    let (broken, ids, cycles) = record(
        ask(ScenarioId::PauseOverTtl, WitnessMode::Record),
        &[false, true, false],
        start,
    );
    let start = start + broken.events.len() as u64;
    let (open, open_ids, open_cycles) = record(
        ask(ScenarioId::KeyStolen, WitnessMode::Record),
        &[false, false, false],
        start,
    );

    let good = scenario(&proven, Verdict::Proven, 3, premises(&proven_cycles, &proven_ids, None));
    let mut bad = scenario(&broken, Verdict::Violated, 2, premises(&cycles, &ids, None));
    let it = &cycles[1];
    let find = |refs: &[Ref]| refs.iter().map(|it| it.id(&ids)).collect::<Vec<_>>();
    let mut retention = Finding::new(
        &rule::LP004,
        Subject::Owner,
        Truth::Yes,
        2,
        "b1 acted 6 times, up to 530.0 ms after it ran again, although its lease (token 42) had ended; it never acquired anew".to_owned(),
        find(&[&[it.expired, it.taken, it.thawed], &it.late[..]].concat()),
    );
    retention.owner = Some("b1".to_owned());
    let mut stale = Finding::new(
        &rule::LP002,
        Subject::Owner,
        Truth::Yes,
        2,
        "the resource accepted 6 writes with token 42 after one with token 43 (record mode: it accepts all)".to_owned(),
        find(&[&[it.successor_write], &it.late[..]].concat()),
    );
    stale.owner = Some("b1".to_owned());
    let pause = Finding::new(
        &rule::LP007,
        Subject::Configuration,
        Truth::Yes,
        2,
        "the pause of 2971 ms was longer than the margin of 1750 ms: the loss is expected, acting after it is not"
            .to_owned(),
        find(&[it.frozen, it.thawed]),
    );
    bad.findings = vec![retention, stale, pause];
    let missing = (
        3,
        PremiseName::Expired,
        "no reading between the expiry and the takeover: the store was blocked for 900 ms by a writer frozen inside its transaction. Run again, or lower the write rate",
    );
    let mut unknown = scenario(
        &open,
        Verdict::CannotTell,
        2,
        premises(&open_cycles, &open_ids, Some(missing)),
    );
    unknown.findings = vec![Finding::new(
        &rule::LP020,
        Subject::Rig,
        Truth::Yes,
        3,
        "nobody saw the store between 9.1 s and 10.0 s".to_owned(),
        Vec::new(),
    )];
    let budget = Budget::standard();
    let run = RunVerdict {
        schema: VERDICT_SCHEMA.to_owned(),
        run: "20261130-031502-7f3a".to_owned(),
        seed: 7,
        took_ms: 19_810,
        verdict: Verdict::Violated,
        incomplete: None,
        budget: BudgetReport {
            margin_ms: 1750,
            plain_margin_ms: 2000,
            worst_pause_ms: 1500,
            holds: true,
            numbers: budget,
        },
        scenarios: vec![bad, good, unknown],
        not_offered: vec![NotOffered {
            id: ScenarioId::ParentOnly,
            store: "sqlite".to_owned(),
            why: "the owner is one process, so there is no parent apart from the work".to_owned(),
        }],
    };
    Sample {
        run,
        histories: vec![proven, broken, open],
    }
}
