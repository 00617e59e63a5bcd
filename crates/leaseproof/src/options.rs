//! How a lease is to be acquired and held.

use crate::asynchronous::Acquiring;
use crate::budget::Sound;
use crate::duty::Duty;
use crate::error::AcquireError;
use crate::event::Event;
use crate::flaw::Bent;
use crate::fleet::Fleet;
use crate::keeper::Keeper;
use crate::lease::Lease;
use crate::metrics::Metrics;
use crate::protocol::{Loss, Policy, Terms};
use crate::shared::{Phase, Shared, Wish};
use crate::store::Store;
use leaseproof_model::clock::BootNanos;
use leaseproof_store::boot_now;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What is called for each event, on the thread that renews: it must not block.
pub(crate) type Observer = Arc<dyn Fn(&Event) + Send + Sync>;

/// How a lease is to be acquired and held.
#[derive(Clone)]
pub struct Options {
    store: Store,
    key: String,
    budget: Sound,
    owner: Option<String>,
    wait: Option<Duration>,
    stop: Option<Arc<AtomicBool>>,
    policy: Policy,
    work_limit: Option<Duration>,
    ahead: Duration,
    by_guard: bool,
    observer: Option<Observer>,
    /// None: nobody reads them.
    metrics: Option<Arc<Metrics>>,
    /// Who renews, if not a thread of its own.
    fleet: Option<Fleet>,
    bent: Bent,
}

impl Options {
    /// The usual ones: waits for the lease for ever, and an unknown outcome ends it.
    #[must_use]
    pub fn new(store: &Store, key: &str, budget: &Sound) -> Self {
        Self {
            store: store.clone(),
            key: key.to_owned(),
            budget: *budget,
            owner: None,
            wait: None,
            stop: None,
            policy: Policy::Strict,
            work_limit: None,
            ahead: Duration::from_millis(10),
            by_guard: false,
            observer: None,
            metrics: None,
            fleet: None,
            bent: Bent::default(),
        }
    }

    /// The name under which the store has it, before the part that makes each grant unique. The usual one is host
    /// name and process id.
    #[must_use]
    pub fn owner(mut self, name: &str) -> Self {
        self.owner = Some(name.to_owned());
        self
    }

    /// Gives up after so long. Zero: one try.
    #[must_use]
    pub fn wait_for(mut self, span: Duration) -> Self {
        self.wait = Some(span);
        self
    }

    /// Waits no longer once this is set: for programs that are asked to end. It is looked at ten times a second.
    /// [`Self::acquire_async`] is dropped instead.
    #[must_use]
    pub fn until(mut self, stop: &Arc<AtomicBool>) -> Self {
        self.stop = Some(Arc::clone(stop));
        self
    }

    /// What an unknown outcome of a renewal does.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Renews no more once the work has shown no sign of life for so long: a permit was taken, or
    /// [`Lease::working`] called. Without it the guard alone counts, and a stuck worker holds the lease for ever.
    #[must_use]
    pub fn work_limit(mut self, span: Duration) -> Self {
        self.work_limit = Some(span);
        self
    }

    /// How long before the end of validity [`Lease::run`] cancels its work. The usual span is 10 ms.
    #[must_use]
    pub fn cancel_ahead(mut self, span: Duration) -> Self {
        self.ahead = span;
        self
    }

    /// After a loss, too, the lease is given back only once its guard is released or dropped, and not at once: for
    /// work that takes a while to be stopped. [`Lease::release`] then waits for it.
    #[must_use]
    pub fn release_by_guard(mut self) -> Self {
        self.by_guard = true;
        self
    }

