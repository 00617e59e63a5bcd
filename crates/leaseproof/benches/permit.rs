//! What a permit costs, beside the clock alone; and a refusal, once the lease is over.

use criterion::{Criterion, criterion_group, criterion_main};
use leaseproof::protocol::Validity;
use leaseproof::{BootNanos, Budget, Lease, Options, Store, Token, boot_now};
use std::hint::black_box;
use std::time::Duration;

fn permit(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", dir.path().join("locks.db").display());
    let store: Store = url.parse().expect("a store");
    let (ttl, heartbeat) = (Duration::from_secs(30), Duration::from_secs(10));
    let budget = Budget::new(ttl, heartbeat, Duration::from_millis(1));
    let budget = budget.assert().expect("it holds");
    let lease: Lease = Options::new(&store, "permit", &budget).acquire().expect("nobody else");
    let mut group = criterion.benchmark_group("permit");
    group.bench_function("the boot clock alone", |bencher| bencher.iter(boot_now));
    group.bench_function("given", |bencher| bencher.iter(|| black_box(&lease).permit().is_ok()));
    assert!(lease.permit().is_ok(), "it was held all the time");
    // After the deadline, as after a pause: nobody has said anything of a loss yet.
    let passed = Validity::default();
    passed.extend(Token(1), BootNanos(boot_now().0 - 1));
    group.bench_function("refused by the clock", |bencher| {
        bencher.iter(|| {
            let look = black_box(&passed).look();
            passed.permit(look, boot_now()).is_none()
        });
    });
    let permit = lease.permit().expect("it is held");
    lease.fenced(&permit);
    group.bench_function("refused, with the reason", |bencher| {
        bencher.iter(|| black_box(&lease).permit().is_err());
    });
    group.finish();
}

criterion_group!(benches, permit);
criterion_main!(benches);
