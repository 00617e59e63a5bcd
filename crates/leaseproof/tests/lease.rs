//! The guard on real stores: an SQLite file always, Redis where a server is there.

use leaseproof::{AcquireError, Budget, Event, Lease, Loss, Metrics, Options, Policy, ReleaseError, Sound, Store};
use leaseproof_store::{Administer, StoreUrl, open_administrator};
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PATIENT: Duration = Duration::from_secs(20);
const KEY: &str = "canary/library";
const MS: Duration = Duration::from_millis(1);

/// A store of the test's own.
struct Bed {
    store: Store,
    admin: Box<dyn Administer>,
    budget: Sound,
    _folder: tempfile::TempDir,
}

impl Bed {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!("sqlite:{}/locks.db", folder.path().display());
        let url: StoreUrl = text.parse().expect("a URL");
        let mut admin = open_administrator(&url, PATIENT).expect("it opens");
        admin.prepare().expect("ready");
        Self {
            store: text.parse().expect("a URL"),
            admin,
            // Patient time-outs: this machine may be busy.
            budget: Budget::new(6000 * MS, 300 * MS, MS)
                .with_renew_timeout(250 * MS)
                .assert()
                .expect("it holds"),
            _folder: folder,
        }
    }

    fn options(&self) -> Options {
        Options::new(&self.store, KEY, &self.budget).wait_for(PATIENT)
    }

    fn acquire(&self) -> Lease {
        self.options().acquire().expect("granted")
    }
}

#[test]
fn tokens_rise_and_permits_end_with_the_release() {
    let bed = Bed::new();
    let first = bed.acquire();
    let permit = first.permit().expect("held");
    assert_eq!(permit.token(), first.token());
    assert!(permit.is_valid() && permit.left() <= 6000 * MS);
    first.release().expect("released");
    let second = bed.acquire();
    assert!(second.token() > permit.token());
    drop(second);
    // A dropped guard frees it too.
    assert!(bed.acquire().token() > permit.token());
}

#[test]
fn a_held_lease_is_refused_to_others_and_renewed_meanwhile() {
    let bed = Bed::new();
    let metrics = Arc::new(Metrics::new());
    let held = bed.options().metrics(&metrics).acquire().expect("granted");
    let until = held.valid_until();
    let error = bed.options().wait_for(1000 * MS).acquire().expect_err("another has it");
    assert!(matches!(&error, AcquireError::NotAcquired { .. }), "{error}");
    assert!(error.to_string().contains(KEY), "{error}");
    let once = bed
        .options()
        .wait_for(Duration::ZERO)
        .acquire()
        .expect_err("another has it");
    assert!(once.to_string().contains("another holds the lease"), "{once}");
    assert!(held.valid_until() > until, "it was renewed");
    let text = metrics.prometheus();
    assert!(
        text.contains(&format!("leaseproof_lease_held{{key=\"{KEY}\"}} 1")),
        "{text}"
    );
    held.release().expect("released");
    assert!(
        metrics
            .prometheus()
            .contains(&format!("leaseproof_lease_held{{key=\"{KEY}\"}} 0"))
    );
}

#[test]
fn a_refusal_ends_it() {
    let mut bed = Bed::new();
    let said = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&said);
    let lease = bed
        .options()
        .on_event(move |event: &Event| kept.lock().expect("no panic").push(event.name()))
        .acquire()
        .expect("granted");
    let thief = bed.admin.steal(KEY, "thief", PATIENT).value.expect("stolen");
    assert_eq!(lease.wait_lost(PATIENT), Some(Loss::Refused));
    let error = lease.permit().expect_err("lost");
    assert_eq!(error.loss, Loss::Refused);
    assert!(error.to_string().starts_with("lock not held: "), "{error}");
    assert!(matches!(
        lease.release(),
        Err(ReleaseError::Lost { loss: Loss::Refused })
    ));
    // What is another's stays another's.
    let (_, reading) = leaseproof_store::open_observer(&bed.store.to_string().parse().expect("a URL"), PATIENT)
        .expect("it opens")
        .read(KEY)
        .expect("a reading");
    assert_eq!(reading.held.and_then(|held| held.token), Some(thief.token));
    let said = said.lock().expect("no panic");
    assert_eq!(said.first(), Some(&"lease.acquired"));
    assert_eq!(
        said[said.len() - 2..],
        ["lease.renewal_failed", "lease.lost"],
        "{said:?}"
    );
}

#[test]
fn a_resource_that_refuses_ends_it() {
    let bed = Bed::new();
    let lease = bed.acquire();
    let permit = lease.permit().expect("held");
    lease.fenced(&permit);
    assert_eq!(
        lease.permit().map(|it| it.token()),
        Err(leaseproof::LockNotHeld { loss: Loss::Fenced })
    );
    assert_eq!(lease.wait_lost(PATIENT), Some(Loss::Fenced));
}

