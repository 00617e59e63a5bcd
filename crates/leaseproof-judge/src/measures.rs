//! Numbers for people and for trends: of the last cycle that has them, or the worst of all.

use crate::premises::{Scene, Stage};
use crate::timeline::{Act, ActKind, Standing, Timeline};
use crate::words::{millis, signed_millis};
use leaseproof_model::event::OwnerEvent;
use std::collections::BTreeMap;

/// The measures by name; the unit is the end of the name.
pub(crate) fn measures(stage: &Stage<'_, '_>) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for cycle in &stage.timeline.cycles {
        of_cycle(&stage.scene(cycle), &mut all);
    }
    of_acts(stage.timeline, &mut all);
    of_faults(stage.timeline, &mut all);
    all
}

fn put(all: &mut BTreeMap<String, f64>, name: &str, value: f64) {
    all.insert(name.to_owned(), value);
}

fn worst(all: &mut BTreeMap<String, f64>, name: &str, value: f64) {
    let worst = all.get(name).copied().unwrap_or(value);
    all.insert(name.to_owned(), worst.max(value));
}

fn of_cycle(scene: &Scene<'_, '_, '_>, all: &mut BTreeMap<String, f64>) {
    let Some(began) = scene.pause.and_then(|pause| pause.began()).or(scene.start) else {
        return;
    };
    if let Some(ended) = scene.pause.and_then(|pause| pause.ended()) {
        put(all, "pause_ms", millis(ended.latest.since(began.latest)));
    }
    if let Some(end) = scene.grant().and_then(|grant| grant.end) {
        put(all, "expired_after_ms", signed_millis(began.latest, end.at.latest));
    }
    if let Some(next) = scene.successor() {
        put(
            all,
            "takeover_after_ms",
            signed_millis(began.latest, scene.timeline.grants[next].begin.latest),
        );
    }
    let (Some(owner), Some(held)) = (scene.owner(), scene.held) else {
        return;
    };
    if let Some(thaw) = scene.pause.and_then(|pause| pause.ended()) {
        let from = owner.acts.partition_point(|act| act.at.latest < thaw.earliest);
        // An act of a later grant ends the search: after it none is charged to this one.
        let last = owner.acts[from..]
            .iter()
            .take_while(|act| !matches!(act.standing, Standing::Granted(grant) if grant > held))
            .filter(|act| charged(act) == Some(held))
            .last();
        worst(
            all,
            "last_act_after_thaw_ms",
            last.map_or(0.0, |act| millis(act.at.latest.since(thaw.earliest))),
        );
    }
    if let Some(end) = scene.grant().and_then(|grant| grant.end) {
        let lost = owner
            .said_since(end.at.earliest)
            .iter()
            .take_while(|saying| !saying.is(OwnerEvent::Acquired))
            .find(|saying| saying.is(OwnerEvent::Lost));
        if let Some(lost) = lost {
            worst(all, "loss_notice_ms", millis(lost.at.latest.since(end.at.earliest)));
        }
    }
}

/// The grant, if the act came after it was due.
fn charged(act: &Act<'_>) -> Option<usize> {
    match act.standing {
        Standing::Late(grant) | Standing::MayBeLate(grant) | Standing::Straddling(grant) => Some(grant),
        Standing::Granted(_) | Standing::Unwatched(_) | Standing::Ungranted => None,
    }
}

fn of_acts(timeline: &Timeline<'_>, all: &mut BTreeMap<String, f64>) {
    let mut straddling = 0_u32;
    let (mut after_due, mut unfenced, mut store_window) = (0.0_f64, 0.0_f64, None::<f64>);
    for owner in &timeline.owners {
        for act in &owner.acts {
            if let Some(grant) = charged(act) {
                let grant = &timeline.grants[grant];
                let is_write = act.kind != ActKind::Renewed;
                straddling += u32::from(is_write && matches!(act.standing, Standing::Straddling(_)));
                if let Some(due) = if is_write { grant.due_for_writes } else { grant.due } {
                    after_due = after_due.max(millis(act.at.latest.since(due.earliest)));
                }
                let accepted = act.write.is_some_and(|(_, write)| {
                    write.accepted
                        && write
                            .token
                            .is_none_or(|token| write.highest.is_none_or(|highest| token >= highest))
                });
                if let Some(end) = grant.lasts_until().filter(|_| accepted) {
                    unfenced = unfenced.max(millis(act.at.latest.since(end.earliest)));
                }
            } else if let Standing::Granted(grant) = act.standing
                && let Some(end) = timeline.grants[grant].end.filter(|end| end.kind.is_early())
                && end.at.latest < act.at.earliest
            {
                // Acts between an early end and *due* are the store's.
                let window = millis(act.at.latest.since(end.at.earliest));
                store_window = Some(store_window.map_or(window, |it| it.max(window)));
            }
        }
    }
    put(all, "straddling_writes", f64::from(straddling));
    put(all, "last_act_after_due_ms", after_due);
    put(all, "unfenced_window_ms", unfenced);
    if let Some(window) = store_window {
        put(all, "store_window_ms", window);
    }
}

fn of_faults(timeline: &Timeline<'_>, all: &mut BTreeMap<String, f64>) {
    for fault in timeline.faults.iter().filter(|fault| fault.pauses()) {
        if let (Some((due, _)), Some((undone, last))) = (fault.due, fault.undone) {
            worst(all, "thaw_late_ms", signed_millis(due.at.latest, undone.at.latest));
            if let Some(witness) = last.kernel_witness {
                put(all, "kernel_witness_ms", millis(witness));
            }
        }
    }
}
