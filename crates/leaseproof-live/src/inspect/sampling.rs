//! Taking the readings of a span.

use super::keep::Keep;
use super::pace::Pace;
use super::sample::{Moved, Sample, moved, same_grant};
use super::settings::{Progress, Settings};
use super::view::Span;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::EventId;
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::{boot_now, stamp_now};
use leaseproof_store::{Inspect, StoreError};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// After a reading that failed the next one waits this long: a store in trouble is not hammered.
const AFTER_FAILURE: Duration = Duration::from_millis(250);

/// What people see of it is renewed this often.
const TELL: Duration = Duration::from_millis(100);

/// The first reading, whose failure ends the look.
pub(super) fn first(store: &mut dyn Inspect, settings: &Settings, keep: &mut Keep) -> Result<Sample, StoreError> {
    let asked = boot_now();
    let (at, reading) = store.read_key(&settings.key)?;
    let sample = Sample {
        id: keep.id(),
        at,
        waited: Moment::between(asked, boot_now()),
        stamp: stamp_now(),
        seen: Ok(reading),
        refused: false,
    };
    keep.reading(&sample);
    Ok(sample)
}

/// Takes readings until the span is over.
pub(super) fn take(
    store: &mut dyn Inspect,
    settings: &Settings,
    keep: &mut Keep,
    first: Option<Sample>,
) -> (Vec<Sample>, Span) {
    let began = first.as_ref().map_or_else(boot_now, |first| first.at.earliest);
    let end = began.plus(settings.span);
    let mut pace = Pace::new(settings.plan.as_ref().map(|plan| plan.budget.heartbeat));
    let facts = store.facts().clone();
    let mut samples: Vec<Sample> = first.into_iter().collect();
    let (mut renewals, mut told) = (0, began);
    let mut watched = Span::default();
    loop {
        let sample = one(store, settings, keep.id());
        keep.reading(&sample);
        let last = samples.iter().rfind(|it| it.reading().is_some());
        if let Some(last) = last
            && same_grant(last, &sample)
            && moved(last, &sample, &facts) == Moved::Forward
        {
            renewals += 1;
            let expiries = last.expires().zip(sample.expires());
            pace.renewal(middle(last.at.earliest, sample.at.latest), expires_moved(expiries));
        }
        let asked = sample.at.earliest;
        let failed = sample.seen.is_err();
        samples.push(sample);
        let now = boot_now();
        if now.since(told) >= TELL {
            told = now;
            (settings.progress)(&Progress::Reading {
                passed: now.since(began),
                span: settings.span,
                readings: samples.len() as u64,
                renewals,
            });
        }
        let mut next = pace.next(asked);
        if failed {
            next = next.max(now.plus(AFTER_FAILURE));
        }
        if next > end {
            return (samples, watched);
        }
        while next > boot_now() {
            if settings.stop.load(Ordering::Relaxed) {
                watched.cut = true;
                return (samples, watched);
            }
            // A reading is due within 30 ms, but for one that failed.
            std::thread::sleep(next.since(boot_now()).min(Duration::from_millis(50)));
        }
        watched.own_lag = watched.own_lag.max(boot_now().since(next.max(now)));
    }
}

fn one(store: &mut dyn Inspect, settings: &Settings, id: EventId) -> Sample {
    let asked = boot_now();
    let answer = store.read_key(&settings.key);
    let waited = Moment::between(asked, boot_now());
    let (at, seen, refused) = match answer {
        Ok((at, reading)) => (at, Ok(reading), false),
        Err(error) => (waited, Err(error.to_string()), error.is_refusal()),
    };
    Sample {
        id,
        at,
        waited,
        stamp: stamp_now(),
        seen,
        refused,
    }
}

fn expires_moved(expiries: Option<(Moment, Moment)>) -> Option<Duration> {
    let (before, after) = expiries?;
    Some(middle(after.earliest, after.latest).since(middle(before.earliest, before.latest)))
}

fn middle(a: BootNanos, b: BootNanos) -> BootNanos {
    a.plus(b.since(a) / 2)
}