    /// Calls this for each event, on the thread that renews: it must not block.
    #[must_use]
    pub fn on_event(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Counts there.
    #[must_use]
    pub fn metrics(mut self, metrics: &Arc<Metrics>) -> Self {
        self.metrics = Some(Arc::clone(metrics));
        self
    }

    /// Breaks it on purpose. For tests only.
    #[cfg(feature = "flaws")]
    #[must_use]
    pub fn flaw(mut self, flaw: crate::flaw::Flaw) -> Self {
        self.bent = Bent { flaw: Some(flaw) };
        self
    }

    /// Waits for the lease on this thread.
    ///
    /// # Errors
    /// When it was not granted in time, or the store or the budget can't be used.
    pub fn acquire(&self) -> Result<Lease, AcquireError> {
        let began = boot_now();
        self.wait(self.start()?, began)
    }

    /// Waits for one that is asked for already.
    pub(crate) fn wait(&self, lease: Lease, began: BootNanos) -> Result<Lease, AcquireError> {
        loop {
            match lease.shared.phase() {
                Phase::Waiting(last) => {
                    if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                        lease.shared.ask(Wish::End(Loss::Released));
                        return Err(AcquireError::Stopped);
                    }
                    self.still_in_time(&lease, began, last)?;
                }
                Phase::Refused(why) => return Err(self.refused(why)),
                _ => return Ok(lease),
            }
            let until = self.wait.map_or(BootNanos(u64::MAX), |wait| began.plus(wait));
            lease.shared.wait(until, |phase, _| !matches!(phase, Phase::Waiting(_)));
        }
    }

    /// Waits for the lease as a future, on any runtime. Dropped, it wants the lease no more.
    ///
    /// # Errors
    /// As [`Self::acquire`], when polled.
    pub fn acquire_async(&self) -> Acquiring {
        Acquiring::new(self.clone(), boot_now())
    }

    /// It is asked for no more.
    pub(crate) fn refused(&self, why: String) -> AcquireError {
        AcquireError::Refused {
            key: self.key.clone(),
            store: self.store.to_string(),
            why,
        }
    }

    /// Whether one that began to wait then is to wait on.
    pub(crate) fn still_in_time(
        &self,
        lease: &Lease,
        began: BootNanos,
        last: Option<String>,
    ) -> Result<(), AcquireError> {
        let waited = boot_now().since(began);
        // The store is asked once in any case, and that takes a renewal time-out at most.
        if let Some(last) = last
            && self.wait.is_some_and(|wait| waited >= wait)
        {
            lease.shared.ask(Wish::End(Loss::Released));
            return Err(AcquireError::NotAcquired {
                key: self.key.clone(),
                store: self.store.to_string(),
                waited,
                last,
            });
        }
        Ok(())
    }

    /// By this fleet, and not by a thread of its own.
    pub(crate) fn on(mut self, fleet: &Fleet) -> Self {
        self.fleet = Some(fleet.clone());
        self
    }

    /// Begins to ask for it: by a thread of its own, or by the fleet's.
    pub(crate) fn start(&self) -> Result<Lease, AcquireError> {
        let numbers = self.budget.less(self.store.early_slack())?;
        let duty = |bell| Duty {
            key: self.key.clone(),
            owner: self.owner.clone().unwrap_or_else(usual_name),
            terms: Terms::of(&numbers, self.policy, self.ahead),
            work_limit: self.work_limit,
            shared: Arc::new(Shared::new(self.by_guard, self.bent, bell)),
            observer: self.observer.clone(),
            metrics: self.metrics.clone(),
            bent: self.bent,
        };
        let shared = match &self.fleet {
            Some(fleet) => fleet.join(|bell| duty(Some(bell)))?,
            None => {
                let store = leaseproof_store::open_lease(&self.store.0, numbers.renew_timeout)?;
                let keeper = Keeper {
                    store,
                    duty: duty(None),
                };
                let shared = Arc::clone(&keeper.duty.shared);
                std::thread::Builder::new()
                    .name("lease".to_owned())
                    .spawn(move || keeper.run())
                    .map_err(AcquireError::Thread)?;
                shared
            }
        };
        Ok(Lease {
            shared,
            key: self.key.clone(),
            ahead: self.ahead,
        })
    }
}

/// Host name, process and a number of this process: two on one host differ, and so do two leases of one process.
fn usual_name() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim().replace(|c: char| !c.is_ascii_graphic(), "-");
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{host}-{}-{number}", std::process::id())
}