/// Renewals don't outlive the work.
#[test]
fn silent_work_loses_it() {
    let bed = Bed::new();
    let working = bed.options().work_limit(PATIENT).acquire().expect("granted");
    assert_eq!(working.wait_lost(1000 * MS), None);
    working.release().expect("released");
    let silent = bed.options().work_limit(MS).acquire().expect("granted");
    assert_eq!(silent.wait_lost(PATIENT), Some(Loss::WorkStopped));
    assert!(bed.acquire().token() > silent.token(), "it was given back");
}

/// A store that is gone makes outcomes unknown: nothing is permitted, and the validity runs out.
#[test]
fn a_store_that_is_gone() {
    for policy in [Policy::Strict, Policy::Patient] {
        let mut bed = Bed::new();
        bed.budget = Budget::new(1500 * MS, 300 * MS, MS)
            .with_renew_timeout(250 * MS)
            .assert()
            .expect("it holds");
        let lease = bed.options().policy(policy).acquire().expect("granted");
        let file = bed.store.to_string().trim_start_matches("sqlite:").to_owned();
        // Its one writer, in a transaction that never ends.
        let blocker = rusqlite::Connection::open(&file).expect("it opens");
        blocker.execute_batch("BEGIN IMMEDIATE").expect("it blocks");
        let loss = lease.wait_lost(PATIENT);
        assert!(
            matches!(loss, Some(Loss::Unknown | Loss::Expired)),
            "{policy:?}: {loss:?}"
        );
        assert!(lease.permit().is_err());
        drop(blocker);
    }
}

#[test]
fn a_budget_that_the_store_breaks_is_refused() {
    // 3000 - 1000 - 200 - 50 leaves 1750 ms; Redis may cut a millisecond off.
    let budget = Budget::new(3000 * MS, 1000 * MS, 1750 * MS - Duration::from_micros(500))
        .assert()
        .expect("just so");
    let store: Store = "redis://127.0.0.1:1".parse().expect("a URL");
    let error = Lease::acquire(&store, KEY, &budget).expect_err("the slack breaks it");
    assert!(error.to_string().starts_with("LP019 budget-invalid"), "{error}");
}

#[test]
fn a_store_that_is_not_there() {
    let budget = Budget::new(3000 * MS, 1000 * MS, MS).assert().expect("it holds");
    let store: Store = "redis://127.0.0.1:1".parse().expect("a URL");
    let error = Options::new(&store, KEY, &budget)
        .wait_for(Duration::ZERO)
        .acquire()
        .expect_err("nobody listens");
    assert!(error.to_string().contains("redis://127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn the_asynchronous_face() {
    let mut bed = Bed::new();
    let lease = bed.options().acquire_async().await.expect("granted");
    let token = lease.token();
    let done = lease.run(|permit| async move { permit.token() }).await;
    assert_eq!(done, Ok(token));
    let waiting = bed.options().wait_for(Duration::ZERO).acquire_async().await;
    assert!(waiting.is_err(), "another has it");
    // Work that never ends is dropped when the lease is lost.
    let dropped = Arc::new(());
    let kept = Arc::clone(&dropped);
    let endless = lease.run(|_| async move {
        let _kept = kept;
        pending::<()>().await;
    });
    bed.admin.delete(KEY);
    assert_eq!(endless.await.map_err(|error| error.loss), Err(Loss::Refused));
    assert_eq!(Arc::strong_count(&dropped), 1);
    assert_eq!(lease.lost().await, Loss::Refused);
    let begun = lease.run(|_| async { unreachable!("it is lost") }).await;
    assert!(begun.is_err());
    let next = bed.options().acquire_async().await.expect("granted");
    assert!(next.token() > token);
    next.release_async().await.expect("released");
}

#[test]
fn a_waiter_that_is_to_end_ends() {
    let bed = Bed::new();
    let _held = bed.acquire();
    let stop = Arc::new(AtomicBool::new(false));
    let waiter = bed.options().until(&stop);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || waiter.acquire());
        stop.store(true, Ordering::Relaxed);
        let ended = waiting.join().expect("no panic");
        assert!(matches!(ended, Err(AcquireError::Stopped)), "{ended:?}");
    });
}

#[test]
fn a_waiter_that_gave_up_holds_nothing() {
    let bed = Bed::new();
    let held = bed.acquire();
    drop(bed.options().acquire_async());
    let waiter = bed.options().wait_for(100 * MS);
    assert!(waiter.acquire().is_err());
    let token = held.token();
    held.release().expect("released");
    assert!(bed.acquire().token() > token);
}
